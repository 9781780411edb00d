"""One segment: a `.log` file of batches with its offset, time and transaction index [io].

Only the newest segment of a log, the active one, is appended to; the others never change until
they are deleted or replaced whole by compaction. A segment opens its files when first used, so a
log of a thousand segments opens as fast as a log of one.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from distributedlog.log.batch_scan import BatchAt, ScanEnd, scan_batches
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import Buffer, FileRegion, Files, OpenFile, write_fully
from distributedlog.log.index_checks import last_entries_are_true, misses_entries
from distributedlog.log.index_file import OFFSET_ENTRY, TIME_ENTRY, IndexFile
from distributedlog.log.segment_files import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    segment_path,
)
from distributedlog.log.transaction_index import TransactionIndex
from distributedlog.records import HEADER, HEADER_SIZE, LOG_OVERHEAD

#: Bytes read at once while looking for one batch behind an index entry.
FIND_CHUNK_BYTES: Final = 8192
NO_TIMESTAMP: Final = -1
RELATIVE_OFFSET_MAX: Final = 2**31 - 1


class Segment:
    """The batches from ``base_offset`` up to the next segment's base offset.

    ``size`` counts the bytes that hold whole batches; whatever the file holds beyond is a torn
    write that is about to be cut.
    """

    __slots__ = (
        "_file_suffix",
        "_files",
        "_index_entries_max",
        "_log",
        "_max_timestamp",
        "_offset_index",
        "_size",
        "_time_index",
        "_transaction_index",
        "_writable",
        "base_offset",
        "bytes_since_index_entry",
        "created_ms",
        "directory",
        "index_interval_bytes",
        "offset_of_max_timestamp",
    )

    def __init__(
        self,
        files: Files,
        directory: Path,
        base_offset: int,
        *,
        index_interval_bytes: int = 4096,
        index_bytes_max: int = 10 * 1024 * 1024,
        created_ms: int = 0,
        writable: bool = True,
        file_suffix: str = "",
    ) -> None:
        self._file_suffix = file_suffix
        self._files = files
        self.directory = directory
        self.base_offset = base_offset
        self.index_interval_bytes = index_interval_bytes
        self._index_entries_max = index_bytes_max // TIME_ENTRY.size - 1
        self.created_ms = created_ms
        self._writable = writable
        self._log: OpenFile | None = None
        self._offset_index: IndexFile | None = None
        self._time_index: IndexFile | None = None
        self._transaction_index: TransactionIndex | None = None
        self._size = -1
        self._max_timestamp: int | None = None
        self.offset_of_max_timestamp = base_offset
        self.bytes_since_index_entry = 0

    def path(self, suffix: str) -> Path:
        return segment_path(self.directory, self.base_offset, suffix + self._file_suffix)

    # -- files, opened on first use -------------------------------------------------------------

    @property
    def log(self) -> OpenFile:
        if self._log is None:
            open_file = OpenFile if self._writable else OpenFile.read_only
            self._log = open_file(self._files, self.path(LOG_SUFFIX))
        return self._log

    @property
    def offset_index(self) -> IndexFile:
        if self._offset_index is None:
            self._open_indexes()
        assert self._offset_index is not None
        return self._offset_index

    @property
    def time_index(self) -> IndexFile:
        if self._time_index is None:
            self._open_indexes()
        assert self._time_index is not None
        return self._time_index

    @property
    def transaction_index(self) -> TransactionIndex:
        if self._transaction_index is None:
            self._transaction_index = TransactionIndex(self._files, self.path(TRANSACTION_INDEX_SUFFIX))
        return self._transaction_index

    @property
    def size(self) -> int:
        if self._size < 0:
            self._size = self.log.size()
        return self._size

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of any batch, from the time index's last entry when not yet known."""
        if self._max_timestamp is None:
            self._load_max_timestamp()
        assert self._max_timestamp is not None
        return self._max_timestamp

    def create(self) -> None:
        """Make the log file; the indexes appear with their first page or when the segment is sealed."""
        self._log = OpenFile(self._files, self.path(LOG_SUFFIX), create=True)
        self._size = self._log.size()
        self.activate()

    def _open_indexes(self) -> None:
        """Open both indexes; what fails a spot check is rebuilt from the log."""
        self._open_index_files()
        if not last_entries_are_true(self) or misses_entries(self):
            self.rebuild_indexes()

    def _open_index_files(self) -> None:
        self._offset_index = IndexFile(
            self._files, self.path(INDEX_SUFFIX), OFFSET_ENTRY, writable=self._writable
        )
        self._time_index = IndexFile(
            self._files, self.path(TIME_INDEX_SUFFIX), TIME_ENTRY, writable=self._writable
        )

    # -- appending --------------------------------------------------------------------------------

    def activate(self) -> None:
        """Make ready for appends; `append` relies on everything being open."""
        self._open_indexes()
        self._load_max_timestamp()
        self.bytes_since_index_entry = self.size - self.last_indexed_position()

    def begin_following(self) -> None:
        """Open a segment that another process appends to: its indexes lag behind, `follow` catches up."""
        self._open_index_files()
        timestamp, relative_offset = NO_TIMESTAMP, 0
        if last_entries_are_true(self):
            count = self.time_index.entry_count
            timestamp, relative_offset = self.time_index.entry(count - 1) if count else (NO_TIMESTAMP, 0)
        else:
            self.offset_index.cut(0)
            self.time_index.cut(0)
        self._max_timestamp = timestamp
        self.offset_of_max_timestamp = self.base_offset + relative_offset
        self._size = self.last_indexed_position()

    def follow(self, end_offset: int) -> int:
        """Take in the whole and sound batches behind those known; the offset behind the last one."""
        batches = scan_batches(
            self.log, self._size, self.log.size(), check_crc=True, previous_offset=self.base_offset - 1
        )
        for batch in batches:
            self.note_batch(batch.size, batch.last_offset, batch.max_timestamp)
            end_offset = batch.last_offset + 1
        return end_offset

    def write(self, data: Buffer, size: int) -> None:
        """Put whole batches behind the last one; `note_batch` for each makes them part of the log.

        After an ``OSError`` the caller must `cut_torn_write` before anything else.
        """
        written = self._files.pwrite(self._log.fd, data, self._size)  # type: ignore[union-attr]
        if written != size:
            self._write_rest(memoryview(data)[written:], self._size + written)

    def note_batch(self, size: int, last_offset: int, max_timestamp: int) -> None:
        """Take the next written batch into the size, the running maximum of time, and the indexes."""
        if max_timestamp > self._max_timestamp:  # type: ignore[operator]
            self._max_timestamp = max_timestamp
            self.offset_of_max_timestamp = last_offset
        since = self.bytes_since_index_entry
        if since > self.index_interval_bytes:
            self.add_index_entries(last_offset, self._size)
            since = 0
        self.bytes_since_index_entry = since + size
        self._size += size

    def _write_rest(self, rest: memoryview, position: int) -> None:
        """A short write is how a full disk announces itself; the next one raises."""
        write_fully(self._files, self.log.fd, rest, position)

    def cut_torn_write(self) -> None:
        """Bring the file back to its last whole batch after a failed append."""
        self._files.truncate(self.log.fd, self.size)

    def add_index_entries(self, last_offset: int, position: int) -> None:
        """Note where the batch that ends in ``last_offset`` starts, and the running maximum of time."""
        self.offset_index.append(last_offset - self.base_offset, position)
        self._note_max_timestamp()

    def _note_max_timestamp(self) -> None:
        """Add the running maximum to the time index when it has grown."""
        index = self.time_index
        if self.max_timestamp > index.last_first_field:
            index.append(self.max_timestamp, self.offset_of_max_timestamp - self.base_offset)

    def is_index_full(self) -> bool:
        """Never more entries in the time index than in the other, but for the one when it is sealed."""
        index = self._offset_index
        return index is not None and index.entry_count >= self._index_entries_max

    def can_hold(self, last_offset: int) -> bool:
        """Index entries are relative to the base offset and 32 bits wide."""
        return last_offset - self.base_offset <= RELATIVE_OFFSET_MAX

    # -- finding ------------------------------------------------------------------------------------

    def find(self, offset: int, from_position: int | None = None) -> BatchAt | None:
        """The first batch that ends at ``offset`` or later, or None when the segment ends before.

        The index gives a batch at or before it; from there the headers are walked in small reads.
        """
        fd = self.log.fd
        end = self.size
        position = self.index_position(offset) if from_position is None else from_position
        unpack_from = HEADER.unpack_from
        chunk = b""
        chunk_start = position
        while end - position >= HEADER_SIZE:
            at = position - chunk_start
            if len(chunk) - at < HEADER_SIZE:
                chunk = os.pread(fd, min(FIND_CHUNK_BYTES, end - position), position)
                chunk_start, at = position, 0
                if len(chunk) < HEADER_SIZE:
                    return None
            header = unpack_from(chunk, at)
            size = header[1] + LOG_OVERHEAD
            last_offset = header[0] + header[6]
            if size < HEADER_SIZE or size > end - position or header[3] != 2:
                raise CorruptLog(str(self.log.path), position, "no batch starts here")
            if last_offset >= offset:
                return BatchAt(
                    position, size, header[0], last_offset, header[2], header[5], header[8], header[9],
                    header[10], header[11], header[12],
                )  # fmt: skip
            position += size
        return None

    def index_position(self, offset: int) -> int:
        """Position of a batch that starts at or before ``offset``."""
        index = self.offset_index
        number = index.floor(offset - self.base_offset)
        return index.entry(number)[1] if number >= 0 else 0

    def find_by_timestamp(self, timestamp: int, start_offset: int) -> BatchAt | None:
        """The first batch from ``start_offset`` on whose largest timestamp is at least this one."""
        if self.max_timestamp < timestamp:
            return None
        index = self.time_index
        number = index.floor(timestamp - 1)
        known_smaller = self.base_offset + index.entry(number)[1] if number >= 0 else self.base_offset
        position = self.index_position(max(known_smaller, start_offset))
        for batch in self.batches(position):
            if batch.last_offset >= start_offset and batch.max_timestamp >= timestamp:
                return batch
        return None

    def batches(self, position: int = 0, end: int | None = None) -> Iterator[BatchAt]:
        """Headers from a batch's start on, without looking at the records."""
        return scan_batches(self.log, position, self.size if end is None else end, check_crc=False)

    def region(self, position: int, size: int) -> FileRegion:
        return FileRegion(self.log, position, size)

    def _load_max_timestamp(self) -> None:
        """The time index's last entry, unless a batch behind the last indexed one is younger."""
        index = self.time_index
        count = index.entry_count
        timestamp, relative_offset = index.entry(count - 1) if count else (NO_TIMESTAMP, 0)
        offset = self.base_offset + relative_offset
        for batch in self.batches(self.last_indexed_position()):
            if batch.max_timestamp > timestamp:
                timestamp, offset = batch.max_timestamp, batch.last_offset
        self._max_timestamp, self.offset_of_max_timestamp = timestamp, offset

    def last_indexed_position(self) -> int:
        """Where to start reading when only the tail is of interest."""
        index = self.offset_index
        count = index.entry_count
        return index.entry(count - 1)[1] if count else 0

    # -- checking and rebuilding --------------------------------------------------------------------

    def rebuild_indexes(self) -> None:
        """Write both indexes anew from the batch headers; nobody would do it for a sealed segment later."""
        self._walk_and_index(scan_batches(self.log, 0, self.size, check_crc=False), lambda _: None)
        if self._writable:
            self.offset_index.seal()
            self.time_index.seal()

    def recover(self, observe: Callable[[BatchAt], None]) -> ScanEnd:
        """Check every batch with its CRC, rebuild the indexes, and say where the sound part ends.

        The file is left as it is: what to do with the rest is the caller's decision.
        """
        scan_end = ScanEnd()
        self._size = self.log.size()
        batches = scan_batches(
            self.log, 0, self._size, check_crc=True, previous_offset=self.base_offset - 1, scan_end=scan_end
        )
        if self._offset_index is None:
            self._open_index_files()
        self._walk_and_index(batches, observe)
        return scan_end

    def _walk_and_index(self, batches: Iterator[BatchAt], observe: Callable[[BatchAt], None]) -> None:
        self.offset_index.cut(0)
        self.time_index.cut(0)
        self._max_timestamp = NO_TIMESTAMP
        self.offset_of_max_timestamp = self.base_offset
        since = 0
        for batch in batches:
            if batch.max_timestamp > self._max_timestamp:
                self._max_timestamp = batch.max_timestamp
                self.offset_of_max_timestamp = batch.last_offset
            if since > self.index_interval_bytes:
                self.add_index_entries(batch.last_offset, batch.position)
                since = 0
            since += batch.size
            observe(batch)
        self.bytes_since_index_entry = since
        self._note_max_timestamp()

    # -- cutting and leaving --------------------------------------------------------------------------

    def truncate(self, position: int, next_offset: int) -> None:
        """Drop the bytes from a batch's start on, and every index entry that speaks of them."""
        self._files.truncate(self.log.fd, position)
        self._size = position
        relative = next_offset - self.base_offset
        offsets, times = self.offset_index, self.time_index
        offsets.cut(offsets.floor(relative - 1) + 1)
        kept = times.entry_count
        while kept and times.entry(kept - 1)[1] >= relative:
            kept -= 1
        times.cut(kept)
        self._load_max_timestamp()
        self.bytes_since_index_entry = position - self.last_indexed_position()

    def seal(self) -> None:
        """No more appends: the indexes are made whole. Nothing is pushed to the disk yet."""
        self._note_max_timestamp()
        self.offset_index.seal()
        self.time_index.seal()

    def sync_log(self) -> None:
        """Push the batches to the disk; safe beside appends, from any thread. A segment that is gone
        before anyone opened it needs no sync."""
        with suppress(FileNotFoundError):
            self._files.fsync(self.log.fd)

    def sync_indexes(self) -> None:
        """Push the indexes to the disk, from any thread; those never opened have nothing new to push."""
        for index in (self._offset_index, self._time_index, self._transaction_index):
            if index is not None:
                index.sync()

    def last_modified_ms(self) -> int:
        """The age of records that have no timestamps."""
        return os.fstat(self.log.fd).st_mtime_ns // 1_000_000

    def close(self) -> None:
        """Let go of files and maps; used again, the segment opens them again. The log file closes with
        the last region of it that is still being read."""
        if self._offset_index is not None:
            self._offset_index.close()
        if self._time_index is not None:
            self._time_index.close()
        self._log = self._offset_index = self._time_index = self._transaction_index = None
