"""The aborted transactions of one segment: Kafka's `.txnindex`.

A segment's index names the transactions whose abort markers are in that segment; their records may begin in
earlier ones. A reader of committed records gets those that touch its range along with the batches and leaves
the records out. Entries have 34 bytes, big-endian:

    int16 version = 0 | int64 producer id | int64 first offset | int64 last offset, the marker's |
    int64 last stable offset after the abort

The markers' offsets rise from entry to entry. Most segments have no aborted transactions, and then no file:
it is made with the first entry.
"""

import os
import struct
from bisect import bisect_left
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Files, OpenFile, write_fully

VERSION: Final = 0
ENTRY: Final = struct.Struct(">hqqqq")
ENTRY_SIZE: Final = ENTRY.size


class AbortedTransaction(NamedTuple):
    """From its first record to its marker, both inclusive; and the last stable offset that followed."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedSearch(NamedTuple):
    """What one segment's index knows about a range. Not complete: later segments may know more."""

    transactions: list[AbortedTransaction]
    is_complete: bool


_last_offset_of = attrgetter("last_offset")


class TransactionIndex:
    """Read whole with the first use; a sound index is a few entries."""

    __slots__ = ("_entries", "_file", "_files", "_is_dirty", "_written_count", "path")

    def __init__(self, files: Files, path: Path) -> None:
        self._files = files
        self.path = path
        self._entries: list[AbortedTransaction] | None = None
        self._file: OpenFile | None = None
        self._is_dirty = False
        self._written_count = 0

    @property
    def entries(self) -> list[AbortedTransaction]:
        """CorruptLog when the file is not what was written: it can be rebuilt from the log."""
        if self._entries is None:
            self._entries = self._load()
            self._written_count = len(self._entries)
        return self._entries

    def append(self, entry: AbortedTransaction) -> None:
        """Note a transaction whose marker is in the log. A full disk may keep it out of the file for now."""
        entries = self.entries
        if entries and entry.last_offset <= entries[-1].last_offset:
            raise ValueError(f"{entry} does not come behind {entries[-1]}")
        entries.append(entry)
        with suppress(OSError):
            # The marker is in the log already; the index follows it at the latest when it is synced.
            self._write_behind()

    def collect_aborted(self, fetch_offset: int, upper_bound_offset: int) -> AbortedSearch:
        """The transactions that touch the offsets from `fetch_offset` up to the upper bound, exclusive.

        Complete as soon as one entry's last stable offset reaches the bound: then every transaction that
        began before the bound was decided by then.
        """
        entries = self.entries
        found: list[AbortedTransaction] = []
        for index in range(bisect_left(entries, fetch_offset, key=_last_offset_of), len(entries)):
            entry = entries[index]
            if entry.first_offset < upper_bound_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound_offset:
                return AbortedSearch(found, True)
        return AbortedSearch(found, False)

    def truncate_to(self, offset: int) -> None:
        """Forget the transactions whose markers are at `offset` or behind it."""
        entries = self.entries
        keep = bisect_left(entries, offset, key=_last_offset_of)
        if keep < len(entries):
            self._truncate_file(keep * ENTRY_SIZE)
            del entries[keep:]
            self._written_count = min(self._written_count, keep)

    def reset(self) -> None:
        """Empty the index, to build it anew; whatever the file holds."""
        if self.path.exists():
            self._truncate_file(0)
        self._entries = []
        self._written_count = 0

    def sanity_check(self, base_offset: int) -> None:
        """CorruptLog unless the index can be that of the segment that begins at `base_offset`."""
        if self.entries and self.entries[0].last_offset < base_offset:
            raise CorruptLog(
                os.fspath(self.path),
                0,
                f"a transaction ends at offset {self.entries[0].last_offset}, before the segment begins",
            )

    def create(self) -> None:
        """Make the file even when it has no entries: a swap must not leave another segment's in its place."""
        self._opened()

    def sync(self) -> None:
        """Push all entries to the disk; an error says that the file lacks some."""
        self._write_behind()
        if self._is_dirty and self._file is not None:
            self._files.fsync(self._file.fd)
            self._is_dirty = False

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write_behind(self) -> None:
        unwritten = (self._entries or [])[self._written_count :]
        if unwritten:
            self._is_dirty = True
            data = b"".join(ENTRY.pack(VERSION, *entry) for entry in unwritten)
            write_fully(self._files, self._opened().fd, data, self._written_count * ENTRY_SIZE)
            self._written_count += len(unwritten)

    def _truncate_file(self, size: int) -> None:
        self._is_dirty = True
        self._files.truncate(self._opened().fd, size)

    def _opened(self) -> OpenFile:
        if self._file is None:
            self._file = OpenFile(self._files, self.path, create=True)
        return self._file

    def _load(self) -> list[AbortedTransaction]:
        try:
            data = self._files.read_bytes(self.path)
        except FileNotFoundError:
            return []
        path = os.fspath(self.path)
        whole = len(data) - len(data) % ENTRY_SIZE
        if whole != len(data):
            raise CorruptLog(path, whole, f"{len(data) - whole} bytes at the end are no whole entry")
        entries: list[AbortedTransaction] = []
        last_offset = -1
        for version, *fields in ENTRY.iter_unpack(data):
            entry = AbortedTransaction._make(fields)
            position = len(entries) * ENTRY_SIZE
            if version != VERSION:
                raise CorruptLog(path, position, f"entries of version {version} are not known, {VERSION} is")
            if not 0 <= entry.first_offset <= entry.last_offset or entry.last_offset <= last_offset:
                raise CorruptLog(path, position, f"{entry} cannot follow offset {last_offset}")
            last_offset = entry.last_offset
            entries.append(entry)
        return entries
