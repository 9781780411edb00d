"""Pushing what was appended to the disk, away from the thread that owns the log [io].

The owner of a log notes what is due (`PartitionLog.begin_flush`), any thread may do the waiting
(`FlushJob.run`), and the owner takes the result in (`PartitionLog.complete_flush`). So a broker's
event loop never waits for a disk, and many appends that came in meanwhile share the next fsync.
"""

from dataclasses import dataclass
from pathlib import Path

from distributedlog.log.errors import DiskFull, LogDirectoryOffline
from distributedlog.log.files import FULL_DISK_ERRORS, Files
from distributedlog.log.segment import Segment
from distributedlog.log.snapshot_files import SnapshotFiles


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
