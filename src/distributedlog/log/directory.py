"""A data directory: the logs of many partitions, their checkpoints, one lock [io].

<directory>/
  .lock  meta.properties  .kafka_cleanshutdown (only while cleanly closed)
  recovery-point-offset-checkpoint  log-start-offset-checkpoint  replication-offset-checkpoint
  cleaner-offset-checkpoint  offsets.journal
  <topic>-<partition>/   one `PartitionLog`
"""

import os
import re
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from distributedlog.log.checkpoints import (
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    OffsetCheckpoint,
)
from distributedlog.log.config import LogConfig
from distributedlog.log.directory_lock import DirectoryLock
from distributedlog.log.errors import CorruptLog, InvalidTopicName, LogClosed
from distributedlog.log.files import REAL_FILES, Files
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

CLEAN_SHUTDOWN_NAME: Final = ".kafka_cleanshutdown"
CLEAN_SHUTDOWN_CONTENT: Final = b'{"version":0,"brokerEpoch":-1}'
TOPIC_NAME_LENGTH_MAX: Final = 249
_TOPIC_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")
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
            self._journal = OffsetJournal(files, self.path)
            self._changes = self._journal.latest()
            self._remove_deleted_directories()
            self.was_clean = self._take_clean_shutdown_marker()
        except BaseException:
            self._lock.release()
            raise

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
        existed = directory.exists()
        if not existed:
            self.files.mkdir(directory)
            self.files.fsync_directory(self.path)
        metadata = PartitionMetadata(self.files, directory / PARTITION_METADATA)
        found_id = metadata.read()
        if found_id is None or topic_id is not None:
            found_id = topic_id or uuid.uuid4()
            metadata.claim(found_id)
        id_bytes = found_id.bytes
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
            cut_damage=cut_damage,
        )
        log.note_offset = lambda kind, offset, durably: self._note_offset(key, kind, offset, durably)
        self.logs[key] = log
        self.reports[key] = report
        self._topic_ids[key] = id_bytes
        return log

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
        """A log tells that its recovery point or its start moved."""
        self._journal.note(self._topic_ids[key], key[1], kind, offset)
        if durably:
            self._journal.flush()
        if self._journal.is_due_for_checkpoint:
            self.write_checkpoints()

    # -- upkeep -----------------------------------------------------------------------------------------

    def write_checkpoints(self) -> None:
        """Put all offsets into Kafka's checkpoint files, and begin the journal anew.

        Logs that were not opened this time keep the lines they had.
        """
        recovery_points = {**self._recovery_points}
        log_start_offsets = {**self._log_start_offsets}
        high_watermarks = self._read_checkpoint(HIGH_WATERMARK_CHECKPOINT)
        for key, log in self.logs.items():
            recovery_points[key] = log.recovery_point
            high_watermarks[key] = log.high_watermark
            if log.log_start_offset > log.segments[0].base_offset:
                log_start_offsets[key] = log.log_start_offset
            else:
                log_start_offsets.pop(key, None)
        for name, offsets in (
            (RECOVERY_POINT_CHECKPOINT, recovery_points),
            (LOG_START_OFFSET_CHECKPOINT, log_start_offsets),
            (HIGH_WATERMARK_CHECKPOINT, high_watermarks),
        ):
            OffsetCheckpoint(self.files, self.path / name).write(offsets)
        self._journal.clear()
        self._recovery_points, self._log_start_offsets = recovery_points, log_start_offsets

    def delete_log(self, topic: str, partition: int) -> None:
        """Take a partition's log away for good: renamed first, so that a crash never leaves half of it."""
        key = (topic, partition)
        log = self.logs.pop(key)
        log.abandon()
        self.reports.pop(key, None)
        self._topic_ids.pop(key, None)
        self._recovery_points.pop(key, None)
        self._log_start_offsets.pop(key, None)
        doomed = self.path / f"{topic}-{partition}.{uuid.uuid4().hex}{DELETED_DIRECTORY_SUFFIX}"
        self.files.rename(log.directory, doomed)
        self.files.fsync_directory(self.path)
        self._remove_directory(doomed)

    def _remove_deleted_directories(self) -> None:
        for entry in list(os.scandir(self.path)):
            if entry.is_dir() and _DELETED_DIRECTORY.fullmatch(entry.name):
                self._remove_directory(Path(entry.path))

    def _remove_directory(self, path: Path) -> None:
        for name in os.listdir(path):
            self.files.unlink(path / name)
        self.files.rmdir(path)

    def close(self) -> None:
        """Close every log, write the checkpoints, leave the marker of a clean shutdown, release the lock.

        The marker comes last, and only when nothing went wrong before it.
        """
        if self._closed:
            return
        self._closed = True
        try:
            for log in self.logs.values():
                log.close()
            self.write_checkpoints()
            self.files.write_atomically(self.path / CLEAN_SHUTDOWN_NAME, CLEAN_SHUTDOWN_CONTENT)
        finally:
            self._release()

    def abandon(self) -> None:
        """Let go of everything as a crash would: for what cannot be closed any more."""
        self._closed = True
        self._release()

    def _release(self) -> None:
        for log in self.logs.values():
            log.abandon()
        self._journal.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_topic_name(topic: str) -> None:
    """Kafka's rule for names, which are also names of directories."""
    if topic in ("", ".", "..") or len(topic) > TOPIC_NAME_LENGTH_MAX or not _TOPIC_NAME.fullmatch(topic):
        raise InvalidTopicName(topic)
