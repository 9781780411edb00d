"""Every partition that this broker leads, found by its topic's name or id.

Metadata decides what there is: `open` and `delete` are called when a topic's records are replayed.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from distributedlog.broker.flush_runner import FlushRunner
from distributedlog.broker.partition import Partition
from distributedlog.log import FlushPolicy, LogConfig, LogDirectory
from distributedlog.log.errors import LogDirectoryOffline, LogError
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.scheduler import Scheduler
    from distributedlog.log import PartitionLog


class _Topic:
    __slots__ = ("partitions", "topic", "topic_id")

    def __init__(self, topic: str, topic_id: bytes) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partitions: dict[int, Partition] = {}


class PartitionTable:
    """The partitions of one log directory."""

    def __init__(
        self, directory: LogDirectory, scheduler: "Scheduler", *, verifies_transactions: bool = True
    ) -> None:
        self.flush_runner = FlushRunner(scheduler, self._on_broken_disk)
        self._directory = directory
        self._scheduler = scheduler
        self._verifies_transactions = verifies_transactions
        #: Partitions whose logs could not be opened.
        self._unavailable: set[tuple[str, int]] = set()
        self._by_name: dict[str, _Topic] = {}
        self._by_id: dict[bytes, _Topic] = {}

    def __len__(self) -> int:
        return sum(len(topic.partitions) for topic in self._by_name.values())

    def __iter__(self) -> Iterator[Partition]:
        for topic in self._by_name.values():
            yield from topic.partitions.values()

    # -- finding --------------------------------------------------------------------------------------

    def get(self, topic: str, index: int) -> Partition | None:
        known = self._by_name.get(topic)
        return None if known is None else known.partitions.get(index)

    def get_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        known = self._by_id.get(topic_id)
        return None if known is None else known.partitions.get(index)

    def why_missing(self, topic: str, topic_id: bytes | None, index: int) -> ErrorCode:
        """The error of a partition that `get` or `get_by_id` (where an id is given) did not find."""
        if topic_id is not None:
            known = self._by_id.get(topic_id)
            if known is None:
                return ErrorCode.UNKNOWN_TOPIC_ID
            topic = known.topic
        if (topic, index) in self._unavailable:
            return ErrorCode.KAFKA_STORAGE_ERROR
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def of_topic(self, topic: str) -> list[Partition]:
        """A topic's partitions; none when there is no such topic."""
        known = self._by_name.get(topic)
        return [] if known is None else list(known.partitions.values())

    # -- coming and going -------------------------------------------------------------------------------

    def open(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        config: LogConfig,
        flush_policy: FlushPolicy,
        *,
        leader_epoch: int = 0,
    ) -> Partition:
        """Open a partition's log, made when it is not there; all that is in it can be read from now on."""
        known = self._by_name.get(topic)
        if known is None:
            known = self._by_name[topic] = self._by_id[topic_id] = _Topic(topic, topic_id)
        try:
            log = self._open_log(topic, index, topic_id, config, leader_epoch)
        except (LogError, OSError):
            self._unavailable.add((topic, index))
            raise
        log.producer_states.requires_verification = self._verifies_transactions
        partition = Partition(
            topic,
            index,
            topic_id,
            log,
            flush_policy,
            self.flush_runner,
            self._scheduler,
            leader_epoch=leader_epoch,
        )
        known.partitions[index] = partition
        return partition

    def _open_log(
        self, topic: str, index: int, topic_id: bytes, config: LogConfig, leader_epoch: int
    ) -> "PartitionLog":
        log = self._directory.open_log(topic, index, config, topic_id=UUID(bytes=topic_id))
        log.writer.make_room = lambda: self._make_room(log)
        if log.leader_epochs.latest_epoch < leader_epoch:
            log.begin_leader_epoch(leader_epoch)
        if log.recovery_point < log.log_end_offset:
            # What recovery found is shown to consumers now, so it must not be lost when the power fails.
            log.flush()
        log.advance_high_watermark(log.log_end_offset)
        return log

    def configure(self, topic: str, config: LogConfig, flush_policy: FlushPolicy) -> None:
        """Let a topic's changed configuration take effect on its running logs."""
        for partition in self.of_topic(topic):
            partition.configure(config, flush_policy)

    def verify_transactions(self, is_required: bool) -> None:
        """Whether the first batch of a transaction needs the coordinator's word from now on."""
        if is_required != self._verifies_transactions:
            self._verifies_transactions = is_required
            for partition in self:
                partition.log.producer_states.requires_verification = is_required

    def forget(self, topic: str) -> list[Partition]:
        """Take a deleted topic's partitions out: requests no longer find them, those that wait are woken.

        The logs are still open: `LogDirectory.delete_log` is the caller's to call.
        """
        known = self._by_name.pop(topic, None)
        if known is None:
            return []
        del self._by_id[known.topic_id]
        self._unavailable = {key for key in self._unavailable if key[0] != topic}
        partitions = list(known.partitions.values())
        for partition in partitions:
            partition.mark_deleted()
        return partitions

    def close(self) -> None:
        """Bring to the disk what somebody waits for, and tell them. The logs stay open."""
        self.flush_runner.close()

    # -- the disk ---------------------------------------------------------------------------------------

    def _make_room(self, log: "PartitionLog") -> bool:
        """The disk is full: what retention lets go makes room at once, without its usual delay."""
        freed = False
        for each in (log, *(partition.log for partition in self if partition.log is not log)):
            with suppress(LogError, OSError):
                paths = each.delete_old_segments(self._scheduler.now_ms(), roll_expired=False)
                each.remove_files(paths)
                freed |= bool(paths)
        return freed

    def _on_broken_disk(self, error: LogDirectoryOffline) -> None:
        """An fsync failed: nothing more is written anywhere in the directory; reads go on."""
        for log in self._directory.logs.values():
            log.fail(error)
