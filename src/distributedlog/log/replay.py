"""Rebuilding the producer state of a log from its youngest snapshot and the batches behind it [io]."""

from collections.abc import Iterator

from distributedlog.log.batch_scan import BatchAt
from distributedlog.log.producer_state import ProducerStateManager
from distributedlog.log.producer_updates import apply_batch
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.log.snapshot_files import SnapshotFiles
from distributedlog.records import LOG_OVERHEAD, BatchHeader
from distributedlog.records.header import CONTROL_BIT


def replay_producers(
    states: ProducerStateManager,
    segments: SegmentList,
    snapshots: SnapshotFiles,
    *,
    log_end_offset: int,
    rebuild_transaction_indexes_from: int | None,
    now_ms: int,
) -> None:
    """Bring the state to the log's end. Only headers are read, and the bodies of control batches.

    Recovery names the first segment that it read anew: from there on the transaction indexes are
    not to be trusted and are written again, which needs the state as of that segment's beginning. So
    a snapshot is left at the beginning of every later one: retention may soon make it the first.
    """
    rebuilt = log_end_offset if rebuild_transaction_indexes_from is None else rebuild_transaction_indexes_from
    for segment in segments:
        if segment.base_offset >= rebuilt:
            segment.transaction_index.reset()
    offset, entries = snapshots.latest(rebuilt) or (segments[0].base_offset, [])
    states.reload(entries, offset, now_ms)
    for segment in segments.from_offset(offset) if offset < log_end_offset else ():
        if segment.base_offset > offset and rebuild_transaction_indexes_from is not None:
            snapshots.write(segment.base_offset, states.entries())
            states.last_snapshot_offset = segment.base_offset
        for batch in _produced_batches_from(segment, offset):
            _replay_batch(states, segment, batch, note_aborted=segment.base_offset >= rebuilt)
    states.map_end_offset = log_end_offset


def _produced_batches_from(segment: Segment, offset: int) -> Iterator[BatchAt]:
    for batch in segment.batches(segment.index_position(offset)):
        if batch.base_offset >= offset and batch.producer_id >= 0:
            yield batch


def _replay_batch(
    states: ProducerStateManager, segment: Segment, batch: BatchAt, *, note_aborted: bool
) -> None:
    if batch.records_count == 0 and batch.attributes & CONTROL_BIT:
        return  # compaction left the shell of a marker; one of records still tells the last sequence
    header = BatchHeader(
        base_offset=batch.base_offset,
        batch_length=batch.size - LOG_OVERHEAD,
        partition_leader_epoch=batch.leader_epoch,
        magic=2,
        crc=0,
        attributes=batch.attributes,
        last_offset_delta=batch.last_offset - batch.base_offset,
        base_timestamp=batch.max_timestamp,
        max_timestamp=batch.max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        records_count=batch.records_count,
    )
    apply_batch(
        states,
        header,
        lambda: segment.region(batch.position, batch.size).read(),
        (lambda: segment.transaction_index) if note_aborted else None,
    )
