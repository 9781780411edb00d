"""The three index files of a segment: their entries, and whether they lead to the right place.

    .index      int32 relative offset, int32 position in the log          of the batch that ends in the offset
    .timeindex  int64 timestamp, int32 relative offset                    no later timestamp up to the offset
    .txnindex   int16 version 0, int64 producer id, first offset, last offset, last stable offset

All big-endian. An index that was not closed still has its preallocated size: zero entries up to the end
of the file are no entries. The files are read in chunks, because nobody promised that they are small.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from distributedlog.log.inspect_events import (
    AbortedTransactionEntry,
    Finding,
    FindingKind,
    OffsetIndexEntry,
    Severity,
    TimeIndexEntry,
)
from distributedlog.records import BatchHeader

OFFSET_ENTRY: Final = struct.Struct(">ii")
TIME_ENTRY: Final = struct.Struct(">qi")
TRANSACTION_ENTRY: Final = struct.Struct(">hqqqq")
ENTRIES_IN_CHUNK: Final = 8192


def read_entries(path: Path, entry: struct.Struct) -> Iterator[tuple[int, tuple[int, ...]] | Finding]:
    """Each entry as (position, fields), the zeros at the end left out."""
    size = entry.size
    with open(path, "rb", buffering=0) as file:
        file_size = os.fstat(file.fileno()).st_size
        position = 0
        zeros_from: int | None = None
        while chunk := file.read(size * ENTRIES_IN_CHUNK):
            whole = len(chunk) - len(chunk) % size
            if chunk.count(0) == len(chunk):
                if zeros_from is None:
                    zeros_from = position
            else:
                for start in range(0, whole, size):
                    fields = entry.unpack_from(chunk, start)
                    if not any(fields):
                        if zeros_from is None:
                            zeros_from = position + start
                        continue
                    if zeros_from is not None and zeros_from > 0:
                        yield Finding(
                            path,
                            zeros_from,
                            FindingKind.INDEX_ORDER,
                            "zero entries in the middle of the index",
                        )
                    elif zeros_from == 0:
                        yield 0, (0,) * len(fields)  # a first entry may be all zeros, in a time index
                    zeros_from = None
                    yield position + start, fields
            position += len(chunk)
        if file_size % size:
            yield Finding(
                path,
                file_size - file_size % size,
                FindingKind.INDEX_SIZE,
                f"{file_size} bytes are no whole number of entries of {size} bytes",
            )


class OffsetIndexWatcher:
    """Follows the index while its log passes by, and says which entries lead astray.

    A look-up takes the last entry not above the offset it wants and scans from there. So an entry is
    right when a batch begins at its position, nothing before that position has its offset or a higher
    one, and the offset is in the log. The offset should be the one in which that batch ends; others, as
    older Kafkas wrote when several batches were appended at once, are worth a note and lead as well.
    """

    def __init__(self, path: Path, base_offset: int) -> None:
        self._path = path
        self._base_offset = base_offset
        self._entries = read_entries(path, OFFSET_ENTRY)
        self._next: OffsetIndexEntry | None = None
        self._last_offset = -1
        self._last_position = -1
        self._started = False

    def batch(self, position: int, header: BatchHeader, last_offset_before: int) -> Iterator[Finding]:
        yield from self._start()
        while (entry := self._next) is not None and entry.log_position <= position:
            if entry.log_position < position:
                yield self._astray(entry, "in the middle of a batch")
            elif entry.offset < header.base_offset:
                yield self._astray(entry, f"to a batch that begins with offset {header.base_offset}")
            elif entry.offset <= last_offset_before:
                yield self._astray(entry, f"behind a batch that ends in offset {last_offset_before}")
            elif entry.offset != header.last_offset:
                yield self._astray(entry, f"to a batch that ends in {header.last_offset}", Severity.NOTE)
            yield from self._advance()

    def unreadable(self, end: int) -> Iterator[Finding]:
        """Entries for bytes that are damaged themselves are not reported on top."""
        yield from self._start()
        while (entry := self._next) is not None and entry.log_position < end:
            yield from self._advance()

    def finish(self, log_size: int, last_offset: int) -> Iterator[Finding]:
        yield from self._start()
        while (entry := self._next) is not None:
            if entry.log_position >= log_size:
                yield self._astray(entry, f"beyond the end of the log, which has {log_size} bytes")
            else:
                yield self._astray(entry, "in the middle of a batch")
            yield from self._advance()
        if self._last_offset > last_offset >= 0:
            yield Finding(
                self._path,
                None,
                FindingKind.INDEX_TARGET,
                f"the last entry is for offset {self._last_offset}; the last one in the log is {last_offset}",
            )

    def _start(self) -> Iterator[Finding]:
        if not self._started:
            self._started = True
            yield from self._advance()

    def _advance(self) -> Iterator[Finding]:
        """Step to the next entry that is in order; those out of order are reported and left out."""
        self._next = None
        for found in self._entries:
            if isinstance(found, Finding):
                yield found
                continue
            position, (relative_offset, log_position) = found
            offset = self._base_offset + relative_offset
            if relative_offset < 0 or log_position < 0:
                yield Finding(
                    self._path,
                    position,
                    FindingKind.INDEX_TARGET,
                    f"negative entry: relative offset {relative_offset}, position {log_position}",
                )
            elif offset <= self._last_offset or log_position <= self._last_position:
                yield Finding(
                    self._path,
                    position,
                    FindingKind.INDEX_ORDER,
                    f"entry (offset {offset}, position {log_position}) does not come after the one before it "
                    f"(offset {self._last_offset}, position {self._last_position})",
                )
            else:
                self._last_offset, self._last_position = offset, log_position
                self._next = OffsetIndexEntry(self._path, position, offset, log_position)
                return

    def _astray(self, entry: OffsetIndexEntry, where: str, severity: Severity = Severity.DAMAGE) -> Finding:
        return Finding(
            self._path,
            entry.position,
            FindingKind.INDEX_TARGET,
            f"the entry for offset {entry.offset} leads to position {entry.log_position}, {where}",
            severity,
        )


class TimeIndexWatcher:
    """The same for timestamps: an entry holds the highest timestamp up to and with its offset."""

    def __init__(self, path: Path, base_offset: int) -> None:
        self._path = path
        self._base_offset = base_offset
        self._entries = read_entries(path, TIME_ENTRY)
        self._next: TimeIndexEntry | None = None
        self._last: TimeIndexEntry | None = None
        self._started = False
        self._timestamp_max = -1
        self._has_seen_all = True

    def batch(self, header: BatchHeader) -> Iterator[Finding]:
        yield from self._start()
        while (entry := self._next) is not None and entry.offset < header.base_offset:
            yield from self._judge(entry, None)
            yield from self._advance()
        self._timestamp_max = max(self._timestamp_max, header.max_timestamp)
        while (entry := self._next) is not None and entry.offset <= header.last_offset:
            yield from self._judge(entry, header.last_offset)
            yield from self._advance()

    def unreadable(self) -> None:
        self._has_seen_all = False

    def finish(self) -> Iterator[Finding]:
        yield from self._start()
        while (entry := self._next) is not None:
            if self._has_seen_all:
                yield Finding(
                    self._path,
                    entry.position,
                    FindingKind.INDEX_TARGET,
                    f"the entry for timestamp {entry.timestamp} names offset {entry.offset}, "
                    "which the log does not reach",
                )
            yield from self._advance()

    def _judge(self, entry: TimeIndexEntry, batch_last_offset: int | None) -> Iterator[Finding]:
        """``batch_last_offset``: of the batch that holds the entry's offset, None when there is none."""
        if self._timestamp_max > entry.timestamp and (batch_last_offset is not None or self._has_seen_all):
            yield self._mismatch(entry, "is")
        elif self._timestamp_max < entry.timestamp and self._has_seen_all:
            yield self._mismatch(entry, "is only")
        elif entry.offset != batch_last_offset and self._has_seen_all:
            yield Finding(
                self._path,
                entry.position,
                FindingKind.TIME_INDEX_MISMATCH,
                f"the entry names offset {entry.offset}, which is not the last of its batch",
                Severity.NOTE,
            )

    def _start(self) -> Iterator[Finding]:
        if not self._started:
            self._started = True
            yield from self._advance()

    def _advance(self) -> Iterator[Finding]:
        self._next = None
        for found in self._entries:
            if isinstance(found, Finding):
                yield found
                continue
            position, (timestamp, relative_offset) = found
            entry = TimeIndexEntry(self._path, position, timestamp, self._base_offset + relative_offset)
            last = self._last
            if relative_offset < 0:
                yield Finding(
                    self._path,
                    position,
                    FindingKind.INDEX_TARGET,
                    f"relative offset {relative_offset} is negative",
                )
            elif last is not None and (entry.timestamp <= last.timestamp or entry.offset < last.offset):
                yield Finding(
                    self._path,
                    position,
                    FindingKind.INDEX_ORDER,
                    f"entry (timestamp {entry.timestamp}, offset {entry.offset}) does not come after the one "
                    f"before it (timestamp {last.timestamp}, offset {last.offset})",
                )
            else:
                self._last = self._next = entry
                return

    def _mismatch(self, entry: TimeIndexEntry, word: str) -> Finding:
        return Finding(
            self._path,
            entry.position,
            FindingKind.TIME_INDEX_MISMATCH,
            f"the entry says {entry.timestamp} is the highest timestamp up to offset {entry.offset}; "
            f"in the log it {word} {self._timestamp_max}",
        )


