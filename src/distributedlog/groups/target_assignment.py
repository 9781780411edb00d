"""Asking the assignor, and writing down what is different from before."""

from collections.abc import Mapping
from typing import Final

from distributedlog.groups import records
from distributedlog.groups.assignment import EMPTY_ASSIGNMENT, Assignment, Assignor, GroupSpec, MemberSpec
from distributedlog.groups.assignor_range import assign_range
from distributedlog.groups.assignor_uniform import assign_uniform
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}


def update_target(
    state: CoordinatorState,
    group: ConsumerGroup,
    epoch: int,
    updated: ConsumerMember,
    now_ms: int,
    out: Outcome,
) -> tuple[int, Assignment]:
    """The epoch of the target and the member's part in it, computed anew if the group's epoch asks for it.

    Two assignments of a group are at least ``group.consumer.assignment.interval.ms`` apart: until then the
    last one holds, and many members that come at once make few assignments.
    """
    target = group.target_of(updated.member_id, updated.instance_id)
    if epoch <= group.assignment_epoch:
        return group.assignment_epoch, target
    interval_ms = state.config.consumer_assignment_interval_ms(group.group_id)
    last_ms = group.assignment_timestamp_ms
    if last_ms and interval_ms and now_ms < last_ms + interval_ms:
        return group.assignment_epoch, target

    replaced = group.static_member(updated.instance_id)
    without = () if replaced is None or replaced.member_id == updated.member_id else (replaced.member_id,)
    members = group.members_with([updated], without)
    name = group.preferred_assignor(members) or state.config.group_consumer_assignors[0]
    targets = ASSIGNORS[name](_question(state, group, members))
    for member_id, assignment in targets.items():
        if assignment != group.target.get(member_id):
            out.changes.append(records.target_assignment(group.group_id, member_id, assignment))
    out.changes.append(records.target_assignment_epoch(group.group_id, epoch, now_ms))
    return epoch, targets.get(updated.member_id, EMPTY_ASSIGNMENT)


def _question(
    state: CoordinatorState, group: ConsumerGroup, members: Mapping[str, ConsumerMember]
) -> GroupSpec:
    ids: dict[str, bytes] = {}
    partitions: dict[bytes, int] = {}
    for name in group.subscribed_topics(members):
        topic = state.image.named(name)
        if topic is not None:
            ids[name] = topic.topic_id
            partitions[topic.topic_id] = topic.partitions
    specs = {
        member_id: MemberSpec(
            frozenset(ids[name] for name in group.topics_of(member) if name in ids),
            group.target_of(member_id, member.instance_id),
        )
        for member_id, member in members.items()
    }
    return GroupSpec(specs, partitions)
