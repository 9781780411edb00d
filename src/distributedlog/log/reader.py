"""`LogReader`: reading an embedded log that another process writes [io].

A reader takes no lock and changes nothing. It trusts the log file alone: what it reads is checked
against its CRC, and at the end of the newest segment, where the writer may be in the middle of a
batch, anything not yet whole is simply not there yet. It looks at the directory again whenever it
comes to the end of what it knows, or finds a file gone: retention and compaction happen meanwhile.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final, Self

from distributedlog.log.checkpoints import LOG_START_OFFSET_CHECKPOINT, OffsetCheckpoint
from distributedlog.log.embedded_layout import PARTITION, TOPIC
from distributedlog.log.errors import CorruptLog, LogClosed, LogNotFound, OffsetOutOfRange
from distributedlog.log.files import REAL_FILES, FileRegion
from distributedlog.log.listing import list_directory
from distributedlog.log.offset_journal import OffsetJournal, OffsetKind
from distributedlog.log.partition_metadata import PARTITION_METADATA, PartitionMetadata
from distributedlog.log.readable import ReadableLog
from distributedlog.log.reading import find_timestamp, read_region
from distributedlog.log.record_reading import read_records
from distributedlog.log.segment import Segment
from distributedlog.log.segment_files import LOG_SUFFIX, segment_path
from distributedlog.log.segments import SegmentList
from distributedlog.records import Record

ATTEMPTS_MAX: Final = 100


class LogReader(ReadableLog):
    """Any number of these, in any process, beside one `Log`.

    It sees what the writer has appended, which under ``flush="ack"`` may be some milliseconds more
    than what the writer was told is safe.
    """

    def __init__(self, directory: Path | str) -> None:
        self._root = Path(directory)
        self._directory = self._root / f"{TOPIC}-{PARTITION}"
        if not self._directory.is_dir():
            raise LogNotFound(str(directory))
        self._known: dict[int, tuple[int, Segment]] = {}
        self._segments = SegmentList()
        self._end_offset = 0
        #: The segment that the writer appends to, and the offset up to which it is known.
        self._followed: tuple[Segment | None, int] = (None, 0)
        self._closed = False
        self._refresh()

    def __repr__(self) -> str:
        return f"LogReader({str(self._root)!r})"

    @property
    def path(self) -> Path:
        """The data directory."""
        return self._root

    @property
    def start_offset(self) -> int:
        """The first offset that can be read, as of now."""
        self._refresh()
        return self._start_offset()

    @property
    def end_offset(self) -> int:
        """The offset behind the last whole record, as of now."""
        self._refresh()
        return self._end_offset

    def follow(
        self, start_offset: int | None = None, *, idle_ms_max: float | None = None, poll_ms: float = 20
    ) -> Iterator[Record]:
        """Iterate, and at the log's end wait for more: for ever, or until nothing has come for so long.

        Starts at the oldest record by default; ``reader.follow(reader.end_offset)`` at what is new.
        """
        offset = self._checked_start(start_offset)
        idle_ms = 0.0
        pause = Event()
        while idle_ms_max is None or idle_ms < idle_ms_max:
            idle_ms += poll_ms
            for record in read_records(self._fetch, offset):
                offset = record.offset + 1
                idle_ms = 0
                yield record
            pause.wait(poll_ms / 1000)

    def _find_time(self, timestamp: int) -> int | None:
        for _ in self._attempts():
            with suppress(FileNotFoundError):
                found = find_timestamp(self._segments, timestamp, self._start_offset(), self._end_offset)
                return None if found is None else found.offset
        return None

    # -- finding out what the writer has done -----------------------------------------------------

    def _attempts(self) -> Iterator[int]:
        """Look at the directory again before every try: files may go while they are being opened."""
        for attempt in range(ATTEMPTS_MAX):
            self._refresh()
            yield attempt
        raise LogNotFound(str(self._root))

    def _checked_start(self, start_offset: int | None) -> int:
        self._refresh()
        start = self._start_offset()
        if start_offset is None:
            return start
        if not start <= start_offset <= self._end_offset:
            raise OffsetOutOfRange(start_offset, start, self._end_offset)
        return start_offset

    def _fetch(self, offset: int, bytes_max: int) -> tuple[int, FileRegion] | None:
        if self._closed:
            raise LogClosed(str(self._root))
        if offset < self._end_offset:
            with suppress(FileNotFoundError):  # retention or compaction took it: look again
                return self._region(offset, bytes_max)
        for _ in self._attempts():
            with suppress(FileNotFoundError):
                return self._region(max(offset, self._start_offset()), bytes_max)
        return None

    def _region(self, offset: int, bytes_max: int) -> tuple[int, FileRegion] | None:
        region = read_region(self._segments, offset, self._end_offset, bytes_max, at_least_one_batch=True)
        return None if region is None else (offset, region)

    def _start_offset(self) -> int:
        first = self._segments[0].base_offset if len(self._segments) else 0
        return min(max(first, self._noted_start_offset()), self._end_offset)

    def _noted_start_offset(self) -> int:
        """Records may be deleted although their segment is still there."""
        checkpoint: dict[tuple[str, int], int] = {}
        changes: dict[tuple[bytes, int, OffsetKind], int] = {}
        with suppress(FileNotFoundError, CorruptLog):
            journal = OffsetJournal(REAL_FILES, self._root, read_only=True)
            changes = journal.latest()
            journal.close()
        with suppress(CorruptLog):
            checkpoint = OffsetCheckpoint(REAL_FILES, self._root / LOG_START_OFFSET_CHECKPOINT).read()
        known = checkpoint.get((TOPIC, PARTITION), 0)
        if changes:
            topic_id = PartitionMetadata(REAL_FILES, self._directory / PARTITION_METADATA).read()
            if topic_id is not None:
                known = changes.get((topic_id.bytes, PARTITION, OffsetKind.LOG_START_OFFSET), known)
        return known

    def _refresh(self) -> None:
        """Take in new, deleted and swapped segments, and what the newest one holds by now.

        What is seen must have been there at one time, all of it: of a compaction's swap seen in part, or a
        roll, the reader would take offsets for missing that have only moved. So it looks until nothing moves.
        """
        if self._closed:
            raise LogClosed(str(self._root))
        for _ in range(ATTEMPTS_MAX):
            with suppress(FileNotFoundError):
                base_offsets = list_directory(self._directory).base_offsets
                self._take_in(base_offsets)
                now = list_directory(self._directory).base_offsets
                if now[: len(base_offsets)] == base_offsets:  # what a busy writer adds behind does no harm
                    return
        raise LogNotFound(str(self._root))

    def _take_in(self, base_offsets: list[int]) -> None:
        """FileNotFoundError when one of the segments is gone."""
        known: dict[int, tuple[int, Segment]] = {}
        for base_offset in base_offsets:
            inode = os.stat(segment_path(self._directory, base_offset, LOG_SUFFIX)).st_ino
            before = self._known.get(base_offset)
            if before is not None and before[0] == inode:
                known[base_offset] = before
            else:
                segment = Segment(REAL_FILES, self._directory, base_offset, writable=False)
                known[base_offset] = (inode, segment)
        self._known = known
        self._segments = SegmentList(segment for _, segment in known.values())
        self._follow_newest()

    def _follow_newest(self) -> None:
        if not len(self._segments):
            return
        newest = self._segments.active
        followed, end_offset = self._followed
        if followed is not newest:
            if followed is not None:
                followed.follow(end_offset)
            newest.begin_following()
            end_offset = newest.base_offset
        self._end_offset = newest.follow(end_offset)
        self._followed = (newest, self._end_offset)

    def close(self) -> None:
        """Let go of all files."""
        self._closed = True
        for segment in self._segments:
            segment.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
