"""LeaveGroup: members that go on their own, or are sent away by their instance ids."""

from distributedlog.coordination import Context
from distributedlog.groups import consumer_classic
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.classic_rebalance import (
    complete_if_all_joined,
    drop_member,
    prepare_rebalance,
    session_key,
)
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k13_leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
)

BATCH_VERSION = 3


def leave_group(state: CoordinatorState, context: Context, request: LeaveGroupRequest, out: Outcome) -> None:
    """Handle a LeaveGroup. All who leave in one request make one rebalance."""
    leaving = request.members
    if context.api_version < BATCH_VERSION:
        leaving = [MemberIdentity(member_id=request.member_id)]
    if not request.group_id:
        out.reply(context, LeaveGroupResponse(error_code=ErrorCode.INVALID_GROUP_ID))
        return

    group = state.groups.get(request.group_id)
    if group is None:
        responses = [_response(identity, ErrorCode.UNKNOWN_MEMBER_ID) for identity in leaving]
    elif isinstance(group, ConsumerGroup):
        responses = consumer_classic.leave(state, group, leaving, context.now_ms, out)
    else:
        responses = [_response(identity, _leave(state, group, identity, out)) for identity in leaving]
        if any(response.error_code == ErrorCode.NONE for response in responses):
            if group.is_settled:
                prepare_rebalance(state, group, context.now_ms, out)
            else:
                complete_if_all_joined(state, group, context.now_ms, out)

    if context.api_version < BATCH_VERSION:
        out.reply(context, LeaveGroupResponse(error_code=responses[0].error_code))
    else:
        out.reply(context, LeaveGroupResponse(members=responses))


def _response(identity: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(identity.member_id, identity.group_instance_id, error)


def _leave(state: CoordinatorState, group: ClassicGroup, identity: MemberIdentity, out: Outcome) -> ErrorCode:
    """Take one member out. Without a member id, the instance id alone names it: an administrator asks."""
    member_id = identity.member_id
    if member_id in group.pending_joins:
        group.remove(member_id)
        state.timers.cancel(session_key(group, member_id))
        return ErrorCode.NONE
    if not member_id:
        instance_id = identity.group_instance_id
        member_id = "" if instance_id is None else group.static_members.get(instance_id, "")
        if not member_id:
            return ErrorCode.UNKNOWN_MEMBER_ID
    try:
        member = group.validate_member(member_id, identity.group_instance_id)
    except GroupError as error:
        return error.code
    state.timers.cancel(session_key(group, member_id))
    drop_member(group, member, out)
    return ErrorCode.NONE
