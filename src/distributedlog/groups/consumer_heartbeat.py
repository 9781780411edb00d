"""ConsumerGroupHeartbeat: join, stay, change the subscription, hear the assignment, leave (KIP-848)."""

from collections.abc import Iterable

from distributedlog.coordination import Context
from distributedlog.groups import records, regex_subscription
from distributedlog.groups.assignment import Assignment, OwnedPartitions
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_leave import leave
from distributedlog.groups.consumer_member import (
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    ConsumerMember,
    MemberState,
)
from distributedlog.groups.consumer_timers import rebalance_key, renew_session
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.reconciliation import Reported, reconcile
from distributedlog.groups.regex_subscription import RegexChange
from distributedlog.groups.state import CoordinatorState
from distributedlog.groups.target_assignment import update_target
from distributedlog.groups.topics import metadata_hash
from distributedlog.groups.upgrade import settle_upgrade, upgrade_to_consumer
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k68_consumer_group_heartbeat import (
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
)

OWN_MEMBER_ID_VERSION = 1


def consumer_group_heartbeat(
    state: CoordinatorState, context: Context, request: ConsumerGroupHeartbeatRequest, out: Outcome
) -> None:
    """Handle a ConsumerGroupHeartbeat."""
    try:
        _validate(state, context, request)
        if request.member_epoch in (LEAVE_EPOCH, LEAVE_STATIC_EPOCH):
            response = leave(state, context, request, out)
        else:
            response = _heartbeat(state, context, request, out)
    except GroupError as error:
        out.changes.clear()
        response = ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
    out.reply(context, response)


def _validate(state: CoordinatorState, context: Context, request: ConsumerGroupHeartbeatRequest) -> None:
    epoch = request.member_epoch
    if context.api_version >= OWN_MEMBER_ID_VERSION or epoch > 0 or epoch == LEAVE_EPOCH:
        _require(bool(request.member_id.strip()), "MemberId can't be empty.")
    _require(bool(request.group_id.strip()), "GroupId can't be empty.")
    _require(request.instance_id is None or bool(request.instance_id.strip()), "InstanceId can't be empty.")
    _require(request.rack_id is None or bool(request.rack_id.strip()), "RackId can't be empty.")
    if epoch == 0:
        _require(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        _require(request.topic_partitions == [], "TopicPartitions must be empty when (re-)joining.")
        _require(
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None,
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        )
    elif epoch == LEAVE_STATIC_EPOCH:
        _require(request.instance_id is not None, "InstanceId can't be null.")
    _require(epoch >= LEAVE_STATIC_EPOCH, "MemberEpoch is invalid.")
    assignor = request.server_assignor
    supported = state.config.group_consumer_assignors
    if assignor is not None and assignor not in supported:
        raise GroupError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {assignor} is not supported. Supported assignors: {', '.join(supported)}.",
        )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise GroupError(ErrorCode.INVALID_REQUEST, message)


def _heartbeat(
    state: CoordinatorState, context: Context, request: ConsumerGroupHeartbeatRequest, out: Outcome
) -> ConsumerGroupHeartbeatResponse:
    joins = request.member_epoch == 0
    now_ms = context.now_ms
    group = _group_for(state, request.group_id, joins, out)
    check_size(state, group, request.member_id)
    member_id = request.member_id or state.new_id()
    if request.instance_id is None:
        member = _dynamic_member(group, member_id, request, joins)
    else:
        member = static_member(group, member_id, request, joins, out)

    updated = _with_request(member, context, request)
    names_changed = put_subscription(group, member, updated, out)
    regex_change = regex_subscription.change(state, group, member, updated, now_ms, out)
    epoch = group.epoch
    bump = epoch == 0 or names_changed or regex_change is RegexChange.RESOLVED
    if bump or group.has_stale_metadata:
        epoch = update_metadata(state, group, updated, bump, out)

    target_epoch, target = update_target(state, group, epoch, updated, now_ms, out)
    changed = names_changed or regex_change is not RegexChange.NONE
    reported = request.topic_partitions
    moved = step(state, group, updated, target_epoch, target, changed, reported, now_ms, out)

    upgraded = state.groups.get(group.group_id)
    if isinstance(upgraded, ClassicGroup):
        settle_upgrade(state, upgraded, now_ms, out)
    renew_session(state, group.group_id, member_id, now_ms)
    response = ConsumerGroupHeartbeatResponse(
        member_id=moved.member_id,
        member_epoch=moved.member_epoch,
        heartbeat_interval_ms=state.config.consumer_heartbeat_interval_ms(group.group_id),
    )
    if joins or _is_full(request) or moved.assigned != member.assigned:
        response.assignment = _assignment(moved.assigned)
    return response


def _group_for(state: CoordinatorState, group_id: str, joins: bool, out: Outcome) -> ConsumerGroup:
    """The group; one that is not there yet exists only in this request, until replay makes it."""
    group = state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if not joins:
        return state.consumer_group(group_id)
    if group is None:
        return ConsumerGroup(group_id)
    if group.is_empty:
        out.changes.append(records.classic_group_tombstone(group_id))
        return ConsumerGroup(group_id)
    return upgrade_to_consumer(state, group, out)


def check_size(state: CoordinatorState, group: ConsumerGroup, member_id: str) -> None:
    """Refuse a newcomer for whom there is no room."""
    size_max = state.config.group_consumer_max_size
    if len(group.members) >= size_max and member_id not in group.members:
        raise GroupError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {size_max} members.",
        )


