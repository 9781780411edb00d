"""Committed offsets, and those of open transactions that are not committed yet.

An offset of a transaction becomes a committed one when the commit marker is replayed, unless a later
record of the same partition has been committed meanwhile: the order of the log decides, not that of the
markers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from distributedlog.wire.schema import ZERO_UUID


class CommittedOffset(NamedTuple):
    """A position of a group. ``record_offset`` is where in the log the commit stands."""

    offset: int
    leader_epoch: int = -1
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = -1
    topic_id: bytes = ZERO_UUID
    record_offset: int = -1


GroupOffsets = dict[str, dict[int, CommittedOffset]]


class OffsetStore:
    """Offsets by group, topic and partition. Only replay writes here."""

    __slots__ = ("committed", "pending", "transactions_of_group")

    def __init__(self) -> None:
        self.committed: dict[str, GroupOffsets] = {}
        #: by producer id, then as above
        self.pending: dict[int, dict[str, GroupOffsets]] = {}
        #: the producer ids that have offsets pending, by group
        self.transactions_of_group: dict[str, set[int]] = {}

    def of_group(self, group_id: str) -> GroupOffsets:
        """All committed offsets of a group; not to be changed."""
        return self.committed.get(group_id, {})

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """The committed offset of a partition."""
        return self.committed.get(group_id, {}).get(topic, {}).get(partition)

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether an open transaction may still change the partition's offset."""
        producers = self.transactions_of_group.get(group_id)
        if not producers:
            return False
        return any(partition in self.pending[pid].get(group_id, {}).get(topic, {}) for pid in producers)

    def has_open_transactions(self, group_id: str) -> bool:
        """Whether any transaction has offsets of the group pending."""
        return group_id in self.transactions_of_group

    def pending_partitions(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Topics and partitions with pending offsets, possibly more than once."""
        for producer_id in self.transactions_of_group.get(group_id, ()):
            for topic, partitions in self.pending[producer_id].get(group_id, {}).items():
                for partition in partitions:
                    yield topic, partition

    def put(self, group_id: str, topic: str, partition: int, value: CommittedOffset) -> None:
        """Replay a commit outside of any transaction."""
        self.committed.setdefault(group_id, {}).setdefault(topic, {})[partition] = value

    def put_pending(
        self, producer_id: int, group_id: str, topic: str, partition: int, value: CommittedOffset
    ) -> None:
        """Replay a commit inside of a transaction."""
        groups = self.pending.setdefault(producer_id, {})
        groups.setdefault(group_id, {}).setdefault(topic, {})[partition] = value
        self.transactions_of_group.setdefault(group_id, set()).add(producer_id)

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Replay a tombstone: it takes pending offsets away too."""
        _remove(self.committed, group_id, topic, partition)
        for producer_id in list(self.transactions_of_group.get(group_id, ())):
            _remove(self.pending[producer_id], group_id, topic, partition)
            if group_id not in self.pending[producer_id]:
                self._close(producer_id, group_id)

    def end_transaction(self, producer_id: int, committed: bool) -> None:
        """Replay a transaction's end marker."""
        groups = self.pending.get(producer_id, {})
        for group_id, topics in list(groups.items()):
            self._close(producer_id, group_id)
            if not committed:
                continue
            for topic, partitions in topics.items():
                for partition, value in partitions.items():
                    existing = self.get(group_id, topic, partition)
                    if existing is None or value.record_offset > existing.record_offset:
                        self.put(group_id, topic, partition, value)

    def _close(self, producer_id: int, group_id: str) -> None:
        groups = self.pending[producer_id]
        groups.pop(group_id, None)
        if not groups:
            del self.pending[producer_id]
        producers = self.transactions_of_group[group_id]
        producers.discard(producer_id)
        if not producers:
            del self.transactions_of_group[group_id]


def _remove(offsets: dict[str, GroupOffsets], group_id: str, topic: str, partition: int) -> None:
    topics = offsets.get(group_id)
    partitions = None if topics is None else topics.get(topic)
    if topics is None or partitions is None:
        return
    partitions.pop(partition, None)
    if not partitions:
        del topics[topic]
        if not topics:
            del offsets[group_id]
