"""The types of records in one of the internal topics, and the way from bytes to them and back."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from distributedlog.wire.codec import codec_of
from distributedlog.wire.errors import EncodeError
from distributedlog.wire.primitives import Buffer
from distributedlog.wire.values.unknown import UnknownKey
from distributedlog.wire.values.versioned import PREFIX_SIZE, Versioned, read_prefix


class RecordType(NamedTuple):
    """One type of record: its number, its key and the versions of its value."""

    number: int
    key_class: type[Any]
    value: Versioned


class RecordTypes:
    """All types of one topic. Where two share their classes, the later one is written."""

    def __init__(self, *record_types: RecordType) -> None:
        self._by_number = {record_type.number: record_type for record_type in record_types}
        self._by_key = {record_type.key_class: record_type for record_type in record_types}
        self._by_value = {record_type.value.message_class: record_type for record_type in record_types}

    def __iter__(self) -> Iterator[RecordType]:
        return iter(self._by_number.values())

    def encode_key(self, key: Any) -> bytes:
        """A key with the number of its record type before it."""
        record_type = self._by_key.get(type(key))
        if record_type is None:
            raise EncodeError(f"{type(key).__name__} is no key of this topic")
        return record_type.number.to_bytes(PREFIX_SIZE) + codec_of(type(key), 0, False).encode(key)

    def decode_key(self, data: Buffer) -> Any:
        """A key, or an `UnknownKey`."""
        number = read_prefix(data)
        record_type = self._by_number.get(number)
        if record_type is None:
            return UnknownKey(number, bytes(data[PREFIX_SIZE:]))
        return codec_of(record_type.key_class, 0, False).decode(data, PREFIX_SIZE)[0]

    def encode_value(self, value: Any, version: int | None) -> bytes:
        """A value with its version before it."""
        record_type = self._by_value.get(type(value))
        if record_type is None:
            raise EncodeError(f"{type(value).__name__} is no value of this topic")
        return record_type.value.encode(value, record_type.value.last if version is None else version)

    def decode_value(self, key: Any, data: Buffer | None) -> Any:
        """The value that belongs to a key; None for a null."""
        return None if data is None else self._by_key[type(key)].value.decode(data)
