"""From a record to the hard state of a classic group."""

from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.classic_member import ClassicMember
from distributedlog.groups.classic_rebalance import session_key
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.values.group_records import GroupMetadataKey, GroupMetadataValue, MemberMetadata


def replay_classic_group(
    state: CoordinatorState, key: GroupMetadataKey, value: GroupMetadataValue | None
) -> None:
    """Make a group what its newest record says.

    While the coordinator runs, the record is one that it has just written itself, and the group that
    wrote it is there: it keeps what records do not tell (waiting requests, the members' other protocols).
    """
    group_id = key.group
    existing = state.groups.get(group_id)
    staged = state.staged.pop(group_id, None)
    if value is None:
        if isinstance(existing, ClassicGroup):
            del state.groups[group_id]
        return
    if staged is not None and staged.generation == value.generation:
        staged.committed = value
        state.groups[group_id] = staged
        return
    group = existing if isinstance(existing, ClassicGroup) else ClassicGroup(group_id)
    state.groups[group_id] = group
    group.committed = value
    if value.members or value.generation != group.generation or not group.members:
        _take_over(state, group, value)


def _take_over(state: CoordinatorState, group: ClassicGroup, value: GroupMetadataValue) -> None:
    replaced_id, replacement = group.replacement or ("", None)
    group.replacement = None
    members: list[ClassicMember] = []
    for written in value.members:
        member = group.members.get(written.member_id)
        if member is None and replacement is not None and replacement.member_id == written.member_id:
            member = replacement
            state.timers.cancel(session_key(group, replaced_id))
        if member is None:
            member = _member_of(written, value)
        member.assignment = written.assignment
        members.append(member)
    group.generation = value.generation
    group.protocol_type = value.protocol_type or None
    group.protocol = value.protocol
    group.reset_members(members, value.leader)
    group.state = ClassicState.STABLE if members else ClassicState.EMPTY
    group.state_timestamp_ms = value.current_state_timestamp
    group.subscribed_topics = group.compute_subscribed_topics()


def _member_of(written: MemberMetadata, value: GroupMetadataValue) -> ClassicMember:
    timeout_ms = written.rebalance_timeout
    return ClassicMember(
        member_id=written.member_id,
        instance_id=written.group_instance_id,
        client_id=written.client_id,
        client_host=written.client_host,
        rebalance_timeout_ms=written.session_timeout if timeout_ms == -1 else timeout_ms,
        session_timeout_ms=written.session_timeout,
        protocol_type=value.protocol_type,
        protocols={value.protocol or "": written.subscription},
        assignment=written.assignment,
    )
