"""What one fetch asks for, and reading it: file regions and numbers, no record is touched.

A plan is read when the request comes, and again when what it waited for may be there. The rules are
Kafka's: partitions in the order given, each up to its own limit and all up to the request's; the first
batch found comes whole however large it is (KIP-74); what is wrong with one partition is told in that
partition's place and does not hold up the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.log import FileRegion
from distributedlog.log.errors import LogError, OffsetOutOfRange
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    LeaderIdAndEpoch,
    PartitionData,
    SnapshotId,
)

if TYPE_CHECKING:
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.partitions import PartitionTable
    from distributedlog.log import PartitionLog

READ_COMMITTED: Final = 1
UNKNOWN_OFFSET: Final = -1
NO_PREFERRED_REPLICA: Final = -1
#: From this version on a client can read zstd.
ZSTD_VERSION_MIN: Final = 10

_NO_DIVERGENCE: Final = EpochEndOffset()
_NO_LEADER: Final = LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = SnapshotId()
_NO_RECORDS: Final = b""
_UNKNOWN: Final = frozenset((int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), int(ErrorCode.UNKNOWN_TOPIC_ID)))


@dataclass(slots=True, eq=False)
class FetchTarget:
    """One partition of a fetch, named by its topic's id or, where that is None, by its name. A session
    keeps it from request to request.

    ``sent_high_watermark`` and ``sent_log_start_offset`` are what the session's client was told last.
    """

    topic: str
    topic_id: bytes | None
    index: int
    fetch_offset: int
    max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1
    log_start_offset: int = -1
    sent_high_watermark: int = UNKNOWN_OFFSET
    sent_log_start_offset: int = UNKNOWN_OFFSET


#: A target with what there is for it.
TargetResult = tuple[FetchTarget, PartitionData]


@dataclass(slots=True)
class Reading:
    """What a plan found. ``is_final`` when waiting would not better it: an error in reading, logs that
    diverge, or nothing but partitions that are not there. One of these among others can wait, as the
    client has to ask for metadata before it can do better."""

    results: list[TargetResult]
    size: int
    is_final: bool


class FetchPlan:
    """One fetch request's targets and limits."""

    __slots__ = (
        "_partitions",
        "is_follower",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "reads_committed",
        "targets",
        "version",
    )

    def __init__(
        self,
        partitions: "PartitionTable",
        targets: Sequence[FetchTarget],
        *,
        version: int,
        max_wait_ms: int,
        min_bytes: int,
        max_bytes: int,
        isolation_level: int = 0,
        is_follower: bool = False,
    ) -> None:
        self._partitions = partitions
        self.targets = targets
        self.version = version
        self.max_wait_ms = max_wait_ms
        self.min_bytes = min_bytes
        self.max_bytes = max_bytes
        self.reads_committed = isolation_level == READ_COMMITTED
        self.is_follower = is_follower

    def find(self, target: FetchTarget) -> "Partition | None":
        if target.topic_id is None:
            return self._partitions.get(target.topic, target.index)
        return self._partitions.get_by_id(target.topic_id, target.index)

    def read(self) -> Reading:
        """Everything that is there by now, within the limits."""
        left = self.max_bytes
        size = 0
        is_final = False
        is_any_known = False
        results: list[TargetResult] = []
        for target in self.targets:
            data = self._read(target, left, size == 0)
            results.append((target, data))
            found = len(data.records)  # type: ignore[arg-type]
            size += found
            left = max(left - found, 0)
            if data.error_code not in _UNKNOWN:
                is_any_known = True
                if data.error_code or data.diverging_epoch is not _NO_DIVERGENCE:
                    is_final = True
        return Reading(results, size, is_final or not is_any_known)

    def measure(self, target: FetchTarget) -> int:
        """How much there is for one target, by reading it."""
        return len(self._read(target, self.max_bytes, True).records)  # type: ignore[arg-type]

    def _read(self, target: FetchTarget, bytes_left: int, is_first: bool) -> PartitionData:
        partition = self.find(target)
        if partition is None:
            return self._failure(
                target, self._partitions.why_missing(target.topic, target.topic_id, target.index)
            )
        epoch = target.current_leader_epoch
        if epoch >= 0 and epoch != partition.leader_epoch:
            return self._failure(target, epoch_error(epoch, partition.leader_epoch))
        if self.is_follower:
            return self._failure(target, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        log = partition.log
        if self.version < ZSTD_VERSION_MIN and log.config.compression_type == "zstd":
            return self._failure(target, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        high_watermark = log.high_watermark
        last_stable_offset = log.last_stable_offset
        upper_offset = last_stable_offset if self.reads_committed else high_watermark
        offset = target.fetch_offset
        region: FileRegion | None = None
        divergence = _NO_DIVERGENCE
        aborted: list[AbortedTransaction] | None = [] if self.reads_committed else None
        try:
            if target.last_fetched_epoch >= 0:
                divergence = _divergence(log, target.last_fetched_epoch, offset)
            if not log.log_start_offset <= offset <= log.log_end_offset:
                return self._failure(target, ErrorCode.OFFSET_OUT_OF_RANGE)
            if offset < upper_offset and (bytes_left > 0 or is_first) and divergence is _NO_DIVERGENCE:
                bytes_max = target.max_bytes if target.max_bytes < bytes_left else bytes_left
                region = log.read(offset, bytes_max, upper_offset=upper_offset, at_least_one_batch=is_first)
                if self.reads_committed and region is not None:
                    aborted = _aborted(log, offset, region)
        except OffsetOutOfRange:
            return self._failure(target, ErrorCode.OFFSET_OUT_OF_RANGE)
        except (LogError, OSError):
            return self._failure(target, ErrorCode.KAFKA_STORAGE_ERROR)
        return PartitionData(
            target.index,
            0,
            high_watermark,
            last_stable_offset,
            log.log_start_offset,
            divergence,
            _NO_LEADER,
            _NO_SNAPSHOT,
            aborted,
            NO_PREFERRED_REPLICA,
            _NO_RECORDS if region is None else region,
        )

    def _failure(self, target: FetchTarget, error: ErrorCode) -> PartitionData:
        return PartitionData(
            target.index,
            int(error),
            UNKNOWN_OFFSET,
            UNKNOWN_OFFSET,
            UNKNOWN_OFFSET,
            _NO_DIVERGENCE,
            _NO_LEADER,
            _NO_SNAPSHOT,
            [] if self.reads_committed else None,
            NO_PREFERRED_REPLICA,
            _NO_RECORDS,
        )


def epoch_error(requested: int, current: int) -> ErrorCode:
    """What is wrong with a request that names another leader epoch than the partition's (KIP-320)."""
    return ErrorCode.FENCED_LEADER_EPOCH if requested < current else ErrorCode.UNKNOWN_LEADER_EPOCH


def _divergence(log: "PartitionLog", last_fetched_epoch: int, fetch_offset: int) -> EpochEndOffset:
    """Where the reader's log and this one part, if they do (KIP-595)."""
    end = log.leader_epochs.end_offset_for(last_fetched_epoch, log.log_end_offset)
    if end.epoch < 0 or end.start_offset < 0:
        raise OffsetOutOfRange(fetch_offset, log.log_start_offset, log.log_end_offset)
    if end.epoch < last_fetched_epoch or end.start_offset < fetch_offset:
        return EpochEndOffset(end.epoch, end.start_offset)
    return _NO_DIVERGENCE


def _aborted(log: "PartitionLog", offset: int, region: FileRegion) -> list[AbortedTransaction]:
    """The aborted transactions that reach into what is sent."""
    return [
        AbortedTransaction(transaction.producer_id, transaction.first_offset)
        for transaction in log.aborted_transactions_in(region, offset)
    ]
