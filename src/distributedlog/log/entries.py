"""What an embedded log takes as a record, and what it says to anything else."""

from typing import Final, NamedTuple

from distributedlog.records import Compression, InvalidRecordError, Record

#: Attributes, the varints of a record (its length, the two deltas, three more lengths); those of a header.
RECORD_OVERHEAD_MAX: Final = 1 + 5 + 10 + 5 + 3 * 5
HEADER_OVERHEAD_MAX: Final = 2 * 5

Headers = tuple[tuple[str, bytes | None], ...]


class Entry(NamedTuple):
    """One record to append. Without a timestamp it gets the time of the append."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None


AnyRecord = Entry | Record | tuple[bytes | None, bytes | None] | bytes | bytearray | memoryview


def fields_of(record: AnyRecord) -> tuple[bytes | None, bytes | None, Headers, int | None]:
    """Key, value, headers and timestamp of whatever may be appended."""
    if isinstance(record, Entry):
        return record
    if isinstance(record, Record):
        return record.key, record.value, record.headers, record.timestamp
    if isinstance(record, bytes | bytearray | memoryview):
        return None, bytes(record), (), None
    if isinstance(record, tuple) and len(record) == 2:
        return record[0], record[1], (), None
    raise TypeError(f"a record is an Entry, a (key, value) pair or bytes, not {record!r:.100}")


def headers_size_max(headers: Headers) -> int:
    """Bytes that they take in a record, or a few more."""
    return sum(
        HEADER_OVERHEAD_MAX + len(key.encode()) + (len(value) if value else 0) for key, value in headers
    )


def explained(
    error: TypeError | ValueError | AttributeError,
    key: object,
    value: object,
    headers: object,
    timestamp: object,
) -> Exception:
    """A refusal by the record format in the words of the caller's own arguments."""
    for name, field in (("key", key), ("value", value)):
        if field is not None and not isinstance(field, bytes | bytearray | memoryview):
            return TypeError(f"{name} must be bytes or None, not {type(field).__name__}: {field!r:.80}")
    if timestamp is not None and not isinstance(timestamp, int):
        return TypeError(f"timestamp must be a number of milliseconds, an int, not {timestamp!r:.80}")
    if isinstance(error, InvalidRecordError):
        return error
    return TypeError(f"headers must be pairs of a str and bytes or None, not {headers!r:.80}")


def compression_of(value: Compression | str) -> Compression:
    """A codec by its name."""
    if isinstance(value, Compression):
        return value
    try:
        return Compression[value.upper()]
    except KeyError:
        names = ", ".join(codec.name.lower() for codec in Compression)
        raise ValueError(f"compression {value!r} is none of {names}") from None
