"""JoinGroup to a classic group, or to one that this request creates."""

from distributedlog.coordination import Context
from distributedlog.groups import consumer_classic, records
from distributedlog.groups.classic_group import ClassicGroup, ClassicState, elect_protocol
from distributedlog.groups.classic_member import ClassicMember, protocols_of
from distributedlog.groups.classic_rebalance import (
    answer_join,
    answer_sync,
    complete_if_all_joined,
    generation_response,
    prepare_rebalance,
    rebalance_or_complete,
    renew_session,
    session_key,
)
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k11_join_group import (
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from distributedlog.wire.k14_sync_group import SyncGroupResponse

KNOWN_MEMBER_ID_VERSION = 4
SKIP_ASSIGNMENT_VERSION = 9
MEMBER_ID_PREFIX_LENGTH_MAX = 255


def join_group(state: CoordinatorState, context: Context, request: JoinGroupRequest, out: Outcome) -> None:
    """Handle a JoinGroup; the reply may come with a later outcome."""
    config = state.config
    try:
        if not request.group_id:
            raise GroupError(ErrorCode.INVALID_GROUP_ID)
        timeout_ms = request.session_timeout_ms
        if not config.group_min_session_timeout_ms <= timeout_ms <= config.group_max_session_timeout_ms:
            raise GroupError(ErrorCode.INVALID_SESSION_TIMEOUT)
        if request.rebalance_timeout_ms < 0:
            request.rebalance_timeout_ms = timeout_ms
        group = state.groups.get(request.group_id)
        if isinstance(group, ConsumerGroup) and not group.is_empty:
            consumer_classic.join(state, group, context, request, out)
        else:
            _join_classic(state, context, request, out)
    except GroupError as error:
        out.changes.clear()
        out.reply(context, JoinGroupResponse(error_code=error.code, member_id=request.member_id))


def _join_classic(state: CoordinatorState, context: Context, request: JoinGroupRequest, out: Outcome) -> None:
    existing = state.groups.get(request.group_id)
    if isinstance(existing, ClassicGroup):
        group = existing
    elif request.member_id:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
    else:
        group = ClassicGroup(request.group_id, context.now_ms)

    if not _has_room(state, group, request.member_id):
        group.remove(request.member_id)
        state.timers.cancel(session_key(group, request.member_id))
        request.member_id = ""
        raise GroupError(ErrorCode.GROUP_MAX_SIZE_REACHED)
    protocols = protocols_of(request.protocols)
    if not group.supports(request.protocol_type, protocols):
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)

    if group is not existing:
        # Replaying the record puts the staged group in place of what was there.
        if isinstance(existing, ConsumerGroup):
            out.changes.extend(existing.tombstones())
        state.staged[group.group_id] = group
        out.changes.append(records.new_classic_group(group))
    if request.member_id:
        _join_again(state, group, context, request, protocols, out)
    else:
        _join_anew(state, group, context, request, protocols, out)


def _has_room(state: CoordinatorState, group: ClassicGroup, member_id: str) -> bool:
    """Whether the group takes the member in. While it prepares, those who came first have the places."""
    size_max = state.config.group_max_size
    member = group.members.get(member_id)
    if group.state is ClassicState.EMPTY:
        return True
    if group.state is ClassicState.PREPARING_REBALANCE:
        return (member is not None and member.joining is not None) or group.waiting_joins < size_max
    return member is not None or len(group.members) < size_max


def _member_id(state: CoordinatorState, prefix: str) -> str:
    """An id that tells whose it is. It is a string of the protocol too, so the prefix has a limit."""
    return f"{prefix[:MEMBER_ID_PREFIX_LENGTH_MAX]}-{state.new_id()}"


def _join_anew(
    state: CoordinatorState,
    group: ClassicGroup,
    context: Context,
    request: JoinGroupRequest,
    protocols: dict[str, bytes],
    out: Outcome,
) -> None:
    instance_id = request.group_instance_id
    if instance_id is not None:
        member_id = _member_id(state, instance_id)
        old_member_id = group.static_members.get(instance_id)
        if old_member_id is None:
            _add_member(state, group, context, request, member_id, protocols, out)
        else:
            _replace_static_member(state, group, context, request, old_member_id, member_id, protocols, out)
        return

    member_id = _member_id(state, context.client_id)
    if context.api_version < KNOWN_MEMBER_ID_VERSION:
        _add_member(state, group, context, request, member_id, protocols, out)
        return
    group.pending_joins.add(member_id)
    state.timers.set(session_key(group, member_id), context.now_ms + request.session_timeout_ms)
    out.reply(context, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))


