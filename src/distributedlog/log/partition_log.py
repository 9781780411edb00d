"""One partition's log: appends, reads, and what is cut from its two ends [io].

A `PartitionLog` belongs to one thread (the broker's event loop, or whoever holds the lock of an
embedded `Log`); nothing in it locks. Two kinds of work are handed to other threads as jobs that
touch only files: flushing (`begin_flush`) and compaction (`log/cleaner.py`).

Offsets, from the past to the future:

    log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset
    recovery_point   <= log_end_offset          (everything below is known to be on the disk)
"""

import errno
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from distributedlog.log.append_checks import (
    HeaderFields,
    check_produced,
    check_timestamp,
    checked_header,
)
from distributedlog.log.config import LogConfig
from distributedlog.log.errors import (
    DiskFull,
    InvalidRecord,
    LogClosed,
    LogDirectoryOffline,
    OffsetOutOfRange,
    RecordTooLarge,
)
from distributedlog.log.files import Buffer, FileRegion, Files
from distributedlog.log.flush import FlushJob
from distributedlog.log.leader_epochs import (
    LEADER_EPOCH_CHECKPOINT,
    LeaderEpochCheckpoint,
    LeaderEpochFileCache,
)
from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.producer_state import AppendOrigin, ProducerStateManager
from distributedlog.log.producer_updates import apply_batch, check_producer
from distributedlog.log.reading import (
    TimestampAndOffset,
    find_max_timestamp,
    find_timestamp,
    read_region,
)
from distributedlog.log.replay import replay_producers
from distributedlog.log.retention import SegmentView, active_has_expired, segments_to_delete
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.log.snapshot_files import SnapshotFiles
from distributedlog.records import (
    LOG_OVERHEAD,
    BatchHeader,
    parse_header,
    patch_base_offset,
    set_log_append_time,
)

FULL_DISK_ERRORS: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
NO_APPEND_TIME: Final = -1


#: Position in the data, base offset in the log, header as it came.
PlacedBatch = tuple[int, int, HeaderFields]


@dataclass(slots=True)
class AppendResult:
    """What a producer is told. A duplicate gets the offsets of its first append."""

    first_offset: int
    last_offset: int
    log_append_time_ms: int
    log_start_offset: int
    is_duplicate: bool = False


