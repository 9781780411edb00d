"""Equal-sized index entries in a file: a mapped part from disk and a tail in memory [io].

Kafka preallocates its indexes and writes them through a memory map. On a full disk such a write
to a sparse page does not fail, it kills the process (SIGBUS). Here entries are appended to a tail
in memory, which is written behind with ordinary writes that can report an error; what a closed
index holds is read through a read-only map. An index is a hint: a tail lost in a crash is rebuilt
from the log, and an index that cannot be written for want of space is simply rebuilt later.
See docs/adr/0003.
"""

import mmap
import os
import struct
from bisect import bisect_left, bisect_right
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Final

from distributedlog.log.files import Files, write_fully

#: ``.index``: relative last offset of a batch, position of that batch in the segment.
OFFSET_ENTRY: Final = struct.Struct(">ii")
#: ``.timeindex``: largest timestamp so far, relative last offset of the batch that holds it.
TIME_ENTRY: Final = struct.Struct(">qi")

#: Tail bytes after which the tail is written to the file: one page.
WRITE_BEHIND_BYTES: Final = 4096


class IndexFile:
    """Entries ordered by their first field, found by binary search.

    ``writable=False`` is for readers in other
    processes: the writer may cut the file under their map, so they take a copy instead.
    """

    __slots__ = (
        "_entry",
        "_entry_size",
        "_files",
        "_mapped",
        "_mapped_count",
        "_pack",
        "_saved_count",
        "_tail",
        "_writable",
        "entry_count",
        "last_first_field",
        "path",
    )

    def __init__(self, files: Files, path: Path, entry: struct.Struct, *, writable: bool = True) -> None:
        self._files = files
        self.path = path
        self._entry = entry
        self._entry_size = entry.size
        self._pack = entry.pack
        self._writable = writable
        self._mapped: mmap.mmap | bytes = b""
        self._tail = bytearray()
        if writable:
            self._map()
        else:
            with suppress(FileNotFoundError):
                self._mapped = files.read_bytes(path)
        self._mapped_count = self._strip_preallocated()
        self._saved_count = self._mapped_count
        #: Mapped and waiting entries alike.
        self.entry_count = self._mapped_count
        #: The first field of the last entry, or -1: what the next entry is compared with.
        self.last_first_field = self._read_last_first_field()

    def _read_last_first_field(self) -> int:
        return self.entry(self.entry_count - 1)[0] if self.entry_count else -1

    def _map(self) -> None:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return
        try:
            size = os.fstat(fd).st_size
            if size:
                self._mapped = mmap.mmap(fd, size, prot=mmap.PROT_READ)
        finally:
            os.close(fd)

    def _strip_preallocated(self) -> int:
        """How many leading entries are real: Kafka leaves zeros behind in an index it did not close."""
        size = self._entry_size
        count = len(self._mapped) // size
        zero = bytes(size)
        if not count or self._mapped[(count - 1) * size : count * size] != zero:
            return count
        return bisect_left(range(count), True, key=lambda i: self._mapped[i * size : (i + 1) * size] == zero)

    @property
    def has_odd_size(self) -> bool:
        """The file is not a whole number of entries: it was damaged."""
        return len(self._mapped) % self._entry_size != 0

    def append(self, first_field: int, second_field: int) -> None:
        """Take one entry; the caller keeps the order."""
        tail = self._tail
        tail += self._pack(first_field, second_field)
        self.entry_count += 1
        self.last_first_field = first_field
        if len(tail) - (self._saved_count - self._mapped_count) * self._entry_size >= WRITE_BEHIND_BYTES:
            self.write_behind()

    def write_behind(self) -> None:
        """Bring the file up to date. A full disk costs the index on disk, never the append."""
        unsaved = memoryview(self._tail)[(self._saved_count - self._mapped_count) * self._entry_size :]
        if not unsaved or not self._writable:
            return
        try:
            fd = self._files.open(self.path, create=True)
            try:
                write_fully(self._files, fd, unsaved, self._saved_count * self._entry_size)
            finally:
                self._files.close(fd)
        except OSError:
            return
        finally:
            unsaved.release()
        self._saved_count = self.entry_count

    def entry(self, number: int) -> tuple[int, int]:
        """Entry by number, as its two fields."""
        tail_number = number - self._mapped_count
        if tail_number >= 0:
            return self._entry.unpack_from(self._tail, tail_number * self._entry_size)
        return self._entry.unpack_from(self._mapped, number * self._entry_size)

    def floor(self, first_field: int) -> int:
        """Number of the last entry whose first field is at most this, or -1."""
        tail = self._tail
        unpack_from = self._entry.unpack_from
        size = self._entry_size
        if tail and unpack_from(tail, 0)[0] <= first_field:
            count = len(tail) // size
            found = bisect_right(range(count), first_field, key=lambda i: unpack_from(tail, i * size)[0])
            return self._mapped_count + found - 1
        mapped = self._mapped
        return (
            bisect_right(
                range(self._mapped_count), first_field, key=lambda i: unpack_from(mapped, i * size)[0]
            )
            - 1
        )

    def first_with_second_at_least(self, second_field: int) -> int:
        """Number of the first entry whose second field is at least this; ``entry_count`` when none is. Only
        where second fields rise too, as positions in a segment do."""
        return bisect_left(range(self.entry_count), second_field, key=lambda i: self.entry(i)[1])

    def is_increasing(self) -> bool:
        """Every entry's first field lies above the one before: no zeros, no torn pages."""
        previous = -1
        mapped = self._mapped[: self._mapped_count * self._entry_size]
        for first, _ in chain(self._entry.iter_unpack(mapped), self._entry.iter_unpack(self._tail)):
            if first <= previous:
                return False
            previous = first
        return True

    def cut(self, count: int) -> None:
        """Keep only the first ``count`` entries, on disk too."""
        if count >= self.entry_count and not self.has_odd_size:
            return
        if count >= self._mapped_count:
            del self._tail[(count - self._mapped_count) * self._entry_size :]
        else:
            self._tail.clear()
            kept = bytes(self._mapped[: count * self._entry_size])
            self._unmap()
            self._mapped = kept
            self._mapped_count = count
        self._saved_count = min(self._saved_count, count)
        self.entry_count = min(self.entry_count, count)
        self.last_first_field = self._read_last_first_field()
        self._set_file_size(self._saved_count * self._entry_size)

    def _set_file_size(self, size: int) -> None:
        if not self._writable:
            return
        with suppress(FileNotFoundError):
            fd = self._files.open(self.path)
            try:
                self._files.truncate(fd, size)
            finally:
                self._files.close(fd)

    def seal(self) -> None:
        """Make the file whole: all entries in it, no preallocated rest; it exists even when empty."""
        self.write_behind()
        with suppress(OSError):
            fd = self._files.open(self.path, create=True)
            try:
                if os.fstat(fd).st_size != self._saved_count * self._entry_size:
                    self._files.truncate(fd, self._saved_count * self._entry_size)
            finally:
                self._files.close(fd)

    def sync(self) -> None:
        """Push a sealed index to the disk, from any thread. One whose segment is gone needs no sync."""
        with suppress(FileNotFoundError):
            fd = self._files.open(self.path)
            try:
                self._files.fsync(fd)
            finally:
                self._files.close(fd)

    def _unmap(self) -> None:
        if isinstance(self._mapped, mmap.mmap):
            self._mapped.close()
        self._mapped = b""

    def close(self) -> None:
        """Let go of the map. Entries that were not written behind are lost; `seal` first."""
        self._unmap()
        self._mapped_count = 0
        self._tail.clear()
        self._saved_count = self.entry_count = 0
        self.last_first_field = -1
