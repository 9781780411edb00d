"""Batches in a buffer, to the records a reader wants."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from distributedlog.records.batches import iterate_batches, verify_crc
from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX, decompress
from distributedlog.records.decoding import decode_records
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import (
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    parse_header,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributedlog.records.header import Buffer
    from distributedlog.records.record import Record


def decode_batch(
    buffer: Buffer,
    position: int = 0,
    *,
    check_crc: bool = True,
    decompressed_size_max: int = DECOMPRESSED_SIZE_MAX,
) -> list[Record]:
    """The records of the batch at `position`, be it a control batch or not."""
    header = parse_header(buffer, position)
    size = header.batch_length + LOG_OVERHEAD
    if size > len(buffer) - position:
        raise CorruptBatchError(
            f"batch at position {position} is {size} bytes long, but {len(buffer) - position} are left"
        )
    if not isinstance(buffer, bytes):
        buffer = bytes(memoryview(buffer)[position : position + size])
        position = 0
    if check_crc:
        verify_crc(buffer, position, header)
    return open_batch(buffer, position, header, decompressed_size_max)


def iterate_records(
    buffer: Buffer,
    start_offset: int = 0,
    *,
    check_crc: bool = True,
    decompressed_size_max: int = DECOMPRESSED_SIZE_MAX,
) -> Iterator[Record]:
    """The records at and behind `start_offset` of all whole batches in the buffer.

    Control batches are skipped, and a partial batch at the end is. Batches are opened one by one as the
    iterator gets there; a damaged one raises CorruptBatchError when its turn comes. The buffer is copied
    at the call (unless it is bytes), so that it may be used again at once.
    """
    return chain.from_iterable(
        _iterate_decoded(bytes(buffer), start_offset, check_crc, decompressed_size_max)
    )


def _iterate_decoded(
    data: bytes, start_offset: int, check_crc: bool, decompressed_size_max: int
) -> Iterator[list[Record]]:
    for position, header in iterate_batches(data):
        if check_crc:
            verify_crc(data, position, header)
        if header.attributes & CONTROL_BIT or header.last_offset < start_offset:
            continue
        records = open_batch(data, position, header, decompressed_size_max)
        if header.base_offset < start_offset:
            records = [record for record in records if record.offset >= start_offset]
        yield records


def open_batch(
    data: bytes,
    position: int,
    header: BatchHeader,
    decompressed_size_max: int = DECOMPRESSED_SIZE_MAX,
) -> list[Record]:
    """The records of a batch that lies wholly in `data` and whose CRC is right."""
    start = position + HEADER_SIZE
    end = position + header.batch_length + LOG_OVERHEAD
    codec = header.attributes & COMPRESSION_MASK
    if not codec:
        return decode_records(data, start, end, header)
    with memoryview(data) as view:
        payload = decompress(codec, view[start:end], decompressed_size_max)
    return decode_records(payload, 0, len(payload), header)
