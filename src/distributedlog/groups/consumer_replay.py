"""From records to the hard state of consumer groups.

A tombstone for what is not there is nothing: a compacted log may have kept it alone.
"""

from typing import Any

from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import LEAVE_EPOCH, ConsumerMember, MemberState, ResolvedRegex
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.values.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMetadataKey,
)

ConsumerKey = (
    ConsumerGroupMetadataKey
    | ConsumerGroupPartitionMetadataKey
    | ConsumerGroupMemberMetadataKey
    | ConsumerGroupTargetAssignmentMetadataKey
    | ConsumerGroupTargetAssignmentMemberKey
    | ConsumerGroupCurrentMemberAssignmentKey
    | ConsumerGroupRegularExpressionKey
)


def replay_consumer_group(state: CoordinatorState, key: ConsumerKey, value: Any) -> None:
    """Apply one record; a value of None is a tombstone."""
    existing = state.groups.get(key.group_id)
    if isinstance(existing, ConsumerGroup):
        group = existing
    elif value is None or (isinstance(existing, ClassicGroup) and not existing.is_simple):
        # Records of a group that has ended in the other protocol since; its tombstones follow.
        return
    else:
        group = state.groups[key.group_id] = ConsumerGroup(key.group_id)
    if value is None:
        _delete(state, group, key)
    else:
        _put(group, key, value)


def _put(group: ConsumerGroup, key: ConsumerKey, value: Any) -> None:
    match key:
        case ConsumerGroupMetadataKey():
            group.epoch = value.epoch
            group.metadata_hash = value.metadata_hash
        case ConsumerGroupPartitionMetadataKey():
            group.has_partition_metadata_record = True
        case ConsumerGroupMemberMetadataKey():
            group.put_member(_member(group, key.member_id).with_subscription(value))
        case ConsumerGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = value.assignment_epoch
            group.assignment_timestamp_ms = value.assignment_timestamp
        case ConsumerGroupTargetAssignmentMemberKey():
            group.target[key.member_id] = {
                topic.topic_id: frozenset(topic.partitions) for topic in value.topic_partitions
            }
        case ConsumerGroupCurrentMemberAssignmentKey():
            group.put_member(_member(group, key.member_id).with_assignment(value))
        case ConsumerGroupRegularExpressionKey():
            group.resolved_regexes[key.regular_expression] = ResolvedRegex(
                frozenset(value.topics), value.version, value.timestamp
            )


def _delete(state: CoordinatorState, group: ConsumerGroup, key: ConsumerKey) -> None:
    match key:
        case ConsumerGroupMetadataKey():
            del state.groups[group.group_id]
        case ConsumerGroupPartitionMetadataKey():
            group.has_partition_metadata_record = False
        case ConsumerGroupMemberMetadataKey():
            group.remove_member(key.member_id)
        case ConsumerGroupTargetAssignmentMetadataKey():
            group.assignment_epoch = -1
        case ConsumerGroupTargetAssignmentMemberKey():
            group.target.pop(key.member_id, None)
        case ConsumerGroupCurrentMemberAssignmentKey():
            member = group.members.get(key.member_id)
            if member is not None:
                group.put_member(
                    member.but(
                        member_epoch=LEAVE_EPOCH,
                        previous_member_epoch=LEAVE_EPOCH,
                        state=MemberState.STABLE,
                        assigned={},
                        pending_revocation={},
                    )
                )
        case ConsumerGroupRegularExpressionKey():
            group.resolved_regexes.pop(key.regular_expression, None)


def _member(group: ConsumerGroup, member_id: str) -> ConsumerMember:
    return group.members.get(member_id) or ConsumerMember(member_id)
