"""SyncGroup and Heartbeat to a classic group."""

from distributedlog.coordination import Context
from distributedlog.groups import consumer_classic, records
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.classic_rebalance import renew_session, sync_key
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupResponse


def sync_group(state: CoordinatorState, context: Context, request: SyncGroupRequest, out: Outcome) -> None:
    """Handle a SyncGroup; a follower's reply comes when the leader's assignment is persisted."""
    try:
        if not request.group_id:
            raise GroupError(ErrorCode.INVALID_GROUP_ID)
        group = state.groups.get(request.group_id)
        if group is None or group.is_empty:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ConsumerGroup):
            consumer_classic.sync(state, group, context, request, out)
        else:
            _sync_classic(state, group, context, request, out)
    except GroupError as error:
        out.reply(context, SyncGroupResponse(error_code=error.code))


def _differs(given: str | None, known: str | None) -> bool:
    return given is not None and known is not None and given != known


def _sync_classic(
    state: CoordinatorState, group: ClassicGroup, context: Context, request: SyncGroupRequest, out: Outcome
) -> None:
    member = group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise GroupError(ErrorCode.ILLEGAL_GENERATION)
    if _differs(request.protocol_type, group.protocol_type) or _differs(
        request.protocol_name, group.protocol
    ):
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is ClassicState.PREPARING_REBALANCE:
        raise GroupError(ErrorCode.REBALANCE_IN_PROGRESS)

    group.pending_syncs.discard(member.member_id)
    if not group.pending_syncs:
        state.timers.cancel(sync_key(group))
    if group.state is ClassicState.STABLE:
        out.reply(context, _assigned(group, member.assignment))
        return
    if member.syncing is not None:
        out.reply(member.syncing, SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS))
    member.syncing = context
    if group.leader_id == member.member_id:
        _share_out(state, group, context.now_ms, request, out)


def _share_out(
    state: CoordinatorState, group: ClassicGroup, now_ms: int, request: SyncGroupRequest, out: Outcome
) -> None:
    """The leader has decided. Replaying the record makes the group stable; the answers wait for it."""
    assignments = {given.member_id: given.assignment for given in request.assignments}
    change = records.classic_group(group, group.members.values(), assignments)
    change.value.current_state_timestamp = now_ms
    out.changes.append(change)
    for member in group.members.values():
        if member.syncing is not None:
            out.reply(member.syncing, _assigned(group, assignments.get(member.member_id, b"")))
            member.syncing = None
            renew_session(state, group, member, now_ms)


def _assigned(group: ClassicGroup, assignment: bytes) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=assignment
    )


def heartbeat(state: CoordinatorState, context: Context, request: HeartbeatRequest, out: Outcome) -> None:
    """Handle a Heartbeat: REBALANCE_IN_PROGRESS is how a member learns that it is to join anew."""
    error = ErrorCode.NONE
    try:
        if not request.group_id:
            raise GroupError(ErrorCode.INVALID_GROUP_ID)
        group = state.groups.get(request.group_id)
        if group is None:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
        if isinstance(group, ConsumerGroup):
            error = consumer_classic.heartbeat(state, group, context, request)
        else:
            member = _alive_member(group, request)
            renew_session(state, group, member, context.now_ms)
            if group.state is ClassicState.PREPARING_REBALANCE:
                error = ErrorCode.REBALANCE_IN_PROGRESS
    except GroupError as refusal:
        error = refusal.code
    out.reply(context, HeartbeatResponse(error_code=error))


def _alive_member(group: ClassicGroup, request: HeartbeatRequest) -> ClassicMember:
    member = group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise GroupError(ErrorCode.ILLEGAL_GENERATION)
    return member
