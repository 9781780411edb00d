"""ListGroups, DescribeGroups, ConsumerGroupDescribe and DeleteGroups."""

from collections.abc import Iterable, Mapping

from distributedlog.coordination import Context
from distributedlog.groups.classic_group import ClassicGroup, ClassicState
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember
from distributedlog.groups.errors import GroupError
from distributedlog.groups.offset_expiry import all_offset_tombstones, group_tombstones
from distributedlog.groups.outcome import Outcome
from distributedlog.groups.state import CoordinatorState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k15_describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from distributedlog.wire.k16_list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from distributedlog.wire.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)
from distributedlog.wire.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupMember,
    DescribedConsumerGroup,
    MemberAssignment,
    MemberTopicPartitions,
)
from distributedlog.wire.values.consumer_protocol import CONSUMER_PROTOCOL_TYPE

ERROR_VERSION = 6
_DEAD = "Dead"


def list_groups(state: CoordinatorState, context: Context, request: ListGroupsRequest, out: Outcome) -> None:
    """Handle a ListGroups. Filters do not care about case; one that names nothing finds nothing."""
    states = {name.strip().lower() for name in request.states_filter}
    types = {name.strip().lower() for name in request.types_filter}
    listed: list[ListedGroup] = []
    for group in state.groups.values():
        if isinstance(group, ClassicGroup):
            entry = ListedGroup(
                group.group_id, group.protocol_type or "", group.state.value, group_type="classic"
            )
        else:
            entry = ListedGroup(group.group_id, CONSUMER_PROTOCOL_TYPE, group.state, group_type="consumer")
        if (not states or entry.group_state.lower() in states) and (not types or entry.group_type in types):
            listed.append(entry)
    out.reply(context, ListGroupsResponse(groups=listed))


def describe_groups(
    state: CoordinatorState, context: Context, request: DescribeGroupsRequest, out: Outcome
) -> None:
    """Handle a DescribeGroups, which knows classic groups only."""
    described: list[DescribedGroup] = []
    for group_id in request.groups:
        try:
            described.append(_describe_classic(state.classic_group(group_id)))
        except GroupError as error:
            dead = DescribedGroup(group_id=group_id, group_state=_DEAD)
            if context.api_version >= ERROR_VERSION:
                dead.error_code = error.code
                dead.error_message = error.message
            described.append(dead)
    out.reply(context, DescribeGroupsResponse(groups=described))


def _describe_classic(group: ClassicGroup) -> DescribedGroup:
    """While a group is in motion its members have nothing to show."""
    is_stable = group.state is ClassicState.STABLE
    protocol = (group.protocol or "") if is_stable else ""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol,
        members=[
            DescribedGroupMember(
                member.member_id,
                member.instance_id,
                member.client_id,
                member.client_host,
                member.protocols.get(protocol, b"") if is_stable else b"",
                member.assignment if is_stable else b"",
            )
            for member in group.members.values()
        ],
    )


def consumer_group_describe(
    state: CoordinatorState, context: Context, request: ConsumerGroupDescribeRequest, out: Outcome
) -> None:
    """Handle a ConsumerGroupDescribe, which knows groups of the new protocol only."""
    described: list[DescribedConsumerGroup] = []
    for group_id in request.group_ids:
        try:
            if not group_id:
                raise GroupError(ErrorCode.INVALID_GROUP_ID)
            described.append(_describe_consumer(state, state.consumer_group(group_id)))
        except GroupError as error:
            described.append(
                DescribedConsumerGroup(error_code=error.code, error_message=error.message, group_id=group_id)
            )
    out.reply(context, ConsumerGroupDescribeResponse(groups=described))


def _describe_consumer(state: CoordinatorState, group: ConsumerGroup) -> DescribedConsumerGroup:
    return DescribedConsumerGroup(
        group_id=group.group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor(group.members) or state.config.group_consumer_assignors[0],
        members=[_describe_member(state, group, member) for member in group.members.values()],
    )


def _describe_member(
    state: CoordinatorState, group: ConsumerGroup, member: ConsumerMember
) -> ConsumerGroupMember:
    return ConsumerGroupMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.member_epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.subscribed_topic_names),
        subscribed_topic_regex=member.subscribed_topic_regex,
        assignment=_described(state, member.assigned),
        target_assignment=_described(state, group.target_of(member.member_id)),
        member_type=1 if member.classic is None else 0,
    )


def _described(state: CoordinatorState, assignment: Mapping[bytes, Iterable[int]]) -> MemberAssignment:
    topics: list[MemberTopicPartitions] = []
    for topic_id, partitions in assignment.items():
        topic = state.image.by_id(topic_id)
        if topic is not None:
            topics.append(MemberTopicPartitions(topic_id, topic.name, sorted(partitions)))
    return MemberAssignment(topics)


def delete_groups(
    state: CoordinatorState, context: Context, request: DeleteGroupsRequest, out: Outcome
) -> None:
    """Handle a DeleteGroups: groups without members go, and their offsets with them."""
    results: list[DeletableGroupResult] = []
    for group_id in request.groups_names:
        error_code = ErrorCode.NONE
        try:
            group = state.group(group_id)
            if not group.is_empty:
                raise GroupError(ErrorCode.NON_EMPTY_GROUP)
            out.changes.extend(all_offset_tombstones(state, group_id))
            out.changes.extend(group_tombstones(group))
        except GroupError as error:
            error_code = error.code
        results.append(DeletableGroupResult(group_id, error_code))
    out.reply(context, DeleteGroupsResponse(results=results))
