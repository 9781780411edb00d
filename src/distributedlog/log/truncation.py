"""Cutting a log at its new end: what a replica does that has followed the wrong leader [io]."""

from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.partition_log import PartitionLog
from distributedlog.log.replay import replay_producers
from distributedlog.log.segment import Segment
from distributedlog.log.segment_files import rename_to_deleted


def truncate_to(log: PartitionLog, offset: int, now_ms: int) -> bool:
    """Cut everything from ``offset`` on, whole batches; says whether there was anything to cut.

    A batch that ``offset`` lies inside of goes whole: it is what a replica must fetch again. The log
    then ends behind its last batch, also where compaction has left a gap before ``offset``: a restart
    would find no other end.
    """
    if offset >= log.log_end_offset:
        return False
    if offset < log.segments[0].base_offset:
        truncate_fully_and_start_at(log, max(offset, 0), now_ms)
        return True
    keeper = log.segments.floor(offset)
    keeper_batch = keeper.find(offset)
    offset = _end_before(keeper, offset)
    log.lower_recovery_point(offset)
    doomed = [segment for segment in log.segments if segment.base_offset > keeper.base_offset]
    for segment in reversed(doomed):
        log.remove_files(rename_to_deleted(log.files, log.directory, segment.base_offset))
    log.segments.replace(doomed, [])
    keeper.activate()
    if keeper_batch is not None:
        keeper.truncate(keeper_batch.position, offset)
    log.sync_cut(keeper)
    log.writer.resume(keeper)
    _set_end(log, offset)
    if log.leader_epochs.truncate_from_end(offset):
        log.save_leader_epochs()
    log.snapshots.delete_from(offset + 1)
    keeper.transaction_index.truncate_to(offset)
    replay_producers(
        log.producer_states,
        log.segments,
        log.snapshots,
        log_end_offset=offset,
        rebuild_transaction_indexes_from=None,
        now_ms=now_ms,
    )
    log.producer_states.on_high_watermark_updated(log.high_watermark)
    return True


def _end_before(segment: Segment, offset: int) -> int:
    """Where the last batch of the segment ends that lies wholly below ``offset``."""
    end_offset = segment.base_offset
    for batch in segment.batches(segment.index_position(offset - 1)):
        if batch.last_offset >= offset:
            break
        end_offset = batch.last_offset + 1
    return end_offset


def truncate_fully_and_start_at(log: PartitionLog, offset: int, now_ms: int) -> None:
    """Empty the log; the next append gets ``offset``."""
    log.lower_recovery_point(min(offset, log.segments[0].base_offset))
    old = list(log.segments)
    for segment in reversed(old):
        log.remove_files(rename_to_deleted(log.files, log.directory, segment.base_offset))
    log.segments.replace(old, [])
    log.writer.begin(offset, now_ms)
    log.sync_cut(log.writer.active)
    _set_start(log, offset)
    _set_end(log, offset)
    log.recovery_point = log.high_watermark = offset
    log.leader_epochs.clear()
    log.save_leader_epochs()
    log.snapshots.delete_all()
    log.producer_states.truncate_fully_and_start_at(offset)


def _set_start(log: PartitionLog, start_offset: int) -> None:
    """A start that steps back must be known, or a restart would hide what is appended from here on."""
    if start_offset < log.log_start_offset:
        log.note_offset(OffsetKind.LOG_START_OFFSET, start_offset, True)
    log.log_start_offset = start_offset


def _set_end(log: PartitionLog, end_offset: int) -> None:
    log.cuts += 1
    log.log_end_offset = end_offset
    log.recovery_point = min(log.recovery_point, end_offset)
    log.high_watermark = min(log.high_watermark, end_offset)
    _set_start(log, min(log.log_start_offset, end_offset))
    _forget_compaction_above(log, end_offset)
    log.writer.directory_changed = True


def _forget_compaction_above(log: PartitionLog, end_offset: int) -> None:
    """What comes in the place of compacted records is dirty, and has no gaps."""
    if end_offset < log.first_dirty_offset:
        log.first_dirty_offset = end_offset
        log.note_offset(OffsetKind.FIRST_DIRTY_OFFSET, end_offset, False)
        log.note_offset(OffsetKind.COMPACTED_TO, end_offset, False)
