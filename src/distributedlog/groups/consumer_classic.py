"""Members of the classic protocol inside of a consumer group, while the two kinds are mixed.

Their requests mean here what a heartbeat of the new protocol means: JoinGroup is a heartbeat with a full
request, SyncGroup fetches the assignment, and the member's epoch stands for the generation. The server
assigns; nobody leads.
"""

from collections.abc import Iterable

from distributedlog.coordination import Context
from distributedlog.groups import regex_subscription
from distributedlog.groups.classic_member import protocols_of
from distributedlog.groups.config import MigrationPolicy
from distributedlog.groups.consumer_classic_protocol import encode_member_assignment, reported_topics
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_heartbeat import (
    check_size,
    put_subscription,
    replace_static_member,
    step,
    update_metadata,
)
from distributedlog.groups.consumer_leave import remove_members
from distributedlog.groups.consumer_member import ConsumerMember, MemberState
from distributedlog.groups.consumer_timers import join_key, renew_session, sync_key
from distributedlog.groups.downgrade import downgrade_to_classic
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.regex_subscription import RegexChange
from distributedlog.groups.state import CoordinatorState
from distributedlog.groups.target_assignment import update_target
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupResponse
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k13_leave_group import MemberIdentity, MemberResponse
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupResponse
from distributedlog.wire.values import ConsumerProtocolSubscription, decode_subscription
from distributedlog.wire.values.consumer_group_records import ClassicMemberMetadata, ClassicProtocol
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE

KNOWN_MEMBER_ID_VERSION = 4


def join(
    state: CoordinatorState, group: ConsumerGroup, context: Context, request: JoinGroupRequest, out: Outcome
) -> None:
    """Handle a JoinGroup. The answer comes at once."""
    now_ms = context.now_ms
    instance_id = request.group_instance_id
    protocols = protocols_of(request.protocols)
    if state.config.group_consumer_migration_policy is MigrationPolicy.DISABLED:
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    member_id = request.member_id or state.new_id()
    check_size(state, group, member_id)
    if not group.supports_classic(request.protocol_type, protocols):
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    subscription = _subscription(protocols)
    if instance_id is None and not request.member_id and context.api_version >= KNOWN_MEMBER_ID_VERSION:
        out.reply(context, JoinGroupResponse(error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id=member_id))
        return

    before = group.static_member(instance_id)
    member = _joining_member(group, request, member_id, before, out)
    updated = _with_request(member, context, request, protocols, subscription)
    names_changed = put_subscription(group, member, updated, out)
    regex_change = regex_subscription.change(state, group, member, updated, now_ms, out)
    bump = names_changed or regex_change is not RegexChange.NONE
    epoch = group.epoch
    if bump or group.has_stale_metadata:
        epoch = update_metadata(state, group, updated, bump, out)

    reported = reported_topics(subscription.owned_partitions, state.image)
    if before is not None and before.classic is None and can_downgrade_by(state, group, before):
        if not bump:
            target = group.target_of(member_id, instance_id)
            updated = step(state, group, updated, group.assignment_epoch, target, bump, reported, now_ms, out)
        downgrade_to_classic(state, group, [before.member_id], updated, bump, now_ms, out)
    else:
        target_epoch, target = update_target(state, group, epoch, updated, now_ms, out)
        updated = step(state, group, updated, target_epoch, target, bump, reported, now_ms, out)
        group_id = group.group_id
        state.timers.cancel(join_key(group_id, member_id))
        renew_session(state, group_id, member_id, now_ms, request.session_timeout_ms)
        state.timers.set(sync_key(group_id, member_id), now_ms + request.rebalance_timeout_ms)
    out.reply(
        context,
        JoinGroupResponse(
            generation_id=updated.member_epoch,
            protocol_type=CONSUMER_PROTOCOL_TYPE,
            protocol_name=next(iter(protocols)),
            member_id=updated.member_id,
        ),
    )


def can_downgrade_by(state: CoordinatorState, group: ConsumerGroup, replaced: ConsumerMember) -> bool:
    """Whether the group is a classic one when a classic member takes the place of this one."""
    return (
        len(group.members) <= state.config.group_max_size
        and state.config.group_consumer_migration_policy.downgrades
        and group.all_classic_without([replaced.member_id])
    )


def _subscription(protocols: dict[str, bytes]) -> ConsumerProtocolSubscription:
    try:
        return decode_subscription(next(iter(protocols.values())))
    except ProtocolError as error:
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, str(error)) from error


