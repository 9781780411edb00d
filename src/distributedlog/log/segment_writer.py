"""The writing end of a log: the active segment, when it rolls, and what a failing disk means [io].

Every write either happened whole or, after an error, is undone. A full disk is given one chance: room
is made by retention and the write tried again. Any other error of a write ends all writing, because
what the page cache holds can no longer be believed.
"""

import random
from collections.abc import Callable
from pathlib import Path

from distributedlog.log.config import LogConfig
from distributedlog.log.errors import DiskFull, LogClosed, LogDirectoryOffline
from distributedlog.log.files import FULL_DISK_ERRORS, Buffer, Files
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList


class SegmentWriter:
    """Appends to the newest of ``segments`` and begins new ones.

    ``directory_changed`` says that files appeared which the directory's next fsync makes durable.
    """

    __slots__ = (
        "_before_roll",
        "_closed",
        "_files",
        "_roll_after_ms",
        "_roll_clock_is_record_time",
        "active",
        "config",
        "directory",
        "directory_changed",
        "make_room",
        "offline",
        "segments",
    )

    def __init__(
        self,
        files: Files,
        directory: Path,
        config: LogConfig,
        segments: SegmentList,
        before_roll: Callable[[int], None],
    ) -> None:
        self.directory = directory
        self.config = config
        self.segments = segments
        self.active = segments.active
        self.directory_changed = False
        #: Called when the disk is full, before the one retry; says whether it freed anything.
        self.make_room: Callable[[], bool] | None = None
        self.offline: LogDirectoryOffline | None = None
        self._files = files
        self._before_roll = before_roll
        self._closed: LogClosed | None = None
        self._roll_clock_is_record_time = False
        self._roll_after_ms = 0
        self.resume(segments.active)

    # -- the way of a batch -----------------------------------------------------------------------

    def prepare(self, size: int, last_offset: int, max_timestamp: int, now_ms: int, end_offset: int) -> None:
        """Roll when the active segment cannot or should not take these batches."""
        self.check_writable()
        active = self.active
        if active.size == 0:
            self._start_roll_clock(max_timestamp, now_ms)
            if active.can_hold(last_offset):
                return
        elif (
            active.size + size <= self.config.segment_bytes
            and (max_timestamp if self._roll_clock_is_record_time else now_ms) <= self._roll_after_ms
            and active.can_hold(last_offset)
            and not active.is_index_full()
        ):
            return
        self.roll(end_offset, now_ms)
        self._start_roll_clock(max_timestamp, now_ms)

    def write(self, data: Buffer, size: int) -> None:
        """Put the bytes behind the last batch; `Segment.note_batch` then makes them part of the log."""
        try:
            self.active.write(data, size)
        except OSError as error:
            self._after_failure(error, self._cut_torn_write)
            try:
                self.active.write(data, size)
            except OSError as again:
                self._cut_torn_write()
                raise DiskFull(str(self.directory)) from again

    def roll(self, base_offset: int, now_ms: int) -> None:
        """Begin a new active segment at the log's end; an empty one that begins there is kept."""
        old = self.active
        if old.base_offset == base_offset:
            return
        old.seal()
        self._before_roll(base_offset)
        self.begin(base_offset, now_ms)

    def begin(self, base_offset: int, now_ms: int) -> None:
        """Create a segment and make it the active one."""
        segment = self.open_segment(base_offset, now_ms)
        try:
            segment.create()
        except OSError as error:
            self._after_failure(error, lambda: None)
            try:
                segment.create()
            except OSError as again:
                raise DiskFull(str(self.directory)) from again
        self.segments.add(segment)
        self.active = segment
        self.directory_changed = True

    def open_segment(self, base_offset: int, now_ms: int) -> Segment:
        """A segment of this log and its configuration; it touches its files when it is used."""
        return Segment(
            self._files,
            self.directory,
            base_offset,
            index_interval_bytes=self.config.index_interval_bytes,
            index_bytes_max=self.config.segment_index_bytes,
            created_ms=now_ms,
        )

    def resume(self, segment: Segment) -> None:
        """Go on with a segment that has batches: its age counts from its first one, as before."""
        self.active = segment
        first = next(segment.batches(), None)
        if first is not None:
            self._start_roll_clock(first.max_timestamp, segment.created_ms)

    def _start_roll_clock(self, first_timestamp: int, now_ms: int) -> None:
        """Record time where records have times; the clock's otherwise."""
        self._roll_clock_is_record_time = first_timestamp >= 0
        begun_ms = first_timestamp if first_timestamp >= 0 else now_ms
        jitter_ms = random.randint(0, self.config.segment_jitter_ms) if self.config.segment_jitter_ms else 0
        self._roll_after_ms = begun_ms + self.config.segment_ms_max - jitter_ms

    # -- when the disk does not do its part -------------------------------------------------------

    def check_writable(self) -> None:
        if self.offline is not None:
            raise self.offline
        if self._closed is not None:
            raise self._closed

    def _after_failure(self, error: OSError, undo: Callable[[], None]) -> None:
        """Undo; then return when room was made for another try, or raise what the error means."""
        undo()
        if error.errno not in FULL_DISK_ERRORS:
            raise self.go_offline(error) from error
        if self.make_room is None or not self.make_room():
            raise DiskFull(str(self.directory)) from error

    def _cut_torn_write(self) -> None:
        try:
            self.active.cut_torn_write()
        except OSError as error:
            raise self.go_offline(error) from error

    def go_offline(self, error: BaseException) -> LogDirectoryOffline:
        """No more writes from here on; the first error is the one that everybody is told."""
        if self.offline is None:
            self.offline = (
                error
                if isinstance(error, LogDirectoryOffline)
                else LogDirectoryOffline(str(self.directory), error)
            )
        return self.offline

    def translate(self, error: OSError) -> DiskFull | LogDirectoryOffline:
        """What an error in writing a small file beside the log means for the log."""
        if error.errno in FULL_DISK_ERRORS:
            return DiskFull(str(self.directory))
        return self.go_offline(error)

    def close(self, reason: LogClosed | None = None) -> None:
        """No more writes; who tries gets the reason."""
        self._closed = reason or LogClosed(str(self.directory))
