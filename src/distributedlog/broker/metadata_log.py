"""The cluster's metadata on the disk: a log of records and, from time to time, a snapshot [io].

Both are KRaft's own: the partition ``__cluster_metadata-0``, whose records are frames of
`wire/values/metadata_records.py`, and beside its segments ``<end offset>-<epoch>.checkpoint``, the records
that make the image at this offset between two control records. Each decision of the controller is one batch,
so a crash leaves it whole or not at all.
"""

import logging
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from struct import Struct
from typing import Final

from distributedlog.broker.config import BrokerConfig
from distributedlog.cluster.image import EMPTY_IMAGE, ClusterImage
from distributedlog.cluster.replay import MetadataError, replay
from distributedlog.cluster.snapshot import image_records
from distributedlog.log import AppendOrigin, Files, FlushJob, LogConfig, LogDirectory, PartitionLog
from distributedlog.log.config_key import INT32_MAX
from distributedlog.log.errors import CorruptLog
from distributedlog.records import (
    ControlType,
    RecordsError,
    build_control_batch,
    encode_batch,
    iterate_batches,
    iterate_records,
    parse_header,
    validate_batch,
)
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.values.metadata_records import (
    MetadataRecord,
    RemoveTopicRecord,
    decode_metadata_record,
    encode_metadata_record,
)

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = uuid.UUID(int=1)
#: There is one controller and it never loses an election: its epoch does not change.
CONTROLLER_EPOCH: Final = 1
SNAPSHOTS_KEPT: Final = 2
RECORDS_PER_SNAPSHOT_BATCH: Final = 1000
_SNAPSHOT_NAME: Final = re.compile(r"([0-9]{20})-([0-9]{10})\.checkpoint")
_SNAPSHOT_HEADER: Final = Struct(">hqx")
_SNAPSHOT_FOOTER: Final = Struct(">hx")

logger = logging.getLogger("distributedlog.broker")


@dataclass(slots=True)
class SnapshotJob:
    """A snapshot to be written by any thread: the image is never changed."""

    files: Files
    path: Path
    image: ClusterImage
    now_ms: int

    def run(self) -> None:
        self.files.write_atomically(self.path, encode_snapshot(self.image, self.now_ms))


