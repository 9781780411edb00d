"""Walk the batches of a .log file that may be damaged anywhere, in chunks [io].

A log that is read for service ends at its first bad batch. Here the walk goes on behind the damage, so
that whoever has to decide what to do sees all of it: when a batch's own length cannot be trusted, the
rest of the file is searched for the next batch whose CRC is right.
"""

import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from crc32c import crc32c

from distributedlog.log.inspect_events import FindingKind
from distributedlog.records import HEADER_SIZE, LOG_OVERHEAD, BatchHeader, CorruptBatchError, parse_header

CHUNK_SIZE: Final = 4 * 1024 * 1024
CRC_START: Final = 21
MAGIC_POSITION: Final = 16
BATCH_START: Final = struct.Struct(">qi")
HELD_BATCH_SIZE_MAX: Final = 128 * 1024 * 1024
"""Larger batches pass through in pieces: their CRC is checked, their records are not decoded."""


@dataclass(slots=True)
class Batch:
    """A batch whose length can be followed."""

    position: int
    header: BatchHeader
    crc_is_right: bool


@dataclass(slots=True)
class Unreadable:
    """Bytes from ``position`` up to ``end`` in which there is no batch."""

    position: int
    end: int
    kind: FindingKind
    reason: str


class BatchScanner:
    """One pass over one .log file. ``batches()`` yields everything in the file, in its order."""

    def __init__(self, path: Path, base_offset: int) -> None:
        self._path = path
        self._base_offset = base_offset
        self.size = 0
        self._fd = -1
        self._chunk = b""
        self._chunk_start = 0
        self._search_budget = 0

    def batches(self) -> Iterator[Batch | Unreadable]:
        """Raises OSError when the file cannot be opened or read."""
        self._fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self.size = os.fstat(self._fd).st_size
            # Bytes whose CRC may be computed while searching: a file made to look like the beginning of
            # a batch everywhere must not cost the square of its size.
            self._search_budget = 4 * self.size
            yield from self._walk()
        finally:
            os.close(self._fd)

    def data(self, batch: Batch) -> bytes | None:
        """The bytes of the batch that ``batches()`` yielded last, or None when there are too many."""
        size = batch.header.size
        return self._bytes_at(batch.position, size) if size <= HELD_BATCH_SIZE_MAX else None

    def _walk(self) -> Iterator[Batch | Unreadable]:
        position = 0
        expected_offset = self._base_offset
        while position < self.size:
            try:
                header = parse_header(self._bytes_at(position, HEADER_SIZE))
            except CorruptBatchError as error:
                end = self._find_batch(position + 1, expected_offset)
                reason = str(error).replace("at position 0 ", "")
                yield self._unreadable(position, end, reason)
                position = end
                continue
            if header.size > self.size - position:
                end = self._find_batch(position + 1, expected_offset)
                yield self._unreadable(
                    position,
                    end,
                    f"a batch of {header.size} bytes, of which {self.size - position} are there",
                )
                position = end
                continue
            crc_is_right = self._crc(position, header.size) == header.crc
            next_position = position + header.size
            if not crc_is_right and not self._may_begin_batch(next_position):
                end = self._find_batch(position + 1, expected_offset)
                yield Unreadable(
                    position, end, FindingKind.BAD_CRC, "wrong CRC, and no batch where this one should end"
                )
                position = end
                continue
            yield Batch(position, header, crc_is_right)
            if crc_is_right:
                expected_offset = max(expected_offset, header.next_offset)
            position = next_position

    def _unreadable(self, position: int, end: int, reason: str) -> Unreadable:
        if end < self.size:
            return Unreadable(position, end, FindingKind.BAD_BATCH, reason)
        if self._is_zero(position):
            reason = "zeros to the end of the file"
        return Unreadable(position, end, FindingKind.TORN_TAIL, reason)

    def _hold(self, position: int, count: int) -> int:
        """Have those bytes in the chunk, as far as the file goes, and say where in the chunk they begin."""
        start = position - self._chunk_start
        if start < 0 or start + count > len(self._chunk):
            self._chunk = os.pread(self._fd, max(CHUNK_SIZE, count), position)
            self._chunk_start = position
            start = 0
        return start

    def _bytes_at(self, position: int, count: int) -> bytes:
        start = self._hold(position, count)
        return self._chunk[start : start + count]

    def _crc(self, position: int, size: int) -> int:
        if size <= CHUNK_SIZE:
            start = self._hold(position, size)
            return crc32c(memoryview(self._chunk)[start + CRC_START : start + size])
        crc = 0
        end = position + size
        position += CRC_START
        while position < end:
            piece = os.pread(self._fd, min(CHUNK_SIZE, end - position), position)
            if not piece:  # the file has become shorter under our hands
                break
            crc = crc32c(piece, crc)
            position += len(piece)
        return crc

    def _may_begin_batch(self, position: int) -> bool:
        if position == self.size:
            return True
        try:
            header = parse_header(self._bytes_at(position, HEADER_SIZE))
        except CorruptBatchError:
            return False
        return header.size <= self.size - position and self._may_have_offset(header.base_offset)

    def _may_have_offset(self, base_offset: int) -> bool:
        return self._base_offset <= base_offset < self._base_offset + 2**31

    def _find_batch(self, position: int, offset_min: int) -> int:
        """The next position where a batch with a right CRC begins, or the end of the file."""
        while self.size - position >= HEADER_SIZE:
            chunk = os.pread(self._fd, CHUNK_SIZE, position)
            hit = chunk.find(b"\x02", MAGIC_POSITION)
            while hit >= 0:
                start = hit - MAGIC_POSITION
                base_offset, batch_length = BATCH_START.unpack_from(chunk, start)
                size = batch_length + LOG_OVERHEAD
                if (
                    base_offset >= offset_min
                    and self._may_have_offset(base_offset)
                    and HEADER_SIZE <= size <= self.size - position - start
                ):
                    if size > self._search_budget:
                        return self.size
                    self._search_budget -= size
                    if self._is_batch(position + start, size):
                        return position + start
                hit = chunk.find(b"\x02", hit + 1)
            if len(chunk) <= MAGIC_POSITION:
                break
            position += len(chunk) - MAGIC_POSITION
        return self.size

    def _is_batch(self, position: int, size: int) -> bool:
        header = os.pread(self._fd, HEADER_SIZE, position)
        try:
            return parse_header(header).crc == self._crc(position, size)
        except CorruptBatchError:
            return False

    def _is_zero(self, position: int) -> bool:
        while position < self.size:
            piece = os.pread(self._fd, CHUNK_SIZE, position)
            if not piece or piece.count(0) != len(piece):
                return False
            position += len(piece)
        return True
