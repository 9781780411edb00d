"""Pushing what was appended to the disk, away from the thread that owns the log [io].

The owner of a log notes what is due (`PartitionLog.begin_flush`), any thread may do the waiting
(`FlushJob.run`), and the owner takes the result in (`PartitionLog.complete_flush`). So a broker's
event loop never waits for a disk, and many appends that came in meanwhile share the next fsync.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from distributedlog.log.errors import DiskFull, LogDirectoryOffline
from distributedlog.log.files import FULL_DISK_ERRORS, Files
from distributedlog.log.segment import Segment
from distributedlog.log.snapshot_files import SnapshotFiles

if TYPE_CHECKING:
    from distributedlog.log.partition_log import PartitionLog


@dataclass(slots=True)
class FlushJob:
    """Everything below ``offset`` is on the disk once `run` has returned."""

    offset: int
    segments: list[Segment]
    directory: Path
    files: Files
    directory_changed: bool
    snapshots: SnapshotFiles
    #: How often the log had been cut when the job was made: what was synced may since have been replaced.
    cuts: int = 0

    def run(self) -> None:
        """Wait for the disk. A failed fsync is final: the page may be marked clean and yet be lost."""
        try:
            for segment in self.segments:
                segment.sync_log()
            self._sync_indexes()
            if self.directory_changed:
                for segment in self.segments:
                    self.snapshots.sync(segment.base_offset)
                self.files.fsync_directory(self.directory)
        except OSError as error:
            raise LogDirectoryOffline(str(self.directory), error) from error

    def _sync_indexes(self) -> None:
        """Of sealed segments: recovery will not look at them again. What a full disk had kept out of a
        transaction index is written now, or the flush must wait for room."""
        try:
            for segment in self.segments[:-1]:
                segment.sync_indexes()
        except OSError as error:
            if error.errno in FULL_DISK_ERRORS:
                raise DiskFull(str(self.directory)) from error
            raise


def begin_flush(log: "PartitionLog") -> FlushJob | None:
    """See `PartitionLog.begin_flush`."""
    log.writer.check_writable()
    log.directory_unsynced |= log.writer.directory_changed
    log.writer.directory_changed = False
    if log.recovery_point >= log.log_end_offset and not log.directory_unsynced:
        return None
    return FlushJob(
        log.log_end_offset,
        # A segment that ends at the recovery point may have been sealed since: its indexes are due.
        log.segments.from_offset(max(log.recovery_point - 1, 0)),
        log.directory,
        log.files,
        log.directory_unsynced,
        log.snapshots,
        log.cuts,
    )


def complete_flush(log: "PartitionLog", job: FlushJob) -> None:
    """It says nothing about offsets when the log was cut meanwhile: they may have been given to other
    records, which the job did not see."""
    log.directory_unsynced = False
    if job.cuts != log.cuts:
        return
    log.recovery_point = max(log.recovery_point, min(job.offset, log.log_end_offset))
    recovery_segment = log.segments.floor(max(log.recovery_point - 1, 0)).base_offset
    if recovery_segment != log.noted_recovery_segment:
        log.note_recovery_point(durably=False)