def _joining_member(
    group: ConsumerGroup,
    request: JoinGroupRequest,
    member_id: str,
    before: ConsumerMember | None,
    out: Outcome,
) -> ConsumerMember:
    if request.group_instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if request.member_id:
        return group.validate_member(member_id, request.group_instance_id)
    if before is None:
        return ConsumerMember(member_id)
    return replace_static_member(group, before, member_id, out)


def _with_request(
    member: ConsumerMember,
    context: Context,
    request: JoinGroupRequest,
    protocols: dict[str, bytes],
    subscription: ConsumerProtocolSubscription,
) -> ConsumerMember:
    offered = [ClassicProtocol(name, metadata) for name, metadata in protocols.items()]
    return member.but(
        instance_id=member.instance_id if request.group_instance_id is None else request.group_instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=request.rebalance_timeout_ms,
        subscribed_topic_names=frozenset(subscription.topics),
        subscribed_topic_regex="",
        client_id=context.client_id,
        client_host=context.client_host,
        classic=ClassicMemberMetadata(request.session_timeout_ms, offered),
    )


def sync(
    state: CoordinatorState, group: ConsumerGroup, context: Context, request: SyncGroupRequest, out: Outcome
) -> None:
    """Handle a SyncGroup: the assignment is known already."""
    member, metadata = _classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    first = metadata.supported_protocols[0]
    if request.protocol_type not in (None, CONSUMER_PROTOCOL_TYPE) or request.protocol_name not in (
        None,
        first.name,
    ):
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    now_ms = context.now_ms
    group_id, member_id = group.group_id, member.member_id
    if group.epoch > member.member_epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
        _expect_join(state, group, member, now_ms)
        raise GroupError(ErrorCode.REBALANCE_IN_PROGRESS)
    state.timers.cancel(sync_key(group_id, member_id))
    renew_session(state, group_id, member_id, now_ms, metadata.session_timeout_ms)
    out.reply(
        context,
        SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=encode_member_assignment(member.assigned, first.metadata, state.image),
        ),
    )


def heartbeat(
    state: CoordinatorState, group: ConsumerGroup, context: Context, request: HeartbeatRequest
) -> ErrorCode:
    """Handle a Heartbeat: whether the member is to join, for a new epoch or to get or give partitions."""
    member, metadata = _classic_member(
        group, request.member_id, request.group_instance_id, request.generation_id
    )
    renew_session(state, group.group_id, member.member_id, context.now_ms, metadata.session_timeout_ms)
    if (
        member.member_epoch < group.epoch
        or member.state is MemberState.UNREVOKED_PARTITIONS
        or (member.state is MemberState.UNRELEASED_PARTITIONS and not group.waits_for_others(member))
    ):
        _expect_join(state, group, member, context.now_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def leave(
    state: CoordinatorState,
    group: ConsumerGroup,
    leaving: Iterable[MemberIdentity],
    now_ms: int,
    out: Outcome,
) -> list[MemberResponse]:
    """Handle a LeaveGroup, which may name members of the new protocol too."""
    going: dict[str, ConsumerMember] = {}
    responses: list[MemberResponse] = []
    for identity in leaving:
        error = ErrorCode.NONE
        try:
            member = _leaving_member(group, identity)
            going[member.member_id] = member
        except GroupError as refusal:
            error = refusal.code
        responses.append(MemberResponse(identity.member_id, identity.group_instance_id, error))
    remove_members(state, group, going.values(), now_ms, out)
    return responses


def _leaving_member(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember:
    instance_id = identity.group_instance_id
    if instance_id is not None and not identity.member_id:
        member = group.static_member(instance_id)
        if member is None:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member
    return group.validate_member(identity.member_id, instance_id)


def _classic_member(
    group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int
) -> tuple[ConsumerMember, ClassicMemberMetadata]:
    member = group.validate_member(member_id, instance_id)
    if member.classic is None:
        raise GroupError(
            ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} does not use the classic protocol."
        )
    if member.member_epoch != generation:
        raise GroupError(ErrorCode.ILLEGAL_GENERATION)
    return member, member.classic


def _expect_join(state: CoordinatorState, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> None:
    key = join_key(group.group_id, member.member_id)
    state.timers.set_if_absent(key, now_ms + member.rebalance_timeout_ms)