def _dynamic_member(
    group: ConsumerGroup, member_id: str, request: ConsumerGroupHeartbeatRequest, joins: bool
) -> ConsumerMember:
    member = group.members.get(member_id)
    if member is None:
        if not joins:
            return group.member(member_id)
        return ConsumerMember(member_id)
    _fence(member, request)
    return member


def static_member(
    group: ConsumerGroup,
    member_id: str,
    request: ConsumerGroupHeartbeatRequest,
    joins: bool,
    out: Outcome,
) -> ConsumerMember:
    """The member behind an instance id. If the one before has said that it goes, the new one is it."""
    if not joins:
        member = group.validate_member(member_id, request.instance_id)
        _fence(member, request)
        return member
    before = group.static_member(request.instance_id)
    if before is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    if before.classic is None and before.member_epoch != LEAVE_STATIC_EPOCH:
        raise GroupError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {request.instance_id} cannot join the group because "
            f"the instance id is owned by {before.member_id} member.",
        )
    return replace_static_member(group, before, member_id, out)


def replace_static_member(
    group: ConsumerGroup, before: ConsumerMember, member_id: str, out: Outcome
) -> ConsumerMember:
    """Hand all that a static member has to its successor."""
    member = before.but(member_id=member_id, member_epoch=0, previous_member_epoch=0)
    out.changes.extend(records.member_tombstones(group.group_id, before.member_id))
    out.changes.append(records.member_subscription(group.group_id, member))
    target = group.target_of(before.member_id)
    out.changes.append(records.target_assignment(group.group_id, member_id, target))
    out.changes.append(records.current_assignment(group.group_id, member))
    return member


def _fence(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """Refuse an epoch that is not the member's.

    0 joins anew. The epoch before is good if the member owns nothing that it should not: the answer which
    told it the newer one may have been lost.
    """
    epoch = request.member_epoch
    if epoch in (0, member.member_epoch):
        return
    if epoch < member.member_epoch and (
        epoch == member.previous_member_epoch and _owns_only(request.topic_partitions, member.assigned)
    ):
        return
    relation = "greater" if epoch > member.member_epoch else "smaller"
    raise GroupError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {relation} member epoch ({epoch}) than the one known by the group "
        f"coordinator ({member.member_epoch}). The member must abandon all its partitions and rejoin.",
    )


def _owns_only(reported: Reported, assigned: OwnedPartitions) -> bool:
    return reported is not None and all(
        index in assigned.get(topic.topic_id, {}) for topic in reported for index in topic.partitions
    )


def _with_request(
    member: ConsumerMember, context: Context, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember:
    """The member with what the request says. A null says nothing new."""
    names = request.subscribed_topic_names
    regex = request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return member.but(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=request.server_assignor or member.server_assignor,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if regex is None else regex,
        client_id=context.client_id,
        client_host=context.client_host,
        classic=None,
    )


def put_subscription(
    group: ConsumerGroup, member: ConsumerMember, updated: ConsumerMember, out: Outcome
) -> bool:
    """Write the member down if it is new or different; whether its topic names are others."""
    if updated is member:
        return False
    out.changes.append(records.member_subscription(group.group_id, updated))
    return updated.subscribed_topic_names != member.subscribed_topic_names


def update_metadata(
    state: CoordinatorState, group: ConsumerGroup, updated: ConsumerMember, bump: bool, out: Outcome
) -> int:
    """Take the hash of the topics anew; the group's epoch, raised if they or the members changed."""
    replaced = group.static_member(updated.instance_id)
    without = () if replaced is None or replaced.member_id == updated.member_id else (replaced.member_id,)
    topics = group.subscribed_topics(group.members_with([updated], without))
    fresh = metadata_hash(topics, state.image)
    epoch = group.epoch
    if bump or fresh != group.metadata_hash:
        epoch += 1
        out.changes.append(records.consumer_group_epoch(group.group_id, epoch, fresh))
    group.needs_refresh = False
    group.refreshed_epoch = epoch
    if group.has_partition_metadata_record:
        out.changes.append(records.partition_metadata_tombstone(group.group_id))
    return epoch


def step(
    state: CoordinatorState,
    group: ConsumerGroup,
    member: ConsumerMember,
    target_epoch: int,
    target: Assignment,
    subscription_changed: bool,
    reported: Reported,
    now_ms: int,
    out: Outcome,
) -> ConsumerMember:
    """Move the member towards its target, if it is not there, and watch that it lets go in time."""
    if not subscription_changed and member.is_reconciled_to(target_epoch):
        return member
    moved = reconcile(group, member, state.image, target_epoch, target, subscription_changed, reported)
    if moved is member:
        return member
    out.changes.append(records.current_assignment(group.group_id, moved))
    if moved.classic is None:
        key = rebalance_key(group.group_id, moved.member_id)
        if moved.state is MemberState.UNREVOKED_PARTITIONS:
            state.timers.set(key, now_ms + moved.rebalance_timeout_ms, moved.member_epoch)
        else:
            state.timers.cancel(key)
    return moved


def _is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Whether the request says everything: the member has joined, or does not know what we know."""
    return (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )


def _assignment(assigned: OwnedPartitions) -> ConsumerGroupAssignment:
    topics: Iterable[bytes] = sorted(assigned)
    return ConsumerGroupAssignment(
        [ConsumerGroupTopicPartitions(topic, sorted(assigned[topic])) for topic in topics]
    )
