"""The records of ``__consumer_offsets`` as the coordinator writes them, in the versions that Kafka 4 does."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.offset_store import CommittedOffset
from distributedlog.groups.outcome import Change
from distributedlog.wire.schema import ZERO_UUID
from distributedlog.wire.values.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    CurrentTopicPartitions,
    TargetTopicPartitions,
)
from distributedlog.wire.values.group_records import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
    OffsetCommitKey,
    OffsetCommitValue,
)

if TYPE_CHECKING:
    from distributedlog.groups.assignment import Assignment, OwnedPartitions
    from distributedlog.groups.consumer_member import ConsumerMember, ResolvedRegex

GROUP_METADATA_VERSION: Final = 3
OFFSET_COMMIT_VERSION: Final = 4
#: The only version that carries an expiry of its own, from OffsetCommit 2 to 4.
OFFSET_COMMIT_VERSION_WITH_EXPIRY: Final = 1


def offset_commit(group_id: str, topic: str, partition: int, value: CommittedOffset) -> Change:
    """A position. One with an expiry of its own has no room for the leader epoch and the topic's id."""
    expires = value.expire_timestamp_ms != -1
    return Change(
        OffsetCommitKey(group_id, topic, partition),
        OffsetCommitValue(
            offset=value.offset,
            leader_epoch=-1 if expires else value.leader_epoch,
            metadata=value.metadata,
            commit_timestamp=value.commit_timestamp_ms,
            expire_timestamp=value.expire_timestamp_ms,
            topic_id=ZERO_UUID if expires else value.topic_id,
        ),
        OFFSET_COMMIT_VERSION_WITH_EXPIRY if expires else OFFSET_COMMIT_VERSION,
    )


def offset_tombstone(group_id: str, topic: str, partition: int) -> Change:
    """The end of a position."""
    return Change(OffsetCommitKey(group_id, topic, partition))


def classic_group(
    group: ClassicGroup, members: Iterable[ClassicMember], assignments: Mapping[str, bytes]
) -> Change:
    """A generation with its members and what each reads."""
    protocol = group.protocol
    return Change(
        GroupMetadataKey(group.group_id),
        GroupMetadataValue(
            protocol_type=group.protocol_type or "",
            generation=group.generation,
            protocol=protocol,
            leader=group.leader_id,
            current_state_timestamp=group.state_timestamp_ms,
            members=[
                MemberMetadata(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    client_id=member.client_id,
                    client_host=member.client_host,
                    rebalance_timeout=member.rebalance_timeout_ms,
                    session_timeout=member.session_timeout_ms,
                    subscription=b"" if protocol is None else member.protocols.get(protocol, b""),
                    assignment=assignments.get(member.member_id, b""),
                )
                for member in members
            ],
        ),
        GROUP_METADATA_VERSION,
    )


def new_classic_group(group: ClassicGroup) -> Change:
    """The first record of a group, which has no generation yet."""
    return Change(
        GroupMetadataKey(group.group_id),
        GroupMetadataValue(
            protocol_type="",
            generation=0,
            protocol=None,
            leader=None,
            current_state_timestamp=group.state_timestamp_ms,
        ),
        GROUP_METADATA_VERSION,
    )


def classic_group_tombstone(group_id: str) -> Change:
    """The end of a classic group."""
    return Change(GroupMetadataKey(group_id))


def consumer_group_epoch(group_id: str, epoch: int, metadata_hash: int) -> Change:
    """A change of members, subscriptions or topics, which calls for a new assignment."""
    return Change(ConsumerGroupMetadataKey(group_id), ConsumerGroupMetadataValue(epoch, metadata_hash))


def member_subscription(group_id: str, member: "ConsumerMember") -> Change:
    """A member of a consumer group, without what it owns."""
    return Change(
        ConsumerGroupMemberMetadataKey(group_id, member.member_id),
        ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=sorted(member.subscribed_topic_names),
            subscribed_topic_regex=member.subscribed_topic_regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.server_assignor,
            classic_member_metadata=member.classic,
        ),
    )


