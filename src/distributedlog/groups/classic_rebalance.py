"""The course of a classic rebalance: who is waited for, how long, and what ends the waiting.

One change makes one rebalance: whatever happens while a group prepares joins the rebalance under way.
"""

from distributedlog.groups import records
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.outcome import Outcome, TimerKey, TimerKind
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k11_join_group import JoinGroupResponse, JoinGroupResponseMember
from distributedlog.wire.k14_sync_group import SyncGroupResponse


def session_key(group: ClassicGroup, member_id: str) -> TimerKey:
    """The timer of a member's session."""
    return TimerKey(TimerKind.CLASSIC_SESSION, group.group_id, member_id)


def join_key(group: ClassicGroup) -> TimerKey:
    """The timer that ends the join phase."""
    return TimerKey(TimerKind.CLASSIC_JOIN, group.group_id)


def sync_key(group: ClassicGroup) -> TimerKey:
    """The timer that ends the waiting for SyncGroup."""
    return TimerKey(TimerKind.CLASSIC_SYNC, group.group_id)


def renew_session(state: CoordinatorState, group: ClassicGroup, member: ClassicMember, now_ms: int) -> None:
    """The member is alive: its session starts anew."""
    state.timers.set(session_key(group, member.member_id), now_ms + member.session_timeout_ms)


def answer_join(
    group: ClassicGroup, member: ClassicMember, response: JoinGroupResponse, outcome: Outcome
) -> None:
    """Answer a waiting JoinGroup, if one waits."""
    if member.joining is not None:
        outcome.reply(member.joining, response)
        member.joining = None
        group.waiting_joins -= 1


def answer_sync(member: ClassicMember, response: SyncGroupResponse, outcome: Outcome) -> bool:
    """Answer a waiting SyncGroup, if one waits."""
    if member.syncing is None:
        return False
    outcome.reply(member.syncing, response)
    member.syncing = None
    return True


def generation_response(group: ClassicGroup, member: ClassicMember) -> JoinGroupResponse:
    """The generation as a member sees it; the leader alone sees the others."""
    leads = group.leader_id == member.member_id
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader_id or "",
        member_id=member.member_id,
        members=members_for_leader(group) if leads else [],
    )


