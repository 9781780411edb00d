"""Walking over the batches of a segment file [io].

The one place that reads batch headers from disk. Everything it yields lies wholly inside the file;
what cannot be a batch ends the walk, and `Scan.stopped_at` says where and why.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from crc32c import crc32c

from distributedlog.log.files import OpenFile
from distributedlog.records import HEADER, HEADER_SIZE, LOG_OVERHEAD

#: A walk reads little at first, for it may end soon, and more each time.
FIRST_CHUNK_BYTES: Final = 1 << 14
CHUNK_BYTES: Final = 1 << 20
CRC_START: Final = 21
MAGIC: Final = 2
MINIMAL_LENGTH: Final = HEADER_SIZE - LOG_OVERHEAD


class BatchAt(NamedTuple):
    """A batch header and where in the segment it stands."""

    position: int
    size: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    attributes: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int


@dataclass(slots=True)
class ScanEnd:
    """Where a walk came to its end; ``reason`` is empty when that was the end asked for."""

    position: int = 0
    reason: str = ""


def scan_batches(
    file: OpenFile,
    position: int,
    end: int,
    *,
    check_crc: bool,
    previous_offset: int = -1,
    scan_end: ScanEnd | None = None,
) -> Iterator[BatchAt]:
    """Yield the batches from ``position``, which must be a batch's start, up to ``end``.

    Stops at the first thing that is no sound batch: cut short by ``end``, impossible length, other
    magic, offsets that do not rise above ``previous_offset``, or (with ``check_crc``) damaged.
    """
    fd = file.fd
    unpack_from = HEADER.unpack_from
    where = scan_end if scan_end is not None else ScanEnd()
    where.position = position
    chunk = b""
    chunk_start = position
    view = memoryview(chunk)
    chunk_bytes = FIRST_CHUNK_BYTES
    while position < end:
        at = position - chunk_start
        available = len(chunk) - at
        if available < HEADER_SIZE:
            chunk = os.pread(fd, min(chunk_bytes, end - position), position)
            chunk_bytes = min(chunk_bytes * 2, CHUNK_BYTES)
            chunk_start, at, available = position, 0, len(chunk)
            view = memoryview(chunk)
            if available < HEADER_SIZE:
                where.reason = f"{available} bytes where a batch header of {HEADER_SIZE} should be"
                return
        (
            base_offset, length, leader_epoch, magic, crc, attributes, last_delta, _, max_timestamp,
            producer_id, producer_epoch, base_sequence, records_count,
        ) = unpack_from(chunk, at)  # fmt: skip
        size = length + LOG_OVERHEAD
        if magic != MAGIC:
            where.reason = f"magic {magic} where {MAGIC} should be"
            return
        if length < MINIMAL_LENGTH:
            where.reason = f"impossible batch length {length}"
            return
        if size > end - position:
            where.reason = f"a batch of {size} bytes of which {end - position} are there"
            return
        if base_offset <= previous_offset or last_delta < 0:
            where.reason = f"offset {base_offset} (+{last_delta}) after {previous_offset}"
            return
        if check_crc:
            if available < size:
                chunk_bytes = min(chunk_bytes * 2, CHUNK_BYTES)
                chunk = os.pread(fd, min(max(chunk_bytes, size), end - position), position)
                chunk_start, at = position, 0
                view = memoryview(chunk)
            if crc32c(view[at + CRC_START : at + size]) != crc:
                where.reason = "the CRC does not fit the bytes"
                return
        previous_offset = base_offset + last_delta
        yield BatchAt(
            position, size, base_offset, previous_offset, leader_epoch, attributes, max_timestamp,
            producer_id, producer_epoch, base_sequence, records_count,
        )  # fmt: skip
        position += size
        where.position = position