def member_subscription_tombstone(group_id: str, member_id: str) -> Change:
    """The end of a member; after those of its assignments."""
    return Change(ConsumerGroupMemberMetadataKey(group_id, member_id))


def target_assignment(group_id: str, member_id: str, assignment: "Assignment") -> Change:
    """What a member is to have."""
    return Change(
        ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        ConsumerGroupTargetAssignmentMemberValue(
            [TargetTopicPartitions(topic, sorted(partitions)) for topic, partitions in assignment.items()]
        ),
    )


def target_assignment_tombstone(group_id: str, member_id: str) -> Change:
    """A member is to have nothing any more, because it is gone."""
    return Change(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id))


def target_assignment_epoch(group_id: str, epoch: int, timestamp_ms: int) -> Change:
    """The epoch for which the target assignments were computed; after them."""
    return Change(
        ConsumerGroupTargetAssignmentMetadataKey(group_id),
        ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms),
    )


def current_assignment(group_id: str, member: "ConsumerMember") -> Change:
    """How far a member has got on its way to the target."""
    return Change(
        ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        ConsumerGroupCurrentMemberAssignmentValue(
            member_epoch=member.member_epoch,
            previous_member_epoch=member.previous_member_epoch,
            state=member.state,
            assigned_partitions=_owned(member.assigned),
            partitions_pending_revocation=_owned(member.pending_revocation),
        ),
    )


def current_assignment_tombstone(group_id: str, member_id: str) -> Change:
    """A member owns nothing any more, because it is gone."""
    return Change(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id))


def resolved_regex(group_id: str, regex: str, resolved: "ResolvedRegex") -> Change:
    """The topics that a regular expression stands for."""
    return Change(
        ConsumerGroupRegularExpressionKey(group_id, regex),
        ConsumerGroupRegularExpressionValue(
            topics=sorted(resolved.topics), version=resolved.version, timestamp=resolved.timestamp_ms
        ),
    )


def resolved_regex_tombstone(group_id: str, regex: str) -> Change:
    """Nobody subscribes to the regular expression any more."""
    return Change(ConsumerGroupRegularExpressionKey(group_id, regex))


def member_tombstones(group_id: str, member_id: str) -> list[Change]:
    """Everything of one member, in the order in which replay wants it."""
    return [
        current_assignment_tombstone(group_id, member_id),
        target_assignment_tombstone(group_id, member_id),
        member_subscription_tombstone(group_id, member_id),
    ]


def consumer_group_tombstones(
    group_id: str, member_ids: Iterable[str], regexes: Iterable[str]
) -> list[Change]:
    """Everything of a consumer group, in the order in which replay wants it."""
    ids = list(member_ids)
    return [
        *(current_assignment_tombstone(group_id, member_id) for member_id in ids),
        *(target_assignment_tombstone(group_id, member_id) for member_id in ids),
        Change(ConsumerGroupTargetAssignmentMetadataKey(group_id)),
        *(member_subscription_tombstone(group_id, member_id) for member_id in ids),
        *(resolved_regex_tombstone(group_id, regex) for regex in regexes),
        partition_metadata_tombstone(group_id),
        Change(ConsumerGroupMetadataKey(group_id)),
    ]


def partition_metadata_tombstone(group_id: str) -> Change:
    """The end of what Kafka 4.0 wrote where the hash stands now."""
    return Change(ConsumerGroupPartitionMetadataKey(group_id))


def _owned(partitions: "OwnedPartitions") -> list[CurrentTopicPartitions]:
    owned: list[CurrentTopicPartitions] = []
    for topic, epochs in partitions.items():
        indexes = sorted(epochs)
        owned.append(CurrentTopicPartitions(topic, indexes, [epochs[index] for index in indexes]))
    return owned
