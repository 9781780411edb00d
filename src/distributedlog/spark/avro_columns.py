"""Avro payloads to columns and back, with fastavro, vectorised."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import BinaryType

from distributedlog.spark.avro_types import spark_type
from distributedlog.spark.confluent_format import frame, split
from distributedlog.spark.payload_columns import Mode, check_mode, decode_column, encode_column, vectorised
from distributedlog.spark.schema_sources import Registry, schema_text


def from_avro(
    column: Column,
    schema: str | Path | None = None,
    *,
    registry: str | None = None,
    subject: str | None = None,
    confluent: bool | None = None,
    mode: Mode = "FAILFAST",
) -> Column:
    """The column that Avro payloads hold.

    `schema` is JSON or a file (``.avsc``); without it the newest of `subject` in the `registry` (a URL) is
    taken. With a registry each payload is read with the schema that it was written with. `confluent` says
    whether payloads begin with Confluent's prefix: by default they do where there is a registry.
    """
    check_mode(mode)
    text = _reader_schema(schema, registry, subject)
    is_framed = registry is not None if confluent is None else confluent
    kind, _ = spark_type(json.loads(text))

    def decode_batch(payloads: pa.Array) -> pa.Array:
        decode = _decoder(text, is_framed, registry)
        return decode_column(payloads, decode, to_arrow_type(kind, timezone="UTC"), mode)

    return vectorised(decode_batch, kind)(column)


def to_avro(
    column: Column,
    schema: str | Path,
    *,
    registry: str | None = None,
    subject: str | None = None,
    schema_id: int | None = None,
) -> Column:
    """The column as Avro payloads; behind Confluent's prefix where there is a `schema_id`, or where a
    `registry` gives one for this schema under `subject`."""
    text = schema_text(schema)
    if registry is not None:
        if subject is None:
            raise ValueError("to_avro with a registry needs the subject to put the schema under")
        schema_id = Registry(registry).register(subject, text)
    prefix = b"" if schema_id is None else frame(schema_id)

    def encode_batch(rows: pa.Array) -> pa.Array:
        parsed = fastavro.parse_schema(json.loads(text))

        def encode(row: Any) -> bytes:
            out = io.BytesIO()
            out.write(prefix)
            fastavro.schemaless_writer(out, parsed, row)
            return out.getvalue()

        return encode_column(rows, encode)

    return vectorised(encode_batch, BinaryType())(column)


def _reader_schema(schema: str | Path | None, registry: str | None, subject: str | None) -> str:
    if schema is not None:
        return schema_text(schema)
    if registry is None or subject is None:
        raise ValueError("from_avro needs a schema, or a registry and a subject")
    return Registry(registry).latest(subject)[1]


def _decoder(text: str, is_framed: bool, registry: str | None) -> Callable[[bytes], Any]:
    reader: Any = fastavro.parse_schema(json.loads(text))
    if not is_framed:
        return lambda payload: fastavro.schemaless_reader(io.BytesIO(payload), reader, None)
    writers: dict[int, Any] = {}

    def decode(payload: bytes) -> Any:
        schema_id, content = split(payload)
        if registry is None:
            return fastavro.schemaless_reader(io.BytesIO(content), reader, None)
        if schema_id not in writers:
            writers[schema_id] = fastavro.parse_schema(json.loads(Registry(registry).schema_of_id(schema_id)))
        return fastavro.schemaless_reader(io.BytesIO(content), writers[schema_id], reader)

    return decode