class PartitionLog:
    """Open one with `distributedlog.log.loading.open_partition_log`."""

    def __init__(
        self,
        files: Files,
        directory: Path,
        config: LogConfig,
        *,
        segments: SegmentList,
        snapshots: SnapshotFiles,
        producer_states: ProducerStateManager,
        leader_epochs: LeaderEpochFileCache,
        log_start_offset: int,
        log_end_offset: int,
        recovery_point: int,
        directory_changed: bool,
    ) -> None:
        self.directory = directory
        self.config = config
        self.segments = segments
        self.snapshots = snapshots
        self.producer_states = producer_states
        self.leader_epochs = leader_epochs
        self.log_start_offset = log_start_offset
        self.log_end_offset = log_end_offset
        self.recovery_point = recovery_point
        self.high_watermark = log_start_offset
        #: Called when the disk is full, before the one retry; says whether it freed anything.
        self.make_room: Callable[[], bool] | None = None
        #: Told when the recovery point or the log start offset moved: (kind, offset, before it may go on).
        self.note_offset: Callable[[OffsetKind, int, bool], None] = lambda *_: None
        self._noted_recovery_segment = segments.floor(recovery_point).base_offset
        self._files = files
        self._active = segments.active
        self._epoch_checkpoint = LeaderEpochCheckpoint(files, directory / LEADER_EPOCH_CHECKPOINT)
        self._roll_clock_is_record_time = False
        self._roll_after_ms = 0
        self._resume_roll_clock()
        self._directory_changed = directory_changed
        self._offline: LogDirectoryOffline | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"PartitionLog({self.directory.name}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def size(self) -> int:
        """Bytes of all segments' batches."""
        return sum(segment.size for segment in self.segments)

    @property
    def last_stable_offset(self) -> int:
        """The first offset of the oldest open transaction, or the high watermark."""
        first_unstable_offset = self.producer_states.first_unstable_offset
        if first_unstable_offset is None:
            return self.high_watermark
        return min(first_unstable_offset, self.high_watermark)

    # -- appending --------------------------------------------------------------------------------

    def append(
        self,
        data: Buffer,
        *,
        leader_epoch: int = 0,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> AppendResult:
        """Give the batches offsets and write them, all or none.

        ``data`` holds whole batches; a writable buffer is patched in place. Raises what the
        producer is to blame for (`CorruptBatchError`, `RecordTooLarge`, `InvalidRecord`, the
        producer errors) or what the disk is (`DiskFull`, `LogDirectoryOffline`); in either case
        the log is as it was before.
        """
        end = len(data)
        fields = checked_header(data, 0, end, self.config.max_message_bytes)
        size = fields[1] + LOG_OVERHEAD
        batches = [(0, fields)] if size == end else self._checked_batches(data, fields)
        from_client = origin is AppendOrigin.CLIENT
        for position, fields in batches:
            if from_client:
                self._check_from_client(fields, now_ms)
            if fields[9] >= 0:
                duplicate = self._check_producer(data, position, fields, origin)
                if duplicate is not None:
                    return duplicate
        if not isinstance(data, bytearray) and memoryview(data).readonly:
            data = bytearray(data)
        append_time_ms = now_ms if self.config.is_log_append_time and from_client else NO_APPEND_TIME
        offset = self.log_end_offset
        placed: list[PlacedBatch] = []
        for position, fields in batches:
            patch_base_offset(data, position, offset, leader_epoch)  # type: ignore[arg-type]
            if append_time_ms != NO_APPEND_TIME:
                set_log_append_time(data, position, append_time_ms)  # type: ignore[arg-type]
            placed.append((position, offset, fields))
            offset += fields[6] + 1
        if leader_epoch > self.leader_epochs.latest_epoch:
            self.begin_leader_epoch(leader_epoch)
        return self._write(data, placed, now_ms, append_time_ms)

    def append_as_follower(self, data: Buffer, *, now_ms: int) -> AppendResult:
        """Write batches as the leader numbered them; their offsets may have gaps, never step back."""
        batches: list[tuple[int, HeaderFields]] = []
        expected = self.log_end_offset
        position, end = 0, len(data)
        while position < end:
            fields = checked_header(data, position, end, self.config.segment_bytes)
            if fields[0] < expected:
                raise InvalidRecord(f"the leader sent offset {fields[0]} where {expected} or more was due")
            batches.append((position, fields))
            expected = fields[0] + fields[6] + 1
            position += fields[1] + LOG_OVERHEAD
        for _, fields in batches:
            if fields[2] > self.leader_epochs.latest_epoch:
                self.begin_leader_epoch(fields[2], fields[0])
        placed = [(position, fields[0], fields) for position, fields in batches]
        return self._write(data, placed, now_ms, NO_APPEND_TIME)

    def append_built(
        self, batch: bytearray | bytes, records_count: int, max_timestamp: int, now_ms: int
    ) -> int:
        """Write one batch that this process has just built with the right offsets; returns the first.

        The short way for `Log.append`: nothing from outside, so nothing to check.
        """
        size = len(batch)
        first_offset = self.log_end_offset
        last_offset = first_offset + records_count - 1
        self._make_ready(size, last_offset, max_timestamp, now_ms)
        self._write_to_active(batch, size)
        self._active.note_batch(size, last_offset, max_timestamp)
        self.log_end_offset = last_offset + 1
        return first_offset

    def _checked_batches(self, data: Buffer, first: HeaderFields) -> list[tuple[int, HeaderFields]]:
        batches = [(0, first)]
        position, end = first[1] + LOG_OVERHEAD, len(data)
        while position < end:
            fields = checked_header(data, position, end, self.config.max_message_bytes)
            batches.append((position, fields))
            position += fields[1] + LOG_OVERHEAD
        if end > self.config.segment_bytes:
            raise RecordTooLarge(end, self.config.segment_bytes)
        return batches

    def _check_producer(
        self, data: Buffer, position: int, fields: HeaderFields, origin: AppendOrigin
    ) -> AppendResult | None:
        header = BatchHeader(*fields)
        end = position + header.size
        first = check_producer(self.producer_states, header, lambda: bytes(data[position:end]), origin)
        if first is None:
            return None
        return AppendResult(
            first.first_offset, first.last_offset, NO_APPEND_TIME, self.log_start_offset, is_duplicate=True
        )

    def _check_from_client(self, fields: HeaderFields, now_ms: int) -> None:
        check_produced(fields)
        if not self.config.is_log_append_time:
            check_timestamp(fields[8], self.config, now_ms)

    def _write(
        self, data: Buffer, batches: list[PlacedBatch], now_ms: int, append_time_ms: int
    ) -> AppendResult:
        """Write checked and numbered batches in one piece, then let the state follow."""
        size = len(data)
        _, last_base_offset, last_fields = batches[-1]
        last_offset = last_base_offset + last_fields[6]
        max_timestamp = append_time_ms if append_time_ms != NO_APPEND_TIME else batches[0][2][8]
        self._make_ready(size, last_offset, max_timestamp, now_ms)
        self._write_to_active(data, size)
        active = self._active
        for position, base_offset, fields in batches:
            timestamp = append_time_ms if append_time_ms != NO_APPEND_TIME else fields[8]
            active.note_batch(fields[1] + LOG_OVERHEAD, base_offset + fields[6], timestamp)
            if fields[9] >= 0:
                self._update_producer(data, position)
        self.log_end_offset = last_offset + 1
        return AppendResult(batches[0][1], last_offset, append_time_ms, self.log_start_offset)

    def _update_producer(self, data: Buffer, position: int) -> None:
        header = parse_header(data, position)
        end = position + header.size
        active = self._active
        apply_batch(
            self.producer_states,
            header,
            lambda: bytes(data[position:end]),
            lambda: active.transaction_index,
        )

    def _make_ready(self, size: int, last_offset: int, max_timestamp: int, now_ms: int) -> None:
        """Roll when the active segment cannot or should not take the batches."""
        if self._offline is not None:
            raise self._offline
        if self._closed:
            raise LogClosed(str(self.directory))
        active = self._active
        if active.size == 0:
            self._start_roll_clock(max_timestamp, now_ms)
        elif (
            active.size + size > self.config.segment_bytes
            or (max_timestamp if self._roll_clock_is_record_time else now_ms) > self._roll_after_ms
            or not active.can_hold(last_offset)
            or active.is_index_full()
        ):
            self.roll(now_ms)
            self._start_roll_clock(max_timestamp, now_ms)

    def _start_roll_clock(self, first_timestamp: int, now_ms: int) -> None:
        """A segment's age counts from its first batch, in record time where records have times."""
        self._roll_clock_is_record_time = first_timestamp >= 0
        begun_ms = first_timestamp if first_timestamp >= 0 else now_ms
        jitter_ms = random.randint(0, self.config.segment_jitter_ms)
        self._roll_after_ms = begun_ms + self.config.segment_ms_max - jitter_ms

    def _resume_roll_clock(self) -> None:
        """After opening: the active segment's age counts from its first batch, as before."""
        first = next(self._active.batches(), None)
        if first is not None:
            self._start_roll_clock(first.max_timestamp, self._active.created_ms)

    def begin_leader_epoch(self, leader_epoch: int, start_offset: int | None = None) -> None:
        """Note, durably, that a new leader writes from here on."""
        start = self.log_end_offset if start_offset is None else start_offset
        if self.leader_epochs.assign(leader_epoch, start):
            self._save_leader_epochs()

    def _save_leader_epochs(self) -> None:
        self._epoch_checkpoint.write(self.leader_epochs)

    def _write_to_active(self, data: Buffer, size: int) -> None:
        try:
            self._active.write(data, size)
        except OSError as error:
            self._after_failed_write(error)
            try:
                self._active.write(data, size)
            except OSError as again:
                self._cut_torn_write()
                raise DiskFull(str(self.directory)) from again

    def _after_failed_write(self, error: OSError) -> None:
        """Undo the torn write. Returns when another try makes sense: room was made."""
        self._cut_torn_write()
        if error.errno not in FULL_DISK_ERRORS:
            raise self._go_offline(error) from error
        if self.make_room is None or not self.make_room():
            raise DiskFull(str(self.directory)) from error

    def _cut_torn_write(self) -> None:
        try:
            self._active.cut_torn_write()
        except OSError as error:
            raise self._go_offline(error) from error

    def _go_offline(self, error: BaseException) -> LogDirectoryOffline:
        if self._offline is None:
            self._offline = (
                error
                if isinstance(error, LogDirectoryOffline)
                else LogDirectoryOffline(str(self.directory), error)
            )
        return self._offline

    def roll(self, now_ms: int) -> None:
        """Begin a new active segment at the log end offset; an empty one is kept."""
        old = self._active
        if old.size == 0:
            return
        old.seal()
        self.take_producer_snapshot()
        segment = self._new_segment(self.log_end_offset, now_ms)
        try:
            segment.create()
        except OSError as error:
            if error.errno not in FULL_DISK_ERRORS:
                raise self._go_offline(error) from error
            raise DiskFull(str(self.directory)) from error
        self._put_active(segment)

    def _new_segment(self, base_offset: int, now_ms: int) -> Segment:
        return Segment(
            self._files,
            self.directory,
            base_offset,
            index_interval_bytes=self.config.index_interval_bytes,
            index_bytes_max=self.config.segment_index_bytes,
            created_ms=now_ms,
        )

    def _put_active(self, segment: Segment) -> None:
        self.segments.add(segment)
        self._active = segment
        self._directory_changed = True

    # -- flushing and visibility --------------------------------------------------------------------

    def begin_flush(self) -> FlushJob | None:
        """What has to reach the disk for all that is appended to be safe; None when all is."""
        if self._offline is not None:
            raise self._offline
        if self.recovery_point >= self.log_end_offset and not self._directory_changed:
            return None
        job = FlushJob(
            self.log_end_offset,
            self.segments.from_offset(self.recovery_point),
            self.directory,
            self._files,
            self._directory_changed,
        )
        self._directory_changed = False
        return job

    def complete_flush(self, job: FlushJob) -> None:
        """Take in that the job has run; a truncation meanwhile may have lowered the log's end."""
        self.recovery_point = max(self.recovery_point, min(job.offset, self.log_end_offset))
        recovery_segment = self.segments.floor(self.recovery_point).base_offset
        if recovery_segment != self._noted_recovery_segment:
            self._noted_recovery_segment = recovery_segment
            self.note_offset(OffsetKind.RECOVERY_POINT, self.recovery_point, False)

    def flush(self) -> None:
        """Begin, run and complete a flush in this thread."""
        job = self.begin_flush()
        if job is None:
            return
        try:
            job.run()
        except LogDirectoryOffline as error:
            raise self._go_offline(error) from error
        self.complete_flush(job)

    def fail(self, error: BaseException) -> None:
        """Take in that a job on another thread met a broken disk: no more writes, reads go on."""
        self._go_offline(error)

    def advance_high_watermark(self, offset: int) -> None:
        """Make offsets below this one visible; it never steps back, and never past the log's end."""
        if offset > self.high_watermark:
            self.high_watermark = min(offset, self.log_end_offset)
            self.producer_states.on_high_watermark_updated(self.high_watermark)

    # -- reading --------------------------------------------------------------------------------------

    def read(
        self,
        offset: int,
        bytes_max: int,
        *,
        upper_offset: int | None = None,
        at_least_one_batch: bool = True,
    ) -> FileRegion | None:
        """File region of the batches from the one that holds ``offset`` on; see `read_region`.

        ``upper_offset`` is the high watermark or the last stable offset for consumers, and by
        default the log's end. None when there is nothing there yet.
        """
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.log_end_offset)
        upper = self.log_end_offset if upper_offset is None else min(upper_offset, self.log_end_offset)
        if offset >= upper:
            return None
        return read_region(self.segments, offset, upper, bytes_max, at_least_one_batch=at_least_one_batch)

    def offset_for_timestamp(
        self, timestamp: int, upper_offset: int | None = None
    ) -> TimestampAndOffset | None:
        """The first record whose timestamp is at least this one."""
        upper = self.log_end_offset if upper_offset is None else upper_offset
        return find_timestamp(self.segments, timestamp, self.log_start_offset, upper)

    def offset_of_max_timestamp(self, upper_offset: int | None = None) -> TimestampAndOffset | None:
        """The first record that has the largest timestamp of all."""
        upper = self.log_end_offset if upper_offset is None else upper_offset
        return find_max_timestamp(self.segments, self.log_start_offset, upper)

    # -- what leaves the log at its old end -----------------------------------------------------------

    def delete_records_before(self, offset: int) -> None:
        """Raise the log start offset; segments that lie wholly below go at the next retention run."""
        if not 0 <= offset <= self.high_watermark:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.high_watermark)
        self._raise_log_start_offset(offset)

    def _raise_log_start_offset(self, offset: int) -> None:
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.note_offset(OffsetKind.LOG_START_OFFSET, offset, False)
        if self.leader_epochs.truncate_from_start(offset):
            self._save_leader_epochs()

    def delete_old_segments(self, now_ms: int) -> list[Path]:
        """Apply retention; returns the files, renamed, that may be removed after a delay."""
        if active_has_expired(self._view(self._active), self.config, now_ms=now_ms):
            self.roll(now_ms)
        count = segments_to_delete(
            [self._view(segment) for segment in self.segments],
            self.config,
            now_ms=now_ms,
            log_start_offset=self.log_start_offset,
            high_watermark=self.high_watermark,
        )
        return self._delete_oldest(count)

    def _view(self, segment: Segment) -> SegmentView:
        next_base_offset = self.segments.next_base_offset(segment)
        return SegmentView(
            base_offset=segment.base_offset,
            next_base_offset=self.log_end_offset if next_base_offset is None else next_base_offset,
            size=segment.size,
            max_timestamp=segment.max_timestamp,
            is_active=next_base_offset is None,
        )

    def _delete_oldest(self, count: int) -> list[Path]:
        doomed = self.segments.sealed[:count]
        renamed: list[Path] = []
        for segment in doomed:
            self.segments.replace([segment], [])
            renamed += segment.rename_to_deleted()
        if doomed:
            start = self.segments[0].base_offset
            self._raise_log_start_offset(start)
            self.snapshots.delete_before(start)
        return renamed

    def replace_segments(
        self, old: list[Segment], new: Segment, swapped: Callable[[], list[Path]]
    ) -> list[Path]:
        """Put a compacted segment in the place of those it was made from; ``swapped`` moves the files."""
        renamed = swapped()
        self.segments.replace(old, [new])
        self._directory_changed = True
        return renamed

    # -- what leaves the log at its new end -----------------------------------------------------------

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Cut everything from ``offset`` on, whole batches; says whether there was anything to cut.

        A batch that ``offset`` lies inside of goes whole: it is what a replica must fetch again.
        """
        if offset >= self.log_end_offset:
            return False
        if offset <= self.segments[0].base_offset:
            self.truncate_fully_and_start_at(max(offset, 0), now_ms)
            return True
        self._lower_recovery_point(offset)
        keeper = self.segments.floor(offset)
        doomed = [segment for segment in self.segments if segment.base_offset > keeper.base_offset]
        for segment in reversed(doomed):
            self._remove_files(segment.rename_to_deleted())
        self.segments.replace(doomed, [])
        batch = keeper.find(offset)
        keeper.activate()
        if batch is not None:
            keeper.truncate(batch.position, batch.base_offset)
        self._active = keeper
        self._after_truncation(offset if batch is None else min(offset, batch.base_offset), now_ms)
        return True

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Empty the log; the next append gets ``offset``."""
        self._lower_recovery_point(offset)
        for segment in reversed(list(self.segments)):
            self._remove_files(segment.rename_to_deleted())
        segment = self._new_segment(offset, now_ms)
        segment.create()
        self.segments.replace(list(self.segments), [segment])
        self._active = segment
        self.log_start_offset = offset
        self.high_watermark = offset
        self.leader_epochs.clear()
        self._save_leader_epochs()
        self.snapshots.delete_all()
        self.producer_states.truncate_fully_and_start_at(offset)
        self.log_end_offset = self.recovery_point = offset
        self._directory_changed = True

    def _lower_recovery_point(self, offset: int) -> None:
        """What is written behind a cut has not reached the disk; a restart must know before the cut."""
        if offset < self.recovery_point:
            self.recovery_point = offset
            self.note_offset(OffsetKind.RECOVERY_POINT, offset, True)

    def _after_truncation(self, end_offset: int, now_ms: int) -> None:
        self.log_end_offset = end_offset
        self.recovery_point = min(self.recovery_point, end_offset)
        self.high_watermark = min(self.high_watermark, end_offset)
        self.log_start_offset = min(self.log_start_offset, end_offset)
        self._directory_changed = True
        if self.leader_epochs.truncate_from_end(end_offset):
            self._save_leader_epochs()
        self.snapshots.delete_from(end_offset + 1)
        self._active.transaction_index.truncate_to(end_offset)
        replay_producers(
            self.producer_states,
            self.segments,
            self.snapshots,
            log_end_offset=end_offset,
            rebuild_transaction_indexes_from=None,
            now_ms=now_ms,
        )
        self.producer_states.on_high_watermark_updated(self.high_watermark)

    def _remove_files(self, paths: list[Path]) -> None:
        for path in paths:
            self._files.unlink(path)

    # -- the end ----------------------------------------------------------------------------------------

    def take_producer_snapshot(self) -> None:
        """Note the state of all producers as of the log's end: a restart reads no further back."""
        self.producer_states.map_end_offset = self.log_end_offset
        if self.producer_states.snapshot_is_due:
            self.snapshots.write(self.log_end_offset, self.producer_states.entries())
            self.producer_states.last_snapshot_offset = self.log_end_offset

    def close(self) -> None:
        """Flush everything, leave a snapshot and whole indexes. Without this the next start recovers."""
        if self._closed:
            return
        self._closed = True
        try:
            if self._offline is None:
                self.flush()
                self.take_producer_snapshot()
                self._active.seal()
                self._active.sync_indexes()
                self._files.fsync_directory(self.directory)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let go of all files as they are, as a crash would."""
        self._closed = True
        for segment in self.segments:
            segment.close()
