"""Getting at some records of a batch without making objects of the others.

A record begins with its length, so one that is not wanted costs a step and not a decoding: what a look-up
by offset or by time needs is a few records out of thousands.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX, decompress
from distributedlog.records.decoding import check_counts, decode_records
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import (
    COMPRESSION_MASK,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
)
from distributedlog.records.varint import read_varint, read_varlong

if TYPE_CHECKING:
    from distributedlog.records.record import Record


def decode_range(
    data: bytes,
    position: int,
    header: BatchHeader,
    start_offset: int,
    end_offset: int,
    decompressed_size_max: int = DECOMPRESSED_SIZE_MAX,
) -> list[Record]:
    """The records from ``start_offset`` up to, not including, ``end_offset`` of the batch at ``position``.

    The batch lies wholly in ``data`` and its CRC is right.
    """
    payload, start, end = _payload(data, position, header, decompressed_size_max)
    check_counts(header, end - start)
    try:
        if header.records_count == header.last_offset_delta + 1:
            skipped = min(max(start_offset - header.base_offset, 0), header.records_count)
            count = min(max(end_offset - header.base_offset, skipped), header.records_count) - skipped
            start = _skip(payload, start, skipped)
            if skipped + count < header.records_count:
                end = _skip(payload, start, count)
        else:
            skipped, start = _seek(payload, start, header, start_offset, header.records_count)
            count, end = _seek(payload, start, header, end_offset, header.records_count - skipped)
    except IndexError:
        raise CorruptBatchError(
            f"records of the batch at offset {header.base_offset} end too early"
        ) from None
    records = decode_records(payload, start, end, replace(header, records_count=count))
    if records and not (start_offset <= records[0].offset and records[-1].offset < end_offset):
        raise CorruptBatchError(
            f"records of the batch at offset {header.base_offset} are not where they belong"
        )
    return records


def find_timestamp_in_batch(
    data: bytes,
    position: int,
    header: BatchHeader,
    timestamp: int,
    start_offset: int,
    end_offset: int,
    decompressed_size_max: int = DECOMPRESSED_SIZE_MAX,
) -> tuple[int, int] | None:
    """Timestamp and offset of the first record between the offsets whose timestamp is at least this one."""
    payload, at, end = _payload(data, position, header, decompressed_size_max)
    check_counts(header, end - at)
    append_time = header.max_timestamp if header.attributes & TIMESTAMP_TYPE_BIT else None
    try:
        for _ in repeat(None, header.records_count):
            size, at = read_varint(payload, at)
            record_end = at + size
            timestamp_delta, at = read_varlong(payload, at + 1)
            offset_delta, at = read_varint(payload, at)
            found = header.base_timestamp + timestamp_delta if append_time is None else append_time
            offset = header.base_offset + offset_delta
            if found >= timestamp and start_offset <= offset < end_offset:
                return found, offset
            if not at <= record_end <= end:
                raise CorruptBatchError(f"a record of the batch at offset {header.base_offset} has no end")
            at = record_end
    except IndexError:
        raise CorruptBatchError(
            f"records of the batch at offset {header.base_offset} end too early"
        ) from None
    return None


def _payload(
    data: bytes, position: int, header: BatchHeader, decompressed_size_max: int
) -> tuple[bytes, int, int]:
    start, end = position + HEADER_SIZE, position + header.batch_length + LOG_OVERHEAD
    codec = header.attributes & COMPRESSION_MASK
    if not codec:
        return data, start, end
    with memoryview(data) as view:
        payload = decompress(codec, view[start:end], decompressed_size_max)
    return payload, 0, len(payload)


def _skip(data: bytes, position: int, count: int) -> int:
    """Behind so many records, by their lengths alone."""
    for _ in repeat(None, count):
        size = data[position]
        if size < 128:
            position += 1 + (size >> 1)
        elif (high := data[position + 1]) < 128:
            position += 2 + ((size & 127 | high << 7) >> 1)
        else:
            size, position = read_varint(data, position)
            if size < 0:
                raise CorruptBatchError("a record has a negative length")
            position += size
    return position


def _seek(data: bytes, position: int, header: BatchHeader, offset: int, count_max: int) -> tuple[int, int]:
    """How many records lie before ``offset``, and where the first behind them begins: for thinned batches."""
    for number in range(count_max):
        size, at = read_varint(data, position)
        if size < 0:
            raise CorruptBatchError("a record has a negative length")
        _, behind_timestamp = read_varlong(data, at + 1)
        delta, _ = read_varint(data, behind_timestamp)
        if header.base_offset + delta >= offset:
            return number, position
        position = at + size
    return count_max, position
