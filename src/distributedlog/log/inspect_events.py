"""What an inspection of a log directory sees, one small object after another.

An inspection is a stream: a log of any size passes through it in bounded memory. Offsets and positions
are absolute; ``position`` is where in the file ``path`` the thing begins.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from distributedlog.records import BatchHeader, Record


class FileKind(StrEnum):
    """What a file of a log directory is, from its name alone."""

    LOG = "log"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"
    LEADER_EPOCHS = "leader epochs"
    OFFSET_CHECKPOINT = "offset checkpoint"
    OFFSET_JOURNAL = "offset journal"
    PARTITION_METADATA = "partition metadata"
    DIRECTORY_PROPERTIES = "directory properties"
    LEFTOVER = "leftover"
    OTHER = "other"


class Severity(StrEnum):
    """DAMAGE: bytes are lost or a reader may be led astray. NOTE: worth knowing, and harmless."""

    DAMAGE = "damage"
    NOTE = "note"


class FindingKind(StrEnum):
    """One word for each inconsistency, for programs that read `dlog log verify --json`."""

    UNREADABLE = "unreadable"
    BAD_NAME = "bad-name"
    BAD_BATCH = "bad-batch"
    BAD_CRC = "bad-crc"
    BAD_RECORDS = "bad-records"
    TORN_TAIL = "torn-tail"
    OFFSET_ORDER = "offset-order"
    LEADER_EPOCH = "leader-epoch"
    SEGMENT_OVERLAP = "segment-overlap"
    SEGMENT_GAP = "segment-gap"
    INDEX_SIZE = "index-size"
    INDEX_ORDER = "index-order"
    INDEX_TARGET = "index-target"
    INDEX_MISSING = "index-missing"
    TIME_INDEX_MISMATCH = "time-index-mismatch"
    TRANSACTION_INDEX = "transaction-index"
    SNAPSHOT = "snapshot"
    CHECKPOINT = "checkpoint"
    CHECKPOINT_RANGE = "checkpoint-range"
    METADATA = "metadata"
    ORPHAN = "orphan"
    LEFTOVER = "leftover"


@dataclass(slots=True)
class Finding:
    path: Path
    position: int | None
    kind: FindingKind
    message: str
    severity: Severity = Severity.DAMAGE


@dataclass(slots=True)
class FileSeen:
    path: Path
    kind: FileKind
    size: int


@dataclass(slots=True)
class BatchSeen:
    path: Path
    position: int
    header: BatchHeader
    crc_is_right: bool


@dataclass(slots=True)
class RecordSeen:
    """``control`` names the marker when the record is one; such records are not for consumers."""

    path: Path
    batch_position: int
    record: Record
    control: str | None


@dataclass(slots=True)
class OffsetIndexEntry:
    path: Path
    position: int
    offset: int
    log_position: int


@dataclass(slots=True)
class TimeIndexEntry:
    path: Path
    position: int
    timestamp: int
    offset: int


@dataclass(slots=True)
class AbortedTransactionEntry:
    path: Path
    position: int
    version: int
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


@dataclass(slots=True)
class ProducerEntry:
    path: Path
    position: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    current_txn_first_offset: int


@dataclass(slots=True)
class LeaderEpochEntry:
    path: Path
    epoch: int
    start_offset: int


@dataclass(slots=True)
class CheckpointEntry:
    path: Path
    topic: str
    partition: int
    offset: int


@dataclass(slots=True)
class JournalEntry:
    """A change of a partition's offset since the checkpoints were written; `kind` names the checkpoint."""

    path: Path
    position: int
    topic_id: str
    partition: int
    kind: str
    offset: int


@dataclass(slots=True)
class Property:
    """A ``name: value`` or ``name=value`` line of partition.metadata or meta.properties."""

    path: Path
    name: str
    value: str


@dataclass(slots=True)
class PartitionSummary:
    """What stands in one partition directory, or in one .log file inspected alone.

    ``log_start_offset`` is the first batch's, None when there is no batch.
    """

    path: Path
    segments: int
    batches: int
    records: int
    log_start_offset: int | None
    log_end_offset: int
    size: int


Event = (
    Finding
    | FileSeen
    | BatchSeen
    | RecordSeen
    | OffsetIndexEntry
    | TimeIndexEntry
    | AbortedTransactionEntry
    | ProducerEntry
    | LeaderEpochEntry
    | CheckpointEntry
    | JournalEntry
    | Property
    | PartitionSummary
)
