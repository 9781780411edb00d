"""Members of a consumer group that go, or are sent away because their time ran out."""

from collections.abc import Iterable

from distributedlog.coordination import Context
from distributedlog.groups import records
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import LEAVE_STATIC_EPOCH, ConsumerMember
from distributedlog.groups.consumer_timers import cancel_all
from distributedlog.groups.downgrade import can_downgrade, downgrade_to_classic
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome, TimerKey, TimerKind
from distributedlog.groups.state import CoordinatorState
from distributedlog.groups.topics import metadata_hash
from distributedlog.wire.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)


def leave(
    state: CoordinatorState, context: Context, request: ConsumerGroupHeartbeatRequest, out: Outcome
) -> ConsumerGroupHeartbeatResponse:
    """Handle a heartbeat that says good-bye."""
    group = state.consumer_group(request.group_id)
    member = group.validate_member(request.member_id, request.instance_id)
    if request.member_epoch == LEAVE_STATIC_EPOCH:
        away = member.but(member_epoch=LEAVE_STATIC_EPOCH, pending_revocation={})
        out.changes.append(records.current_assignment(group.group_id, away))
    else:
        remove_members(state, group, [member], context.now_ms, out)
    return ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)


def remove_members(
    state: CoordinatorState,
    group: ConsumerGroup,
    going: Iterable[ConsumerMember],
    now_ms: int,
    out: Outcome,
) -> None:
    """Take members out and raise the group's epoch, once for all of them.

    If only classic members remain, the group becomes a classic one, if the settings allow that.
    """
    members = {member.member_id: member for member in going}
    if not members:
        return
    if can_downgrade(state, group, members):
        downgrade_to_classic(state, group, members, None, True, now_ms, out)
        return
    for member_id in members:
        out.changes.extend(records.member_tombstones(group.group_id, member_id))
        cancel_all(state, group.group_id, member_id)
    staying = group.members_with(without=members)
    for regex in sorted(_abandoned_regexes(members, staying)):
        out.changes.append(records.resolved_regex_tombstone(group.group_id, regex))
    fresh = metadata_hash(group.subscribed_topics(staying), state.image)
    out.changes.append(records.consumer_group_epoch(group.group_id, group.epoch + 1, fresh))


def _abandoned_regexes(going: dict[str, ConsumerMember], staying: dict[str, ConsumerMember]) -> set[str]:
    gone = {member.subscribed_topic_regex for member in going.values()}
    kept = {member.subscribed_topic_regex for member in staying.values()}
    return {regex for regex in gone - kept if regex}


def end_deadline(state: CoordinatorState, key: TimerKey, epoch: int, now_ms: int, out: Outcome) -> None:
    """A deadline of a member has passed. For a rebalance, ``epoch`` is the one it had to get out of."""
    try:
        group = state.consumer_group(key.group_id)
        member = group.member(key.member_id)
    except GroupError:
        return
    if key.kind is TimerKind.CONSUMER_REBALANCE and member.member_epoch != epoch:
        return
    remove_members(state, group, [member], now_ms, out)
