"""Retention at work: taking the oldest segments out of a log [io]; `retention.py` decides which."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from distributedlog.log.errors import DiskFull
from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.retention import active_has_expired, segments_to_delete
from distributedlog.log.segment_files import rename_to_deleted

if TYPE_CHECKING:
    from distributedlog.log.partition_log import PartitionLog


def delete_old_segments(log: "PartitionLog", now_ms: int, *, roll_expired: bool) -> list[Path]:
    """See `PartitionLog.delete_old_segments`."""
    if roll_expired and active_has_expired(log.view(log.writer.active), log.config, now_ms=now_ms):
        log.roll(now_ms)
    count = segments_to_delete(
        [log.view(segment) for segment in log.segments],
        log.config,
        now_ms=now_ms,
        log_start_offset=log.log_start_offset,
        high_watermark=log.high_watermark,
    )
    return _delete_oldest(log, count)


def _delete_oldest(log: "PartitionLog", count: int) -> list[Path]:
    doomed = log.segments.sealed[:count]
    if not doomed:
        return []
    if log.writer.directory_changed:
        # The log's end must not be lost with the segment that begins there when these are gone.
        log.sync_directory()
    start = log.segments[count].base_offset
    with suppress(DiskFull):
        # A loss of power may bring some of the files back and not others: opening the log must know. On a
        # full disk what makes room goes first.
        log.note_offset(OffsetKind.LOG_START_OFFSET, max(start, log.log_start_offset), True)
    renamed: list[Path] = []
    for segment in doomed:
        log.segments.replace([segment], [])
        renamed += rename_to_deleted(log.files, log.directory, segment.base_offset)
    log.raise_log_start_offset(start)
    log.snapshots.delete_before(start)
    log.writer.directory_changed = True
    return renamed