def read_transaction_index(path: Path) -> Iterator[AbortedTransactionEntry | Finding]:
    """The aborted transactions of one segment, with what is wrong with any of them by itself."""
    last_offset_before = -1
    for found in read_entries(path, TRANSACTION_ENTRY):
        if isinstance(found, Finding):
            yield found
            continue
        position, fields = found
        entry = AbortedTransactionEntry(path, position, *fields)
        yield entry
        if entry.version != 0:
            yield _transaction_finding(entry, f"version {entry.version} is not known")
        elif not 0 <= entry.first_offset <= entry.last_offset:
            yield _transaction_finding(
                entry, f"first offset {entry.first_offset} and last offset {entry.last_offset} are no range"
            )
        elif not 0 <= entry.last_stable_offset <= entry.last_offset + 1:
            yield _transaction_finding(
                entry,
                f"last stable offset {entry.last_stable_offset} is behind the marker, {entry.last_offset}",
            )
        elif entry.last_offset <= last_offset_before:
            yield _transaction_finding(
                entry, f"last offset {entry.last_offset} does not come after {last_offset_before}"
            )
        last_offset_before = max(last_offset_before, entry.last_offset)


def _transaction_finding(entry: AbortedTransactionEntry, message: str) -> Finding:
    return Finding(entry.path, entry.position, FindingKind.TRANSACTION_INDEX, message)
