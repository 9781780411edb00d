"""One partition's log: appends, reads, and what is cut from its two ends [io].

A `PartitionLog` belongs to one thread (the broker's event loop, or whoever holds the lock of an
embedded `Log`); nothing in it locks. Two kinds of work are handed to other threads as jobs that
touch only files: flushing (`begin_flush`) and compaction (`log/cleaner.py`).

Offsets, from the past to the future:

    log_start_offset <= last_stable_offset <= high_watermark <= log_end_offset
    recovery_point   <= log_end_offset          (everything below is known to be on the disk)
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from distributedlog.log.aborted_reading import find_aborted, find_aborted_in_region
from distributedlog.log.append_checks import (
    check_from_client,
    checked_batches,
    checked_replica_batches,
)
from distributedlog.log.appending import (
    NO_APPEND_TIME,
    AppendResult,
    PlacedBatch,
    find_duplicate,
    write_placed,
)
from distributedlog.log.cleaner import CompactionJob
from distributedlog.log.compaction_steps import begin_compaction, complete_compaction
from distributedlog.log.config import LogConfig
from distributedlog.log.deletion import delete_old_segments
from distributedlog.log.errors import DiskFull, LogClosed, LogDirectoryOffline, OffsetOutOfRange
from distributedlog.log.files import Buffer, FileRegion, Files
from distributedlog.log.flush import FlushJob, begin_flush, complete_flush
from distributedlog.log.leader_epochs import (
    LEADER_EPOCH_CHECKPOINT,
    LeaderEpochCheckpoint,
    LeaderEpochFileCache,
)
from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.producer_checks import AppendOrigin
from distributedlog.log.producer_state import ProducerStateManager
from distributedlog.log.reading import (
    TimestampAndOffset,
    find_max_timestamp,
    find_timestamp,
    read_region,
)
from distributedlog.log.retention import SegmentView
from distributedlog.log.segment import Segment
from distributedlog.log.segment_writer import SegmentWriter
from distributedlog.log.segments import SegmentList
from distributedlog.log.snapshot_files import SnapshotFiles
from distributedlog.log.transaction_index import AbortedTransaction
from distributedlog.log.transaction_verification import VerificationGuard
from distributedlog.records import patch_base_offset, set_log_append_time


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
        #: Up to here the log was compacted.
        self.first_dirty_offset = 0
        #: Told when the recovery point or the log start offset moved: (kind, offset, before it may go on).
        self.note_offset: Callable[[OffsetKind, int, bool], None] = lambda *_: None
        self.noted_recovery_segment = segments.floor(recovery_point).base_offset
        self.writer = SegmentWriter(files, directory, config, segments, self.take_producer_snapshot)
        self.writer.directory_changed = directory_changed
        #: Stays true until a flush has come to its end, whatever interrupts it.
        self.directory_unsynced = False
        #: How often the log was truncated.
        self.cuts = 0
        self.files = files
        self._epoch_checkpoint = LeaderEpochCheckpoint(files, directory / LEADER_EPOCH_CHECKPOINT)
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
        return max(min(first_unstable_offset, self.high_watermark), self.log_start_offset)

    # -- appending --------------------------------------------------------------------------------

    def append(
        self,
        data: Buffer,
        *,
        leader_epoch: int = 0,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Give the batches offsets and write them, all or none.

        ``data`` holds whole batches; a writable buffer is patched in place. ``guard`` lets a transaction
        begin here where that takes verification; ``transaction_version`` is that of a marker. Raises what the
        producer is to blame for (`CorruptBatchError`, `RecordTooLarge`, `InvalidRecord`, the
        producer errors) or what the disk is (`DiskFull`, `LogDirectoryOffline`); in either case
        the log is as it was before.
        """
        batches = checked_batches(data, self.config)
        from_client = origin is AppendOrigin.CLIENT
        for position, fields in batches:
            if from_client:
                check_from_client(fields, self.config, now_ms)
            if fields[9] >= 0:
                duplicate = find_duplicate(self, data, position, fields, origin, guard, transaction_version)
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
        return write_placed(self, data, placed, now_ms, append_time_ms)

    def append_as_follower(self, data: Buffer, *, now_ms: int) -> AppendResult:
        """Write batches as the leader numbered them; their offsets may have gaps, never step back."""
        batches = checked_replica_batches(data, self.config, self.log_end_offset)
        for _, fields in batches:
            if fields[2] > self.leader_epochs.latest_epoch:
                self.begin_leader_epoch(fields[2], fields[0])
        placed = [(position, fields[0], fields) for position, fields in batches]
        return write_placed(self, data, placed, now_ms, NO_APPEND_TIME)

    def append_built(
        self, batch: bytearray | bytes, records_count: int, max_timestamp: int, now_ms: int
    ) -> int:
        """Write one batch that this process has just built with the right offsets; returns the first.

        The short way for `Log.append`: nothing from outside, so nothing to check.
        """
        size = len(batch)
        first_offset = self.log_end_offset
        last_offset = first_offset + records_count - 1
        self.writer.prepare(size, last_offset, max_timestamp, now_ms, first_offset)
        self.writer.write(batch, size)
        # In this order: an interrupt (Ctrl-C) between the two costs an offset, never gives one twice.
        self.log_end_offset = last_offset + 1
        self.writer.active.note_batch(size, last_offset, max_timestamp)
        return first_offset

    def begin_leader_epoch(self, leader_epoch: int, start_offset: int | None = None) -> None:
        """Note, durably, that a new leader writes from here on."""
        start = self.log_end_offset if start_offset is None else start_offset
        before = self.leader_epochs.entries
        if self.leader_epochs.assign(leader_epoch, start):
            try:
                self.save_leader_epochs()
            except DiskFull:
                self.leader_epochs = LeaderEpochFileCache(before)
                raise

    def save_leader_epochs(self) -> None:
        try:
            self._epoch_checkpoint.write(self.leader_epochs)
        except OSError as error:
            raise self.writer.translate(error) from error

    def roll(self, now_ms: int) -> None:
        """Begin a new active segment now, whatever the size and age of this one."""
        self.writer.check_writable()
        self.writer.roll(self.log_end_offset, now_ms)

    # -- flushing and visibility --------------------------------------------------------------------

    def begin_flush(self) -> FlushJob | None:
        """What has to reach the disk for all that is appended to be safe; None when all is."""
        return begin_flush(self)

    def complete_flush(self, job: FlushJob) -> None:
        """Take in that the job has run."""
        complete_flush(self, job)

    def note_recovery_point(self, *, durably: bool) -> None:
        self.noted_recovery_segment = self.segments.floor(max(self.recovery_point - 1, 0)).base_offset
        self.note_offset(OffsetKind.RECOVERY_POINT, self.recovery_point, durably)

    def flush(self) -> None:
        """Begin, run and complete a flush in this thread."""
        job = self.begin_flush()
        if job is None:
            return
        try:
            job.run()
        except LogDirectoryOffline as error:
            raise self.writer.go_offline(error) from error
        self.complete_flush(job)

    def fail(self, error: BaseException) -> None:
        """Take in that a job on another thread met a broken disk: no more writes, reads go on."""
        self.writer.go_offline(error)

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

    def aborted_transactions(self, offset: int, upper_offset: int) -> list[AbortedTransaction]:
        """Those that touch the offsets between the two: readers of committed records leave them out."""
        return find_aborted(self.segments, offset, upper_offset)

    def aborted_transactions_in(self, region: FileRegion, offset: int) -> list[AbortedTransaction]:
        """Those that reach into what a reader of committed records from ``offset`` on gets."""
        return find_aborted_in_region(self.segments, offset, self.last_stable_offset, region)

    # -- what leaves the log at its old end -----------------------------------------------------------

    def delete_records_before(self, offset: int) -> None:
        """Raise the log start offset; segments that lie wholly below go at the next retention run."""
        if not 0 <= offset <= self.high_watermark:
            raise OffsetOutOfRange(offset, self.log_start_offset, self.high_watermark)
        self.raise_log_start_offset(offset)

    def raise_log_start_offset(self, offset: int) -> None:
        """Records below are gone for readers; it never steps back."""
        if offset <= self.log_start_offset:
            return
        self.log_start_offset = offset
        self.note_offset(OffsetKind.LOG_START_OFFSET, offset, False)
        self.producer_states.on_high_watermark_updated(offset)
        if self.leader_epochs.truncate_from_start(offset):
            with suppress(DiskFull):
                # Opening the log does it again, and deleting must not need room.
                self.save_leader_epochs()

    def view(self, segment: Segment) -> SegmentView:
        """What the pure decisions (retention, compaction) need to know of a segment."""
        next_base_offset = self.segments.next_base_offset(segment)
        return SegmentView(
            base_offset=segment.base_offset,
            next_base_offset=self.log_end_offset if next_base_offset is None else next_base_offset,
            size=segment.size,
            max_timestamp=segment.max_timestamp,
            is_active=next_base_offset is None,
            last_modified_ms=segment.last_modified_ms(),
        )

    def delete_old_segments(self, now_ms: int, *, roll_expired: bool = True) -> list[Path]:
        """Apply retention; returns the files, renamed, that may be removed after a delay."""
        return delete_old_segments(self, now_ms, roll_expired=roll_expired)

    @property
    def has_unsynced_names(self) -> bool:
        """Files appeared or went, and a loss of power may undo that."""
        return self.writer.directory_changed or self.directory_unsynced

    # -- compaction -----------------------------------------------------------------------------------

    def begin_compaction(self, now_ms: int, *, even_if_little: bool = False) -> CompactionJob | None:
        """What a compaction has to do; None when it is not worth it, or there is nothing to do."""
        return begin_compaction(self, now_ms, even_if_little=even_if_little)

    def complete_compaction(self, job: CompactionJob) -> list[Path]:
        """Swap the compacted segments in; returns the files that may be removed after a delay."""
        return complete_compaction(self, job)

    # -- what leaves the log at its new end -----------------------------------------------------------

    def lower_recovery_point(self, offset: int) -> None:
        """What is written behind a cut has not reached the disk; a restart must know before the cut."""
        if offset < self.recovery_point:
            self.recovery_point = offset
            self.noted_recovery_segment = self.segments.floor(offset).base_offset
            self.note_offset(OffsetKind.RECOVERY_POINT, offset, True)

    def sync_cut(self, keeper: Segment) -> None:
        """What was cut off must not come back beside records that are appended now and take its offsets."""
        try:
            keeper.sync_log()
        except OSError as error:
            raise self.writer.go_offline(error) from error
        self.sync_directory()

    def sync_directory(self) -> None:
        try:
            self.files.fsync_directory(self.directory)
        except OSError as error:
            raise self.writer.go_offline(error) from error

    def remove_files(self, paths: list[Path]) -> None:
        for path in paths:
            self.files.unlink(path)

    # -- the end ----------------------------------------------------------------------------------------

    def take_producer_snapshot(self, offset: int) -> None:
        """Note the state of all producers as of the log's end, or, where a gap follows, of the next
        segment's beginning: a restart reads no further back."""
        self.producer_states.map_end_offset = offset
        if self.producer_states.snapshot_is_due:
            self.snapshots.write(offset, self.producer_states.entries())
            self.producer_states.last_snapshot_offset = offset

    def close(self) -> None:
        """Flush everything, leave a snapshot and whole indexes. Without this the next start recovers."""
        if self._closed:
            return
        self._closed = True
        try:
            if self.writer.offline is None:
                self.flush()
                self.take_producer_snapshot(self.log_end_offset)
                self.snapshots.sync(self.log_end_offset)
                self.writer.active.seal()
                self.writer.active.sync_indexes()
                self.files.fsync_directory(self.directory)
        except OSError as error:
            raise self.writer.translate(error) from error
        finally:
            self.abandon()

    def abandon(self, reason: LogClosed | None = None) -> None:
        """Let go of all files as they are, as a crash would."""
        self._closed = True
        self.writer.close(reason)
        for segment in self.segments:
            segment.close()
