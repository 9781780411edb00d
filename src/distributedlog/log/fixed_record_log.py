"""The simplest log there is: a file of equal slots.

    [4 bytes: CRC32C of the payload, big-endian][payload of exactly record_size bytes]

Record N stands at N * (record_size + 4); nothing else is in the file, no header and no index. What a crash
leaves is told by the slots themselves: a torn tail, shorter than a slot, is overwritten by the next append,
and from the first slot with a bad CRC on everything counts as never written. Opening changes nothing, so
that a look with the wrong record_size does no harm; what was discarded is cut off before the next append.

A slot of zeros, which a loss of power may leave, is never good: below 2**31 - 1 zeros the CRC is not zero.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from crc32c import crc32c

from distributedlog.log.errors import (
    CorruptLog,
    DirectoryLocked,
    DiskFull,
    InvalidRecord,
    LogClosed,
    LogDirectoryOffline,
    LogOfParentProcess,
    OffsetOutOfRange,
    ReadOnlyLog,
)
from distributedlog.log.files import FULL_DISK_ERRORS, REAL_FILES, Buffer, Files, OpenFile, write_fully
from distributedlog.log.forking import hold

CRC_SIZE: Final = 4
RECORD_SIZE_MAX: Final = 2**30
_CHUNK_BYTES: Final = 1 << 20


class FixedRecordLog:
    """Records of one size by number. One writer and any number of readers in other processes, whose `len`
    and iteration follow the writer. For use by one thread.

    An append is in the page cache and survives the death of the process; `flush` makes it survive a loss of
    power. The constructor is for files in a directory that is locked; alone, use `FixedRecordLog.open`.
    """

    __slots__ = (
        "__weakref__",
        "_closed",
        "_count",
        "_failure",
        "_file",
        "_files",
        "_is_dirty",
        "_is_new",
        "_must_cut",
        "_read_only",
        "path",
        "record_size",
        "slot_size",
    )

    def __init__(
        self,
        files: Files,
        path: Path | str,
        record_size: int,
        *,
        read_only: bool = False,
        exclusive: bool = False,
    ) -> None:
        if type(record_size) is not int or not 1 <= record_size <= RECORD_SIZE_MAX:
            raise ValueError(f"record_size {record_size!r} is not a number from 1 to {RECORD_SIZE_MAX}")
        self.path = Path(path)
        self.record_size = record_size
        self.slot_size = record_size + CRC_SIZE
        self._files = files
        self._read_only = read_only
        self._closed: LogClosed | None = None
        self._failure: LogDirectoryOffline | None = None
        self._is_dirty = False
        self._is_new = not read_only and not self.path.exists()
        self._file: OpenFile | None = (
            OpenFile.read_only(files, self.path) if read_only else OpenFile(files, self.path, create=True)
        )
        if exclusive:
            self._lock(self._file)
        self._count = self._count_good(0)
        self._must_cut = self.discarded_bytes >= self.slot_size
        if not read_only:
            hold(self)

    @classmethod
    def open(cls, path: Path | str, record_size: int, *, read_only: bool = False) -> Self:
        """Open a file of the real file system; for writing it is made when missing, and DirectoryLocked is
        raised when another writer has it."""
        return cls(REAL_FILES, path, record_size, read_only=read_only, exclusive=not read_only)

    # Writing

    def append(self, payload: Buffer) -> int:
        """Write one record of exactly record_size bytes; its number."""
        slot = crc32c(payload).to_bytes(CRC_SIZE, "big") + payload
        if len(slot) != self.slot_size:
            raise self._wrong_size(slot, None)
        number = self._count
        self._write(slot, 1)
        return number

    def append_many(self, payloads: Iterable[Buffer]) -> range:
        """Write records in one piece, all or none; their numbers."""
        slots: list[bytes] = []
        for index, payload in enumerate(payloads):
            slot = crc32c(payload).to_bytes(CRC_SIZE, "big") + payload
            if len(slot) != self.slot_size:
                raise self._wrong_size(slot, index)
            slots.append(slot)
        first = self._count
        if slots:
            self._write(b"".join(slots), len(slots))
        return range(first, first + len(slots))

    def flush(self) -> None:
        """Sync what was appended to the disk. A sync that fails once ends all writing: what the page cache
        holds can no longer be believed."""
        file = self._writable()
        if not self._is_dirty:
            return
        try:
            self._files.fsync(file.fd)
            if self._is_new:
                self._files.fsync_directory(self.path.parent)
        except OSError as error:
            raise self._fail(error) from error
        self._is_dirty = self._is_new = False

    def truncate_to(self, count: int) -> None:
        """Drop the records from number `count` on, for good: synced when this returns."""
        if not 0 <= count <= len(self):
            raise OffsetOutOfRange(count, 0, self._count)
        file = self._writable()
        try:
            self._files.truncate(file.fd, count * self.slot_size)
            self._files.fsync(file.fd)
        except OSError as error:
            raise self._fail(error) from error
        self._count = count
        self._must_cut = False

    def clear(self) -> None:
        self.truncate_to(0)

    def close(self) -> None:
        """Flush and close; nothing when it is closed already."""
        file = self._file
        if file is None:
            return
        try:
            if not self._read_only and self._failure is None:
                self.flush()
        finally:
            self._file = None
            file.close()

    def leave_to_parent(self) -> None:
        """In a forked process: two that count the slots on their own would write over each other's."""
        self._closed = LogOfParentProcess(str(self.path))
        self._file = None

    # Reading

    def __len__(self) -> int:
        if self._read_only:
            self._follow()
        return self._count

    def read(self, number: int) -> bytes:
        """The payload of one record. OffsetOutOfRange when there is none of that number, CorruptLog when it
        was damaged since the log was opened."""
        if number >= self._count and self._read_only:
            self._follow()
        if not 0 <= number < self._count:
            raise OffsetOutOfRange(number, 0, self._count)
        position = number * self.slot_size
        slot = os.pread(self._opened().fd, self.slot_size, position)
        return self._payload(slot, position)

    def iterate(self, start: int = 0) -> Iterator[bytes]:
        """The payloads from number `start` to the end, also those appended meanwhile."""
        if not 0 <= start <= len(self):
            raise OffsetOutOfRange(start, 0, self._count)
        return self._iterate(start)

    def __iter__(self) -> Iterator[bytes]:
        return self.iterate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # What both do

    @property
    def discarded_bytes(self) -> int:
        """Bytes behind the last good record: a torn tail, or damage and what followed it."""
        return self._opened().size() - self._count * self.slot_size

    def _iterate(self, number: int) -> Iterator[bytes]:
        while number < len(self):
            position = number * self.slot_size
            slots = min(self._count - number, self._slots_per_chunk)
            chunk = os.pread(self._opened().fd, slots * self.slot_size, position)
            for at in range(0, slots * self.slot_size, self.slot_size):
                yield self._payload(chunk[at : at + self.slot_size], position + at)
            number += slots

    def _payload(self, slot: bytes, position: int) -> bytes:
        payload = slot[CRC_SIZE:]
        if len(payload) != self.record_size or crc32c(payload) != int.from_bytes(slot[:CRC_SIZE], "big"):
            raise CorruptLog(str(self.path), position, "the record was whole when the log was opened")
        return payload

    def _count_good(self, start: int) -> int:
        """The number of whole and sound slots from the file's start, given that `start` of them are."""
        fd, slot_size = self._opened().fd, self.slot_size
        number = start
        while True:
            chunk = memoryview(os.pread(fd, self._slots_per_chunk * slot_size, number * slot_size))
            whole = len(chunk) // slot_size * slot_size
            for at in range(0, whole, slot_size):
                crc = int.from_bytes(chunk[at : at + CRC_SIZE], "big")
                if crc32c(chunk[at + CRC_SIZE : at + slot_size]) != crc:
                    return number
                number += 1
            if whole < self._slots_per_chunk * slot_size:
                return number

    @property
    def _slots_per_chunk(self) -> int:
        return max(1, _CHUNK_BYTES // self.slot_size)

    def _follow(self) -> None:
        """See what the writer has done: records more, or fewer when it began anew."""
        size = self._opened().size()
        if size < self._count * self.slot_size:
            self._count = self._count_good(0)
        elif size >= (self._count + 1) * self.slot_size:
            self._count = self._count_good(self._count)

    def _write(self, data: Buffer, count: int) -> None:
        file = self._writable()
        position = self._count * self.slot_size
        if self._must_cut:
            # Slots behind the damage must not come back to life when the damaged one is overwritten.
            self.truncate_to(self._count)
        self._is_dirty = True
        try:
            write_fully(self._files, file.fd, data, position)
        except OSError as error:
            self._cut_back(file, error)
        self._count += count

    def _cut_back(self, file: OpenFile, error: OSError) -> None:
        try:
            self._files.truncate(file.fd, self._count * self.slot_size)
        except OSError as second:
            raise self._fail(second) from error
        if error.errno in FULL_DISK_ERRORS:
            raise DiskFull(str(self.path)) from error
        raise self._fail(error) from error

    def _fail(self, error: OSError) -> LogDirectoryOffline:
        self._failure = LogDirectoryOffline(str(self.path.parent), error)
        return self._failure

    def _writable(self) -> OpenFile:
        if self._read_only:
            raise ReadOnlyLog(str(self.path))
        if self._failure is not None:
            raise self._failure
        return self._opened()

    def _opened(self) -> OpenFile:
        if self._file is None:
            raise self._closed or LogClosed(str(self.path))
        return self._file

    def _lock(self, file: OpenFile) -> None:
        try:
            fcntl.flock(file.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.close()
            raise DirectoryLocked(str(self.path)) from error

    def _wrong_size(self, slot: bytes, index: int | None) -> InvalidRecord:
        size = len(slot) - CRC_SIZE
        return InvalidRecord(
            f"the payload has {size} bytes, records of {self.path} have exactly {self.record_size}", index
        )
