"""What administrators do to consumer groups of both protocols."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import UnexpectedResponse, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import APIS, ErrorCode, ProtocolError
from distributedlog.wire.k15_describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from distributedlog.wire.k16_list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from distributedlog.wire.k69_consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedConsumerGroup,
)
from distributedlog.wire.values import decode_assignment

CONSUMER_PROTOCOL_TYPE = "consumer"
_LIST_GROUPS = 16
_CONSUMER_GROUP_DESCRIBE = 69


@dataclass(frozen=True, slots=True)
class MemberDescription:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: tuple[TopicPartition, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """``group_type`` is ``classic`` or ``consumer``; ``state`` is Kafka's word for it."""

    group_id: str
    group_type: str
    state: str
    assignor: str
    members: tuple[MemberDescription, ...] = field(default=())


async def list_groups(
    client: ClusterClient, *, states: Sequence[str] = (), types: Sequence[str] = ()
) -> list[ListedGroup]:
    """All groups of the cluster, in the order of their names: every broker knows those it coordinates."""

    async def of_node(node_id: int) -> list[ListedGroup]:
        connection = await client.connection_to(node_id)
        version = connection.versions.version_for(APIS[_LIST_GROUPS])
        request = ListGroupsRequest(list(states) if version >= 4 else [], list(types) if version >= 5 else [])
        response: ListGroupsResponse = await connection.request(request)
        check(response.error_code, f"list the groups of broker {node_id}")
        return response.groups

    async def attempt() -> list[ListedGroup]:
        await client.refresh(())
        lists = await asyncio.gather(*map(of_node, client.metadata.brokers))
        return sorted((group for groups in lists for group in groups), key=lambda group: group.group_id)

    return await client.retrying(attempt)


async def describe_group(client: ClusterClient, group_id: str) -> GroupDescription:
    """State and members; a group that does not exist is BrokerError GROUP_ID_NOT_FOUND."""

    async def attempt() -> GroupDescription:
        node = await client.coordinator_of(group_id)
        connection = await client.connection_to(node.node_id)
        if connection.versions.serves(_CONSUMER_GROUP_DESCRIBE):
            answer: ConsumerGroupDescribeResponse = await connection.request(
                ConsumerGroupDescribeRequest([group_id])
            )
            if answer.groups[0].error_code != ErrorCode.GROUP_ID_NOT_FOUND:
                return _consumer_group(answer.groups[0])
        response: DescribeGroupsResponse = await connection.request(DescribeGroupsRequest([group_id]))
        return _classic_group(response.groups[0])

    return await client.retrying(attempt)


async def delete_group(client: ClusterClient, group_id: str) -> None:
    """Delete a group without members, and its committed offsets."""

    async def attempt() -> None:
        response: DeleteGroupsResponse = await client.ask_coordinator(
            group_id, DeleteGroupsRequest([group_id])
        )
        check(response.results[0].error_code, f"delete group {group_id}")

    await client.retrying(attempt)


def members_by_partition(group: GroupDescription) -> Mapping[TopicPartition, MemberDescription]:
    """Who reads which partition now."""
    return {partition: member for member in group.members for partition in member.partitions}


def _classic_group(group: DescribedGroup) -> GroupDescription:
    what = f"describe group {group.group_id}"
    check(group.error_code, what, group.error_message)
    if group.group_state == "Dead":  # how an unknown group was told before DescribeGroups 6
        check(ErrorCode.GROUP_ID_NOT_FOUND, what)
    members = []
    for member in group.members:
        partitions: tuple[TopicPartition, ...] = ()
        if group.protocol_type == CONSUMER_PROTOCOL_TYPE and member.member_assignment:
            partitions = _assigned(what, member.member_assignment)
        members.append(
            MemberDescription(
                member.member_id, member.group_instance_id, member.client_id, member.client_host, partitions
            )
        )
    return GroupDescription(group.group_id, "classic", group.group_state, group.protocol_data, tuple(members))


def _assigned(what: str, assignment: bytes) -> tuple[TopicPartition, ...]:
    try:
        topics = decode_assignment(assignment).assigned_partitions
    except ProtocolError as error:
        raise UnexpectedResponse(f"{what}: a member's assignment cannot be read: {error}") from None
    return tuple(TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions)


def _consumer_group(group: DescribedConsumerGroup) -> GroupDescription:
    check(group.error_code, f"describe group {group.group_id}", group.error_message)
    members = (
        MemberDescription(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            tuple(
                TopicPartition(topic.topic_name, index)
                for topic in member.assignment.topic_partitions
                for index in topic.partitions
            ),
        )
        for member in group.members
    )
    return GroupDescription(
        group.group_id, "consumer", group.group_state, group.assignor_name, tuple(members)
    )