def _join_again(
    state: CoordinatorState,
    group: ClassicGroup,
    context: Context,
    request: JoinGroupRequest,
    protocols: dict[str, bytes],
    out: Outcome,
) -> None:
    member_id = request.member_id
    if member_id in group.pending_joins:
        if request.group_instance_id is not None:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
        _add_member(state, group, context, request, member_id, protocols, out)
        return

    member = group.validate_member(member_id, request.group_instance_id)
    leads = group.leader_id == member_id
    if group.state is ClassicState.EMPTY:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
    unchanged = member.offers(protocols)
    if (group.state is ClassicState.COMPLETING_REBALANCE and unchanged) or (
        group.state is ClassicState.STABLE and unchanged and not leads
    ):
        # The answer got lost, or the member only wants to sync: tell the generation once more. A stable
        # group's leader is different: it joins to have topics shared out that nobody else watches.
        out.reply(context, generation_response(group, member))
        return
    _update_member(group, member, context, request, protocols, out)
    rebalance_or_complete(state, group, context.now_ms, out)


def _update_member(
    group: ClassicGroup,
    member: ClassicMember,
    context: Context,
    request: JoinGroupRequest,
    protocols: dict[str, bytes],
    out: Outcome,
) -> None:
    group.update(member, protocols)
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    # A request that was sent again takes the place of the one before it, which its client has given up.
    answer_join(group, member, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), out)
    member.joining = context
    group.waiting_joins += 1


def _new_member(
    context: Context, request: JoinGroupRequest, member_id: str, protocols: dict[str, bytes]
) -> ClassicMember:
    return ClassicMember(
        member_id=member_id,
        instance_id=request.group_instance_id,
        client_id=context.client_id,
        client_host=context.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        protocol_type=request.protocol_type,
        protocols=protocols,
    )


def _add_member(
    state: CoordinatorState,
    group: ClassicGroup,
    context: Context,
    request: JoinGroupRequest,
    member_id: str,
    protocols: dict[str, bytes],
    out: Outcome,
) -> None:
    member = _new_member(context, request, member_id, protocols)
    member.is_new = True
    member.joining = context
    group.add(member)
    if group.state is ClassicState.PREPARING_REBALANCE and group.is_initial_rebalance:
        group.joined_since_wakeup = True
    # It does not know its id yet and cannot send heartbeats; its request is what expires.
    state.timers.set(session_key(group, member_id), context.now_ms + state.config.new_member_join_timeout_ms)
    rebalance_or_complete(state, group, context.now_ms, out)


def _replace_static_member(
    state: CoordinatorState,
    group: ClassicGroup,
    context: Context,
    request: JoinGroupRequest,
    old_member_id: str,
    member_id: str,
    protocols: dict[str, bytes],
    out: Outcome,
) -> None:
    """A static member came back under a new id; its old self is fenced from now on (KIP-345).

    In a stable group nothing else changes, if the choice of the protocol stands: the new id is persisted
    and the member gets its old assignment back.
    """
    old = group.members[old_member_id]
    member = _new_member(context, request, member_id, protocols)
    member.assignment = old.assignment
    now_ms = context.now_ms
    renew_session(state, group, member, now_ms)

    if group.state is ClassicState.STABLE:
        members = [member if m is old else m for m in group.members.values()]
        if elect_protocol(members) == group.protocol:
            _persist_replacement(group, context, old, member, members, out)
            return

    fenced = ErrorCode.FENCED_INSTANCE_ID
    answer_join(group, old, JoinGroupResponse(error_code=fenced, member_id=old_member_id), out)
    answer_sync(old, SyncGroupResponse(error_code=fenced), out)
    member.joining = context
    group.replace(old_member_id, member)
    state.timers.cancel(session_key(group, old_member_id))
    if group.is_settled:
        # In CompletingRebalance the leader may be sharing out to the old id at this moment.
        prepare_rebalance(state, group, now_ms, out)
    else:
        complete_if_all_joined(state, group, now_ms, out)


def _persist_replacement(
    group: ClassicGroup,
    context: Context,
    old: ClassicMember,
    member: ClassicMember,
    members: list[ClassicMember],
    out: Outcome,
) -> None:
    group.replacement = (old.member_id, member)
    old_leader = group.leader_id or ""
    leads = group.leader_id == old.member_id
    leader = member.member_id if leads else old_leader
    change = records.classic_group(group, members, {m.member_id: m.assignment for m in members})
    change.value.leader = leader
    out.changes.append(change)
    response = JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        member_id=member.member_id,
    )
    if context.api_version >= SKIP_ASSIGNMENT_VERSION:
        response.leader = leader
        response.skip_assignment = leads
        if leads:
            # With the whole group in hand, the leader can watch its topics without sharing out anew.
            protocol = group.protocol or ""
            response.members = [
                JoinGroupResponseMember(m.member_id, m.instance_id, m.protocols.get(protocol, b""))
                for m in members
            ]
    else:
        # An old client that found itself to be the leader would share out; the old leader's id stops it.
        response.leader = old_leader
    out.reply(context, response)
