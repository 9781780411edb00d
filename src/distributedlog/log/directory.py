"""A data directory: the logs of many partitions, their checkpoints, one lock [io].

<directory>/
  .lock  meta.properties  .kafka_cleanshutdown (only while cleanly closed)
  recovery-point-offset-checkpoint  log-start-offset-checkpoint  replication-offset-checkpoint
  cleaner-offset-checkpoint  offsets.journal
  <topic>-<partition>/   one `PartitionLog`
"""

import errno
import os
import re
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from distributedlog.log.checkpoints import (
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from distributedlog.log.config import LogConfig
from distributedlog.log.directory_lock import DirectoryLock
from distributedlog.log.errors import (
    CorruptLog,
    DirectoryNotWritable,
    DiskFull,
    LogClosed,
    LogDirectoryOffline,
    LogError,
    LogOfParentProcess,
)
from distributedlog.log.files import FULL_DISK_ERRORS, REAL_FILES, Files
from distributedlog.log.forking import hold
from distributedlog.log.loading import RecoveryReport, open_partition_log
from distributedlog.log.offset_journal import OffsetJournal, OffsetKind
from distributedlog.log.partition_log import PartitionLog
from distributedlog.log.partition_metadata import (
    META_PROPERTIES,
    PARTITION_METADATA,
    MetaProperties,
    MetaPropertiesFile,
    PartitionMetadata,
    format_id,
)
from distributedlog.log.topic_names import check_topic_name

CLEAN_SHUTDOWN_NAME: Final = ".kafka_cleanshutdown"
CLEAN_SHUTDOWN_CONTENT: Final = b'{"version":0,"brokerEpoch":-1}'
FILE_NAME_LENGTH_MAX: Final = 255
_PARTITION_DIRECTORY: Final = re.compile(r"(.+)-(\d+)")
DELETED_DIRECTORY_SUFFIX: Final = "-delete"
_DELETED_DIRECTORY: Final = re.compile(r".+\.[0-9a-f]{32}-delete")

TopicPartition = tuple[str, int]


def wall_clock_ms() -> int:
    """Now, in the unit of Kafka's timestamps."""
    return time.time_ns() // 1_000_000


class LogDirectory:
    """Open with `LogDirectory(path)`; the logs found there are opened with `open_all` or one by one.

    ``config_for`` gives the topic configuration of a partition that is found on disk.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        files: Files = REAL_FILES,
        clock_ms: Callable[[], int] = wall_clock_ms,
        node_id: int = 1,
    ) -> None:
        self.path = Path(path)
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.reports: dict[TopicPartition, RecoveryReport] = {}
        self.files = files
        self._clock_ms = clock_ms
        self._topic_ids: dict[TopicPartition, bytes] = {}
        self._closed = False
        files.mkdir(self.path)
        self._lock = DirectoryLock(self.path)
        try:
            self.meta = self._read_or_make_meta(node_id)
            self._recovery_points = self._read_checkpoint(RECOVERY_POINT_CHECKPOINT)
            self._log_start_offsets = self._read_checkpoint(LOG_START_OFFSET_CHECKPOINT)
            self._clean_offsets = self._read_checkpoint(CLEANER_CHECKPOINT)
            #: Whom the checkpoint files speak of as they are on the disk.
            self._checkpointed = {*self._recovery_points, *self._log_start_offsets, *self._clean_offsets}
            self._journal = OffsetJournal(files, self.path)
            self._changes = self._journal.latest()
            self._remove_deleted_directories()
            self.was_clean = self._take_clean_shutdown_marker()
            if not self.was_clean:
                self._sync_names()
        except OSError as error:
            self._lock.release()
            raise _error_for(self.path, error) from error
        except BaseException:
            self._lock.release()
            raise
        hold(self)

    def __repr__(self) -> str:
        return f"LogDirectory({str(self.path)!r}, {len(self.logs)} logs)"

    # -- opening ----------------------------------------------------------------------------------------

    def _read_or_make_meta(self, node_id: int) -> MetaProperties:
        file = MetaPropertiesFile(self.files, self.path / META_PROPERTIES)
        meta = file.read()
        if meta is None:
            meta = MetaProperties(format_id(uuid.uuid4()), node_id, uuid.uuid4())
            file.write(meta)
        return meta

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        """A damaged checkpoint is as good as none: the log is read from its start instead."""
        try:
            return OffsetCheckpoint(self.files, self.path / name).read()
        except CorruptLog:
            return {}

    def _take_clean_shutdown_marker(self) -> bool:
        """Whether the last writer closed cleanly. The marker is gone for good before anything is written."""
        marker = self.path / CLEAN_SHUTDOWN_NAME
        if not marker.exists():
            return False
        self.files.unlink(marker)
        self.files.fsync_directory(self.path)
        return True

    def _sync_names(self) -> None:
        """Make sure that the directory itself is on the disk, and what a writer who died made in it."""
        self.files.fsync_directory(self.path)
        for parent in self.path.absolute().parents:
            with suppress(OSError):
                # Above what is ours there may be directories that we are not allowed to look into.
                self.files.fsync_directory(parent)

    def partitions_on_disk(self) -> list[TopicPartition]:
        """Every partition that has a directory here."""
        found = []
        for entry in os.scandir(self.path):
            match = _PARTITION_DIRECTORY.fullmatch(entry.name)
            if match and entry.is_dir() and not _DELETED_DIRECTORY.fullmatch(entry.name):
                found.append((match[1], int(match[2])))
        return sorted(found)

    def open_log(
        self,
        topic: str,
        partition: int,
        config: LogConfig,
        *,
        topic_id: uuid.UUID | None = None,
        cut_damage: bool = False,
    ) -> PartitionLog:
        """Open a partition's log, made if it is not there."""
        if self._closed:
            raise LogClosed(str(self.path))
        key = (topic, partition)
        if key in self.logs:
            return self.logs[key]
        check_topic_name(topic)
        directory = self.path / f"{topic}-{partition}"
        try:
            return self._open_log(key, directory, config, topic_id, cut_damage=cut_damage)
        except OSError as error:
            raise _error_for(directory, error) from error

    def _open_log(
        self,
        key: TopicPartition,
        directory: Path,
        config: LogConfig,
        topic_id: uuid.UUID | None,
        *,
        cut_damage: bool,
    ) -> PartitionLog:
        existed = directory.exists()
        if not existed:
            self.forget_offsets(*key)
            self.files.mkdir(directory)
            self.files.fsync_directory(self.path)
        metadata = PartitionMetadata(self.files, directory / PARTITION_METADATA)
        found_id = metadata.read()
        if found_id is None or topic_id is not None:
            found_id = topic_id or uuid.uuid4()
            metadata.claim(found_id)
        id_bytes = found_id.bytes
        first_dirty_offset = self._known_offset(
            id_bytes, key, OffsetKind.FIRST_DIRTY_OFFSET, self._clean_offsets
        )
        log, report = open_partition_log(
            self.files,
            directory,
            config,
            was_clean=self.was_clean or not existed,
            now_ms=self._clock_ms(),
            recovery_point=self._known_offset(
                id_bytes, key, OffsetKind.RECOVERY_POINT, self._recovery_points
            ),
            log_start_offset=self._known_offset(
                id_bytes, key, OffsetKind.LOG_START_OFFSET, self._log_start_offsets
            ),
            clean_offset=max(
                self._known_offset(id_bytes, key, OffsetKind.COMPACTED_TO, self._clean_offsets),
                first_dirty_offset,
            ),
            cut_damage=cut_damage,
        )
        log.first_dirty_offset = min(first_dirty_offset, log.log_end_offset)
        log.note_offset = lambda kind, offset, durably: self._note_offset(key, kind, offset, durably)
        self.logs[key] = log
        self.reports[key] = report
        self._topic_ids[key] = id_bytes
        self._correct_offsets(key, log)
        return log

    def forget_offsets(self, topic: str, partition: int) -> None:
        """A new log of an old name must not begin with what the checkpoints say of the old one. Whoever
        makes its directory calls this before."""
        if (topic, partition) in self._checkpointed:
            for checkpoint in (self._recovery_points, self._log_start_offsets, self._clean_offsets):
                checkpoint.pop((topic, partition), None)
            self.write_checkpoints()

    def _correct_offsets(self, key: TopicPartition, log: PartitionLog) -> None:
        """What was noted may lie beyond what a crash or a repair has left of the log. It must not come
        true later, when new records have taken these offsets."""
        for kind, checkpoint, offset in (
            (OffsetKind.RECOVERY_POINT, self._recovery_points, log.recovery_point),
            (OffsetKind.LOG_START_OFFSET, self._log_start_offsets, log.log_start_offset),
        ):
            if self._known_offset(self._topic_ids[key], key, kind, checkpoint) > offset:
                self._note_offset(key, kind, offset, durably=True)

    def open_all(self, config_for: Callable[[str, int], LogConfig]) -> dict[TopicPartition, PartitionLog]:
        """Open every log found on disk."""
        for topic, partition in self.partitions_on_disk():
            self.open_log(topic, partition, config_for(topic, partition))
        return self.logs

    def _known_offset(
        self,
        topic_id: bytes,
        key: TopicPartition,
        kind: OffsetKind,
        checkpoint: dict[TopicPartition, int],
    ) -> int:
        """The journal's word, which is younger, or the checkpoint's."""
        return self._changes.get((topic_id, key[1], kind), checkpoint.get(key, 0))

    def _note_offset(self, key: TopicPartition, kind: OffsetKind, offset: int, durably: bool) -> None:
        """A log tells that its recovery point or its start moved. When the disk has no room for it, that
        is no failure of what it speaks of, unless it must be known before."""
        try:
            self._journal.note(self._topic_ids[key], key[1], kind, offset)
            if durably:
                self._journal.flush()
        except LogError:
            if durably:
                raise
        if self._journal.is_due_for_checkpoint:
            with suppress(OSError, LogError):
                self.write_checkpoints()

    # -- upkeep -----------------------------------------------------------------------------------------

    def write_checkpoints(self) -> None:
        """Put all offsets into Kafka's checkpoint files, and begin the journal anew.

        Logs that were not opened this time keep the lines they had.
        """
        recovery_points = {**self._recovery_points}
        log_start_offsets = {**self._log_start_offsets}
        high_watermarks = self._read_checkpoint(HIGH_WATERMARK_CHECKPOINT)
        clean_offsets = {**self._clean_offsets}
        for key, log in self.logs.items():
            if log.first_dirty_offset:
                clean_offsets[key] = log.first_dirty_offset
            else:
                clean_offsets.pop(key, None)
            recovery_points[key] = log.recovery_point
            high_watermarks[key] = log.high_watermark
            if log.log_start_offset > log.segments[0].base_offset or log.has_unsynced_names:
                log_start_offsets[key] = log.log_start_offset
            else:
                log_start_offsets.pop(key, None)
        for name, offsets in (
            (RECOVERY_POINT_CHECKPOINT, recovery_points),
            (LOG_START_OFFSET_CHECKPOINT, log_start_offsets),
            (HIGH_WATERMARK_CHECKPOINT, high_watermarks),
            (CLEANER_CHECKPOINT, clean_offsets),
        ):
            OffsetCheckpoint(self.files, self.path / name).write(offsets)
        self._journal.clear()
        self._recovery_points, self._log_start_offsets = recovery_points, log_start_offsets
        self._checkpointed = {*recovery_points, *log_start_offsets, *clean_offsets}

    def delete_log(self, topic: str, partition: int) -> None:
        """Take a partition's log away for good: renamed first, so that a crash never leaves half of it."""
        doomed = self.take_log_away(topic, partition)
        self.files.fsync_directory(self.path)
        self.remove_directory(doomed)

    def take_log_away(self, topic: str, partition: int) -> Path:
        """The first half of deletion, which takes no time: the log is closed, its name is free. What
        remains is to sync the directory and to `remove_directory` the path returned; any thread may."""
        key = (topic, partition)
        log = self.logs.pop(key)
        log.abandon()
        self.reports.pop(key, None)
        self._topic_ids.pop(key, None)
        self._recovery_points.pop(key, None)
        self._clean_offsets.pop(key, None)
        self._log_start_offsets.pop(key, None)
        suffix = f".{uuid.uuid4().hex}{DELETED_DIRECTORY_SUFFIX}"
        # The longest names leave no room for the suffix in what a file system takes for one name.
        doomed = self.path / (log.directory.name[: FILE_NAME_LENGTH_MAX - len(suffix)] + suffix)
        self.files.rename(log.directory, doomed)
        return doomed

    def _remove_deleted_directories(self) -> None:
        for entry in list(os.scandir(self.path)):
            if entry.is_dir() and _DELETED_DIRECTORY.fullmatch(entry.name):
                self.remove_directory(Path(entry.path))

    def remove_directory(self, path: Path) -> None:
        """Remove the directory of a log that was taken away, and all that is in it."""
        for name in os.listdir(path):
            self.files.unlink(path / name)
        self.files.rmdir(path)

    def close(self) -> None:
        """Close every log, write the checkpoints, leave the marker of a clean shutdown, release the lock.

        The marker comes last, and only when nothing went wrong before it: no log is offline, and none
        that still has to be recovered was left unopened.
        """
        if self._closed:
            return
        self._closed = True
        try:
            for log in self.logs.values():
                log.close()
            if any(log.writer.offline is not None for log in self.logs.values()):
                return
            self.write_checkpoints()
            if self.was_clean or set(self.partitions_on_disk()) <= set(self.logs):
                self.files.write_atomically(self.path / CLEAN_SHUTDOWN_NAME, CLEAN_SHUTDOWN_CONTENT)
        except OSError as error:
            raise _error_for(self.path, error) from error
        finally:
            self._release()

    def abandon(self) -> None:
        """Let go of everything as a crash would: for what cannot be closed any more."""
        self._closed = True
        self._release()

    def leave_to_parent(self) -> None:
        """In a forked process; the lock and what is not yet on the disk stay with the parent."""
        self._closed = True
        for log in self.logs.values():
            log.note_offset = lambda *_: None
            log.abandon(LogOfParentProcess(str(self.path)))
        self._lock.release()

    def _release(self) -> None:
        for log in self.logs.values():
            log.abandon()
        self._journal.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _error_for(path: Path, error: OSError) -> LogError:
    """What an error of the operating system means for a user of the directory."""
    if error.errno in FULL_DISK_ERRORS:
        return DiskFull(str(path))
    if isinstance(error, PermissionError | IsADirectoryError | NotADirectoryError) or (
        error.errno == errno.EROFS
    ):
        return DirectoryNotWritable(str(path), error)
    return LogDirectoryOffline(str(path), error)
