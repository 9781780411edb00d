"""The records of a batch, from uncompressed bytes to Python objects.

The loop reads varints of one and two bytes in place, because nearly all are, and calls a function for
the rest. Where records are alike, `decoding_runs` takes them by columns. The loop trusts nothing it
reads, yet checks little on the way: positions only ever move forward, a read behind the end of the
data is an IndexError, and every record must end exactly where its length says, the last one exactly
where the batch ends. What a slice cut short, these checks find.
"""

from __future__ import annotations

from itertools import islice, repeat
from typing import TYPE_CHECKING, Final

from distributedlog.records.decoding_runs import RUN_RECORDS_MIN, find_run
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import INT64_MAX, INT64_MIN, TIMESTAMP_TYPE_BIT, BatchHeader
from distributedlog.records.record import make_record
from distributedlog.records.varint import UNZIGZAG, read_varint, read_varlong

if TYPE_CHECKING:
    from distributedlog.records.record import Headers, Record, RecordFields

RECORD_SIZE_MIN: Final = 7
"""A record without key, value and headers: length, attributes, two deltas, three counts, a byte each."""

_NULL: Final = 1  # the varint of -1
_TIMESTAMP_SAFE_MAX: Final = 2**62  # no delta of two varint bytes leads from here out of an int64


def decode_records(data: bytes, position: int, end: int, header: BatchHeader) -> list[Record]:
    """The records that fill `data` from `position` to `end`, which is all of a batch.

    `end` need not be the end of `data`. Offsets and timestamps are absolute. A header key that is not
    UTF-8 is read as Java's clients read it, with U+FFFD in place of the bad bytes: a record that the log
    has taken must not stop its readers for ever.
    """
    check_counts(header, end - position)
    try:
        records = _decode(data, position, end, header)
    except IndexError:
        raise CorruptBatchError(f"{_records_of(header)} end too early") from None
    if header.attributes & TIMESTAMP_TYPE_BIT:
        timestamp = header.max_timestamp
        fields = [(offset, timestamp, key, value, headers) for offset, _, key, value, headers in records]
        return list(map(make_record, fields))
    if not -_TIMESTAMP_SAFE_MAX < header.base_timestamp < _TIMESTAMP_SAFE_MAX:
        for record in records:
            if not INT64_MIN <= record.timestamp <= INT64_MAX:
                raise CorruptBatchError(f"{_records_of(header)} have a timestamp of more than 64 bits")
    return records


def check_counts(header: BatchHeader, payload_size: int, *, is_compressed: bool = False) -> None:
    """CorruptBatchError unless so many records, at such offsets, can be in `payload_size` bytes."""
    count = header.records_count
    last_offset_delta = header.last_offset_delta
    if last_offset_delta < 0 or not 0 <= header.base_offset <= INT64_MAX - last_offset_delta:
        raise CorruptBatchError(f"batch says its offsets are {header.base_offset} to {header.last_offset}")
    if not 0 <= count <= last_offset_delta + 1:
        raise CorruptBatchError(
            f"batch at offset {header.base_offset} says it has {count} records "
            f"at {last_offset_delta + 1} offsets"
        )
    if not is_compressed and count > payload_size // RECORD_SIZE_MIN:
        raise CorruptBatchError(
            f"batch at offset {header.base_offset} says it has {count} records in {payload_size} bytes"
        )