class MetadataLog:
    """Appends decisions and finds the image again. One of them may be on its way to the disk at a time."""

    def __init__(self, directory: LogDirectory, config: BrokerConfig) -> None:
        self._directory = directory
        self._config = config
        self._bytes_since_snapshot = 0
        self._log: PartitionLog | None = None
        #: Of the topics whose removal was replayed when the log was opened.
        self.removed_topic_ids: set[bytes] = set()

    @property
    def log(self) -> PartitionLog:
        assert self._log is not None, "the metadata log is not open yet"
        return self._log

    def open(self) -> ClusterImage:
        """Open the log, made if it is not there, and replay it. CorruptLog when it makes no sense."""
        config = LogConfig(
            cleanup_policy=(),
            retention_ms=-1,
            max_message_bytes=INT32_MAX,
            segment_bytes=self._config.metadata_log_segment_bytes,
        )
        self._log = log = self._directory.open_log(METADATA_TOPIC, 0, config, topic_id=METADATA_TOPIC_ID)
        log.advance_high_watermark(log.log_end_offset)
        image = self._newest_snapshot()
        if not log.log_start_offset <= image.end_offset <= log.log_end_offset:
            raise CorruptLog(
                str(log.directory),
                0,
                f"the snapshot ends at offset {image.end_offset}, the log goes from {log.log_start_offset} "
                f"to {log.log_end_offset}: metadata is missing",
            )
        return self._replay_log(image)

    def _replay_log(self, image: ClusterImage) -> ClusterImage:
        log = self.log
        while image.end_offset < log.log_end_offset:
            region = log.read(image.end_offset, 8 << 20)
            if region is None:
                break
            data = region.read()
            self._bytes_since_snapshot += len(data)
            end_offset = image.end_offset
            for _, header in iterate_batches(data):
                end_offset = header.next_offset
            image = self._replayed(image, data, end_offset, str(log.directory))
        return image

    def _replayed(self, image: ClusterImage, data: bytes, end_offset: int, path: str) -> ClusterImage:
        try:
            records = [
                decode_metadata_record(record.value or b"")
                for record in iterate_records(data, image.end_offset)
            ]
            self.removed_topic_ids.update(
                bytes(record.topic_id) for record in records if isinstance(record, RemoveTopicRecord)
            )
            return replay(image, records, end_offset)
        except (ProtocolError, RecordsError, MetadataError) as error:
            raise CorruptLog(path, 0, f"behind offset {image.end_offset}: {error}") from error

    # -- writing --------------------------------------------------------------------------------------

    def append(self, records: Sequence[MetadataRecord], now_ms: int) -> FlushJob | None:
        """Write the records as one batch. They count when the job has run and `completed` was called."""
        batch = encode_batch((now_ms, None, encode_metadata_record(record), ()) for record in records)
        self.log.append(batch, leader_epoch=CONTROLLER_EPOCH, now_ms=now_ms, origin=AppendOrigin.COORDINATOR)
        self._bytes_since_snapshot += len(batch)
        return self.log.begin_flush()

    def completed(self, job: FlushJob | None) -> None:
        """The job has run: what was appended before it is kept."""
        if job is not None:
            self.log.complete_flush(job)
        self.log.advance_high_watermark(self.log.log_end_offset)

    # -- snapshots ------------------------------------------------------------------------------------

    @property
    def snapshot_is_due(self) -> bool:
        return self._bytes_since_snapshot >= self._config.metadata_log_max_record_bytes_between_snapshots

    def begin_snapshot(self, image: ClusterImage, now_ms: int) -> SnapshotJob:
        """A job that writes the image down; call `snapshot_written` when it has run."""
        self._bytes_since_snapshot = 0
        name = f"{image.end_offset:020d}-{CONTROLLER_EPOCH:010d}.checkpoint"
        return SnapshotJob(self._directory.files, self.log.directory / name, image, now_ms)

    def snapshot_written(self, job: SnapshotJob, now_ms: int) -> list[Path]:
        """Let go of what the snapshot makes needless; returns the files that may be removed."""
        log = self.log
        offset = min(job.image.end_offset, log.high_watermark)
        if offset == log.log_end_offset:
            log.roll(now_ms)
        log.delete_records_before(offset)
        gone = log.delete_old_segments(now_ms, roll_expired=False)
        for _, path in self._snapshots()[SNAPSHOTS_KEPT:]:
            gone.append(path)
        return gone

    def _snapshots(self) -> list[tuple[int, Path]]:
        """Offset and path of the snapshots that there are, the newest first."""
        found = []
        for path in self.log.directory.iterdir():
            match = _SNAPSHOT_NAME.fullmatch(path.name)
            if match:
                found.append((int(match[1]), path))
        return sorted(found, reverse=True)

    def _newest_snapshot(self) -> ClusterImage:
        """The newest that is whole. A damaged one is told of; an older one will do while the log lasts."""
        for end_offset, path in self._snapshots():
            try:
                return decode_snapshot(self._directory.files.read_bytes(path), end_offset, str(path))
            except CorruptLog as error:
                logger.warning("the metadata snapshot %s is not used: %s", path.name, error)
        return EMPTY_IMAGE


def encode_snapshot(image: ClusterImage, now_ms: int) -> bytes:
    """A snapshot file: a header, the records of the image in batches, a footer."""
    data = bytearray(
        build_control_batch(
            ControlType.SNAPSHOT_HEADER,
            now_ms,
            value=_SNAPSHOT_HEADER.pack(0, now_ms),
            leader_epoch=CONTROLLER_EPOCH,
        )
    )
    records = list(image_records(image))
    offset = 1
    for start in range(0, len(records), RECORDS_PER_SNAPSHOT_BATCH):
        part = records[start : start + RECORDS_PER_SNAPSHOT_BATCH]
        data += encode_batch(
            ((now_ms, None, encode_metadata_record(record), ()) for record in part),
            base_offset=offset,
            leader_epoch=CONTROLLER_EPOCH,
        )
        offset += len(part)
    data += build_control_batch(
        ControlType.SNAPSHOT_FOOTER,
        now_ms,
        value=_SNAPSHOT_FOOTER.pack(0),
        base_offset=offset,
        leader_epoch=CONTROLLER_EPOCH,
    )
    return bytes(data)


def decode_snapshot(data: bytes, end_offset: int, path: str) -> ClusterImage:
    """The image in a snapshot file; CorruptLog unless the file is whole."""
    position = 0
    try:
        while position < len(data):
            position += validate_batch(data, position).size
        last = 0
        for position, _ in iterate_batches(data):
            last = position
        if not data or not parse_header(data, last).is_control or last == 0:
            raise CorruptLog(path, len(data), "the snapshot has no end")
        records = [decode_metadata_record(record.value or b"") for record in iterate_records(data)]
        return replay(EMPTY_IMAGE, records, end_offset)
    except (ProtocolError, RecordsError, MetadataError) as error:
        raise CorruptLog(path, position, str(error)) from error
