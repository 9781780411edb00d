"""A member of a consumer group (KIP-848). It is never changed, only replaced by a newer one."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, Final

from distributedlog.groups.assignment import OwnedPartitions
from distributedlog.wire.values.consumer_group_records import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    CurrentTopicPartitions,
)

LEAVE_EPOCH: Final = -1
#: A static member that says it will be back before its session ends.
LEAVE_STATIC_EPOCH: Final = -2


class MemberState(IntEnum):
    """How far a member is on its way to its target; the numbers are those of the records."""

    STABLE = 0
    #: It still has to let go of partitions.
    UNREVOKED_PARTITIONS = 1
    #: It is in the newest epoch, but others have not let go of what it is to get.
    UNRELEASED_PARTITIONS = 2
    #: Written by a version that knows more.
    UNKNOWN = 3


@dataclass(frozen=True, slots=True)
class ResolvedRegex:
    """The topics that a regular expression stood for at a time, and the image that they were taken from."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member. ``classic`` is there if it speaks the classic protocol, in a group that does not."""

    member_id: str
    member_epoch: int = 0
    previous_member_epoch: int = -1
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: frozenset[str] = frozenset()
    subscribed_topic_regex: str | None = ""
    server_assignor: str | None = None
    state: MemberState = MemberState.STABLE
    assigned: OwnedPartitions = field(default_factory=dict)
    pending_revocation: OwnedPartitions = field(default_factory=dict)
    classic: ClassicMemberMetadata | None = None

    def but(self, **changes: Any) -> "ConsumerMember":
        """A copy with other values; the same member where they are no others."""
        if all(getattr(self, name) == value for name, value in changes.items()):
            return self
        return replace(self, **changes)

    def at_epoch(self, epoch: int, **changes: Any) -> "ConsumerMember":
        """A copy in ``epoch``, which remembers the epoch that it comes from."""
        return self.but(member_epoch=epoch, previous_member_epoch=self.member_epoch, **changes)

    def is_reconciled_to(self, epoch: int) -> bool:
        """Whether the member has what the target assignment of ``epoch`` gives it."""
        return self.state is MemberState.STABLE and self.member_epoch == epoch

    def owned_epoch(self, topic_id: bytes, partition: int) -> int | None:
        """The epoch in which the member got a partition that it has, or still has to give back."""
        epoch = self.assigned.get(topic_id, {}).get(partition)
        if epoch is None:
            epoch = self.pending_revocation.get(topic_id, {}).get(partition)
        return epoch

    def with_subscription(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerMember":
        """The member as a record describes it, with what it owns unchanged."""
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            subscribed_topic_names=frozenset(value.subscribed_topic_names),
            subscribed_topic_regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "ConsumerMember":
        """The member with what a record says that it owns."""
        known = MemberState.STABLE <= value.state < MemberState.UNKNOWN
        return replace(
            self,
            member_epoch=value.member_epoch,
            previous_member_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if known else MemberState.UNKNOWN,
            assigned=_owned(value.assigned_partitions, value.member_epoch),
            pending_revocation=_owned(value.partitions_pending_revocation, value.member_epoch),
        )


def _owned(topics: Iterable[CurrentTopicPartitions], member_epoch: int) -> OwnedPartitions:
    """Older records tell no epochs: the member's own is the latest that can be meant."""
    owned: dict[bytes, dict[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs or []
        if len(epochs) != len(topic.partitions):
            epochs = [member_epoch] * len(topic.partitions)
        owned.setdefault(topic.topic_id, {}).update(zip(topic.partitions, epochs, strict=True))
    return owned
