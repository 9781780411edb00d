"""Protobuf payloads to columns and back, by descriptor: no generated code is needed on the workers.

A descriptor is what ``protoc --include_imports --descriptor_set_out=orders.desc orders.proto`` writes, or
what a registry hands out.
"""

import base64
import binascii
from pathlib import Path
from typing import Any

import pyarrow as pa
from google.protobuf import descriptor_pb2, message_factory  # type: ignore[import-untyped]
from google.protobuf.descriptor import Descriptor  # type: ignore[import-untyped]
from google.protobuf.descriptor_pool import DescriptorPool  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from pyspark.sql import Column
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BinaryType

from distributedlog.spark.confluent_format import frame, frame_indexes, split, split_indexes
from distributedlog.spark.payload_columns import Mode, check_mode, decode_column, encode_column, vectorised
from distributedlog.spark.protobuf_types import fill_message, read_message, spark_type
from distributedlog.spark.schema_sources import Registry, SchemaUnavailable


def from_protobuf(
    column: Column,
    message: str,
    descriptor: bytes | str | Path | None = None,
    *,
    registry: str | None = None,
    subject: str | None = None,
    confluent: bool | None = None,
    mode: Mode = "FAILFAST",
) -> Column:
    """The column that payloads of this message hold. `message` is its full name (``shop.Order``).

    `descriptor` is a descriptor set: its bytes, the same in base64, or a file; or it is the newest of
    `subject` in the `registry`, which also means that payloads begin with Confluent's prefix.
    """
    check_mode(mode)
    data = _descriptor(descriptor, registry, subject)
    is_framed = registry is not None if confluent is None else confluent
    kind = spark_type(find_message(data, message))

    def decode_batch(payloads: pa.Array) -> pa.Array:
        make = message_factory.GetMessageClass(find_message(data, message))

        def decode(payload: bytes) -> Any:
            content: Any = split_indexes(split(payload)[1])[1] if is_framed else payload
            return read_message(make.FromString(bytes(content)))

        return decode_column(payloads, decode, to_arrow_type(kind, timezone="UTC"), mode)

    return vectorised(decode_batch, kind)(column)


def to_protobuf(
    column: Column,
    message: str,
    descriptor: bytes | str | Path | None = None,
    *,
    registry: str | None = None,
    subject: str | None = None,
    schema_id: int | None = None,
) -> Column:
    """The column as payloads of this message; behind Confluent's prefix where there is an id: given, or that
    of the newest version of `subject` in the `registry`."""
    data = _descriptor(descriptor, registry, subject)
    if registry is not None and subject is not None and schema_id is None:
        schema_id = Registry(registry).latest(subject)[0]
    path = _path(find_message(data, message))
    prefix = b"" if schema_id is None else frame(schema_id) + frame_indexes(path)

    def encode_batch(rows: pa.Array) -> pa.Array:
        make = message_factory.GetMessageClass(find_message(data, message))

        def encode(row: Any) -> bytes:
            made = make()
            fill_message(made, row)
            content: bytes = made.SerializeToString()
            return prefix + content

        return encode_column(rows, encode)

    return vectorised(encode_batch, BinaryType())(column)


def find_message(data: bytes, name: str) -> Descriptor:
    """The message of this full name in a serialised descriptor set."""
    pool = DescriptorPool()
    files = _files(data)
    waiting = {file.name: file for file in files}

    def add(file: Any) -> None:
        if waiting.pop(file.name, None) is None:
            return
        for dependency in file.dependency:
            if dependency in waiting:
                add(waiting[dependency])
        pool.Add(file)

    try:
        for file in files:
            add(file)
        return pool.FindMessageTypeByName(name)
    except (KeyError, TypeError) as error:
        there = [f"{file.package}.{kind.name}".lstrip(".") for file in files for kind in file.message_type]
        raise SchemaUnavailable(
            f"the descriptor has no message {name!r}; it has {', '.join(there)} ({error})"
        ) from None


def _files(data: bytes) -> list[Any]:
    """Of a descriptor set, or of a single file's descriptor as registries hand it out."""
    found = descriptor_pb2.FileDescriptorSet()
    try:
        found.ParseFromString(data)
        if found.file and all(file.name or file.message_type for file in found.file):
            return list(found.file)
    except DecodeError:
        pass
    single = descriptor_pb2.FileDescriptorProto()
    try:
        single.ParseFromString(data)
    except DecodeError:
        raise SchemaUnavailable("what was given is no descriptor of Protobuf messages") from None
    return [single]


def _descriptor(given: bytes | str | Path | None, registry: str | None, subject: str | None) -> bytes:
    if isinstance(given, bytes):
        return given
    if given is None:
        if registry is None or subject is None:
            raise ValueError("a descriptor is needed, or a registry and a subject")
        given = Registry(registry).latest(subject, as_descriptor=True)[1]
    elif isinstance(given, Path) or given.endswith((".desc", ".pb", ".bin", ".protoset")):
        try:
            return Path(given).read_bytes()
        except OSError as error:
            raise SchemaUnavailable(
                f"the descriptor {str(given)!r} cannot be read: {error.strerror}"
            ) from None
    try:
        return base64.b64decode(str(given), validate=True)
    except binascii.Error:
        raise SchemaUnavailable(
            "a descriptor is given as a file, as bytes or as base64; protoc --descriptor_set_out makes "
            "one of a .proto file"
        ) from None


def _path(message: Descriptor) -> list[int]:
    """Where the message stands in its file: indexes from the outermost message on."""
    path = []
    current: Descriptor | None = message
    while current is not None:
        siblings = (
            list(current.file.message_types_by_name.values())
            if current.containing_type is None
            else list(current.containing_type.nested_types)
        )
        path.append([sibling.full_name for sibling in siblings].index(current.full_name))
        current = current.containing_type
    return path[::-1]
