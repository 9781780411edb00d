"""Every partition that this broker leads, found by its topic's name or id.

Metadata decides what there is: `open` and `delete` are called when a topic's records are replayed.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING
from uuid import UUID

from distributedlog.broker.flush_runner import FlushRunner
from distributedlog.broker.partition import Partition
from distributedlog.log import FlushPolicy, LogConfig
from distributedlog.log.errors import LogDirectoryOffline, LogError

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.log import PartitionLog


class PartitionTable:
    """The partitions of one log directory."""

    def __init__(self, broker: "Broker") -> None:
        self.flush_runner = FlushRunner(broker.scheduler, self._on_broken_disk)
        self._directory = broker.directory
        self._scheduler = broker.scheduler
        self._by_name: dict[str, dict[int, Partition]] = {}
        self._by_id: dict[bytes, dict[int, Partition]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_name.values()))

    def __iter__(self) -> Iterator[Partition]:
        for partitions in self._by_name.values():
            yield from partitions.values()

    # -- finding --------------------------------------------------------------------------------------

    def get(self, topic: str, index: int) -> Partition | None:
        partitions = self._by_name.get(topic)
        return None if partitions is None else partitions.get(index)

    def get_by_id(self, topic_id: bytes, index: int) -> Partition | None:
        partitions = self._by_id.get(topic_id)
        return None if partitions is None else partitions.get(index)

    def knows_id(self, topic_id: bytes) -> bool:
        return topic_id in self._by_id

    def of_topic(self, topic: str) -> list[Partition]:
        """A topic's partitions; none when there is no such topic."""
        return list(self._by_name.get(topic, {}).values())

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
        log = self._directory.open_log(topic, index, config, topic_id=UUID(bytes=topic_id))
        log.writer.make_room = lambda: self._make_room(log)
        if log.leader_epochs.latest_epoch < leader_epoch:
            log.begin_leader_epoch(leader_epoch)
        if log.recovery_point < log.log_end_offset:
            # What recovery found is shown to consumers now, so it must not be lost when the power fails.
            log.flush()
        log.advance_high_watermark(log.log_end_offset)
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
        self._by_name.setdefault(topic, {})[index] = partition
        self._by_id.setdefault(topic_id, {})[index] = partition
        return partition

    def configure(self, topic: str, config: LogConfig, flush_policy: FlushPolicy) -> None:
        """Let a topic's changed configuration take effect on its running logs."""
        for partition in self.of_topic(topic):
            partition.configure(config, flush_policy)

    def forget(self, topic: str) -> list[Partition]:
        """Take a deleted topic's partitions out: requests no longer find them, those that wait are woken.

        The logs are still open: `LogDirectory.delete_log` is the caller's to call.
        """
        partitions = list(self._by_name.pop(topic, {}).values())
        for partition in partitions:
            self._by_id.pop(partition.topic_id, None)
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