def _decode(data: bytes, position: int, end: int, header: BatchHeader) -> list[Record]:
    base_offset = header.base_offset
    base_timestamp = header.base_timestamp
    records: list[Record] = []
    fields: list[RecordFields] = []  # of records behind those
    append = fields.append
    unzigzag = UNZIGZAG
    previous = -1
    delta = -1
    count = header.records_count
    alike_doubled_size = -1  # of the record before
    try_at, tries_missed = 0, 0
    rounds = iter(range(1, count + 1))
    for done in rounds:
        start_of_record = position
        # Twice the length, as it stands there: an odd one, which is negative, can never be right below.
        doubled_size = data[position]
        if doubled_size < 128:
            position += 1
        elif (high := data[position + 1]) < 128:
            position += 2
            doubled_size = doubled_size & 127 | high << 7
        else:
            doubled_size, position = read_varint(data, position)
            doubled_size <<= 1
        record_start = position

        position += 1  # the record's attributes: no bit has a meaning
        delta = data[position]
        if delta < 128:
            position += 1
            timestamp = base_timestamp + unzigzag[delta]
        elif (high := data[position + 1]) < 128:
            position += 2
            delta = delta & 127 | high << 7
            timestamp = base_timestamp + ((delta >> 1) ^ -(delta & 1))
        else:
            delta, position = read_varlong(data, position)
            timestamp = base_timestamp + delta
            if not INT64_MIN <= timestamp <= INT64_MAX:
                raise CorruptBatchError(f"{_records_of(header)} have a timestamp of more than 64 bits")

        delta = data[position]
        if delta < 128:
            position += 1
            delta = unzigzag[delta]
        elif (high := data[position + 1]) < 128:
            position += 2
            delta = delta & 127 | high << 7
            delta = (delta >> 1) ^ -(delta & 1)
        else:
            delta, position = read_varint(data, position)
        if delta <= previous:
            raise CorruptBatchError(f"{_records_of(header)} have offsets that do not increase")
        previous = delta

        key: bytes | None
        length = data[position]
        position += 1
        if length == _NULL:
            key = None
        else:
            if length < 128:
                length = unzigzag[length]
            else:
                length, position = read_varint(data, position - 1)
            if length < 0:
                raise CorruptBatchError(f"{_records_of(header)} have a key of negative length")
            start = position
            position += length
            key = data[start:position]

        value: bytes | None
        length = data[position]
        position += 1
        if length == _NULL:
            value = None
        else:
            if length < 128:
                length = unzigzag[length]
            elif (high := data[position]) < 128:
                position += 1
                length = length & 127 | high << 7
                length = (length >> 1) ^ -(length & 1)
            else:
                length, position = read_varint(data, position - 1)
            if length < 0:
                raise CorruptBatchError(f"{_records_of(header)} have a value of negative length")
            start = position
            position += length
            value = data[start:position]

        if data[position] == 0:
            position += 1
            append((base_offset + delta, timestamp, key, value, ()))
        else:
            headers, position = _decode_headers(data, position)
            append((base_offset + delta, timestamp, key, value, headers))
        if position - record_start << 1 != doubled_size:
            raise CorruptBatchError(f"{_records_of(header)} do not end where their lengths say")

        if doubled_size != alike_doubled_size:
            alike_doubled_size = doubled_size
        elif done >= try_at:
            size = position - start_of_record
            count_max = min(count - done, (end - position) // size)
            run = find_run(data, position, size, count_max, base_offset, base_timestamp, delta + 1)
            if run is None:
                try_at = done + (RUN_RECORDS_MIN << tries_missed)
                tries_missed += 1
            else:
                records.extend(map(make_record, fields))
                fields.clear()
                records.extend(map(make_record, run.fields))
                position += run.records_count * size
                previous = delta = delta + run.records_count
                next(islice(rounds, run.records_count - 1, None), None)
                tries_missed = 0
    if position != end:
        raise CorruptBatchError(f"{_records_of(header)} do not end where the batch ends")
    if delta > header.last_offset_delta:
        raise CorruptBatchError(f"{_records_of(header)} have offsets behind the batch's last")
    records.extend(map(make_record, fields))
    return records


def _decode_headers(data: bytes, position: int) -> tuple[Headers, int]:
    count, position = read_varint(data, position)
    if count < 0:
        raise CorruptBatchError(f"a record has {count} headers")
    headers: list[tuple[str, bytes | None]] = []
    for _ in repeat(None, count):
        length, position = read_varint(data, position)
        if length < 0:
            raise CorruptBatchError("a header's key has a negative length")
        key = data[position : position + length].decode(errors="replace")
        position += length
        length, position = read_varint(data, position)
        value = None
        if length >= 0:
            value = data[position : position + length]
            position += length
        elif length != -1:
            raise CorruptBatchError("a header's value has a negative length")
        headers.append((key, value))
    return tuple(headers), position


def _records_of(header: BatchHeader) -> str:
    return f"records of the batch at offset {header.base_offset}"