def members_for_leader(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """All members with the metadata of the protocol that was chosen."""
    protocol = group.protocol or ""
    return [
        JoinGroupResponseMember(member.member_id, member.instance_id, member.protocols.get(protocol, b""))
        for member in group.members.values()
    ]


def rebalance_or_complete(
    state: CoordinatorState, group: ClassicGroup, now_ms: int, outcome: Outcome
) -> None:
    """Something has changed: begin a rebalance, or see whether the one under way is complete now."""
    if group.state is ClassicState.PREPARING_REBALANCE:
        complete_if_all_joined(state, group, now_ms, outcome)
    else:
        prepare_rebalance(state, group, now_ms, outcome)


def prepare_rebalance(state: CoordinatorState, group: ClassicGroup, now_ms: int, outcome: Outcome) -> None:
    """Call all members to join anew."""
    if group.state is ClassicState.COMPLETING_REBALANCE:
        refuse_syncs(state, group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms, outcome)
    group.pending_syncs.clear()
    state.timers.cancel(sync_key(group))

    group.is_initial_rebalance = group.state is ClassicState.EMPTY
    group.enter(ClassicState.PREPARING_REBALANCE, now_ms)
    if group.is_initial_rebalance:
        delay_ms = state.config.group_initial_rebalance_delay_ms
        group.extension_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        group.joined_since_wakeup = False
        state.timers.set(join_key(group), now_ms + delay_ms, delay_ms)
    elif group.has_all_joined:
        complete_join(state, group, now_ms, outcome)
    else:
        state.timers.set(join_key(group), now_ms + group.rebalance_timeout_ms)


def refuse_syncs(
    state: CoordinatorState, group: ClassicGroup, error: ErrorCode, now_ms: int, outcome: Outcome
) -> None:
    """The generation is not to be: forget its assignments and answer who waits for them."""
    for member in group.members.values():
        member.assignment = b""
        if answer_sync(member, SyncGroupResponse(error_code=error), outcome):
            renew_session(state, group, member, now_ms)


def complete_if_all_joined(
    state: CoordinatorState, group: ClassicGroup, now_ms: int, outcome: Outcome
) -> None:
    """End the join phase if nobody is missing; the first one of an empty group takes its time."""
    if (
        group.state is ClassicState.PREPARING_REBALANCE
        and not group.is_initial_rebalance
        and group.has_all_joined
    ):
        complete_join(state, group, now_ms, outcome)


def end_join_phase(
    state: CoordinatorState, group: ClassicGroup, delay_ms: int, now_ms: int, outcome: Outcome
) -> None:
    """The join timer fired. ``delay_ms`` is how long it had been set for in an initial rebalance."""
    if group.state is not ClassicState.PREPARING_REBALANCE:
        return
    if group.is_initial_rebalance and group.joined_since_wakeup and group.extension_ms:
        group.joined_since_wakeup = False
        next_delay_ms = min(state.config.group_initial_rebalance_delay_ms, group.extension_ms)
        group.extension_ms = max(group.extension_ms - delay_ms, 0)
        state.timers.set(join_key(group), now_ms + next_delay_ms, next_delay_ms)
    else:
        complete_join(state, group, now_ms, outcome)


def complete_join(state: CoordinatorState, group: ClassicGroup, now_ms: int, outcome: Outcome) -> None:
    """End the join phase: dynamic members that did not come are out, the others have a generation.

    Static members stay, joined or not; their session decides. If nobody at all has come there is nobody to
    lead, and the group goes on waiting until sessions have run out.
    """
    state.timers.cancel(join_key(group))
    for member in list(group.members.values()):
        if member.joining is None and member.instance_id is None:
            group.remove(member.member_id)
            state.timers.cancel(session_key(group, member.member_id))

    if group.members and not group.elect_joined_leader():
        state.timers.set(join_key(group), now_ms + group.rebalance_timeout_ms)
        return

    group.is_initial_rebalance = False
    group.next_generation(now_ms)
    if group.is_empty:
        outcome.changes.append(records.classic_group(group, (), {}))
        return

    for member in group.members.values():
        answer_join(group, member, generation_response(group, member), outcome)
        renew_session(state, group, member, now_ms)
        member.is_new = False
        group.pending_syncs.add(member.member_id)
    state.timers.set(sync_key(group), now_ms + group.rebalance_timeout_ms, group.generation)


def end_sync_phase(
    state: CoordinatorState, group: ClassicGroup, generation: int, now_ms: int, outcome: Outcome
) -> None:
    """The sync timer fired: members that never asked for their assignment are out."""
    if generation != group.generation or not group.is_settled or not group.pending_syncs:
        return
    for member_id in sorted(group.pending_syncs):
        group.remove(member_id)
        state.timers.cancel(session_key(group, member_id))
    prepare_rebalance(state, group, now_ms, outcome)


def end_session(
    state: CoordinatorState, group: ClassicGroup, member_id: str, now_ms: int, outcome: Outcome
) -> None:
    """A session timer fired. Who waits for an answer is alive, unless it never had one."""
    member = group.members.get(member_id)
    if member_id in group.pending_joins:
        group.remove(member_id)
    elif member is not None and not member.is_alive_by_waiting:
        drop_member(group, member, outcome)
        if group.is_settled:
            prepare_rebalance(state, group, now_ms, outcome)
            return
    else:
        return
    if group.state is ClassicState.PREPARING_REBALANCE and group.has_all_joined:
        complete_join(state, group, now_ms, outcome)


def drop_member(group: ClassicGroup, member: ClassicMember, outcome: Outcome) -> None:
    """Take a member out. If its JoinGroup waits, it is told to begin from the start."""
    answer_join(group, member, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), outcome)
    answer_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), outcome)
    group.remove(member.member_id)
