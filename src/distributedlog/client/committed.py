"""A group's committed offsets: reading them, and writing them with or without membership."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import check
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import APIS, ZERO_UUID
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)

NO_GENERATION: Final = -1
_OFFSET_FETCH: Final = 9
_MANY_GROUPS_FROM: Final = 8


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The next record to read, and the text that was committed with it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


@dataclass(frozen=True, slots=True)
class Membership:
    """Who commits: the default stands for someone outside of the group, which must then be empty."""

    generation_id: int = NO_GENERATION
    member_id: str = ""
    group_instance_id: str | None = None


OUTSIDE: Final = Membership()


async def committed_offsets(client: ClusterClient, group_id: str) -> dict[TopicPartition, CommittedOffset]:
    """All offsets that the group has committed."""

    async def attempt() -> dict[TopicPartition, CommittedOffset]:
        node = await client.coordinator_of(group_id)
        connection = await client.connection_to(node.node_id)
        if connection.versions.version_for(APIS[_OFFSET_FETCH]) >= _MANY_GROUPS_FROM:
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id, topics=None)])
        else:
            request = OffsetFetchRequest(group_id, None)
        return await _found(client, group_id, await connection.request(request))

    return await client.retrying(attempt)


async def committed_offsets_of(
    client: ClusterClient, group_id: str, partitions: Iterable[TopicPartition], *, is_stable: bool = False
) -> dict[TopicPartition, CommittedOffset]:
    """What the group has committed of these partitions; those without are left out.

    `is_stable` waits for open transactions that may still change it (KIP-447).
    """
    wanted = list(partitions)

    async def attempt() -> dict[TopicPartition, CommittedOffset]:
        await _know_ids(client, wanted)
        node = await client.coordinator_of(group_id)
        connection = await client.connection_to(node.node_id)
        indexes: dict[str, list[int]] = {}
        for name, index in wanted:
            indexes.setdefault(name, []).append(index)
        if connection.versions.version_for(APIS[_OFFSET_FETCH]) >= _MANY_GROUPS_FROM:
            known = client.metadata.topics
            topics = [
                OffsetFetchRequestGroupTopic(name, known[name].topic_id, each)
                for name, each in indexes.items()
            ]
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id, topics=topics)])
        else:
            old = [OffsetFetchRequestTopic(name, each) for name, each in indexes.items()]
            request = OffsetFetchRequest(group_id, old)
        request.require_stable = is_stable
        return await _found(client, group_id, await connection.request(request))

    return await client.retrying(attempt)


async def _found(
    client: ClusterClient, group_id: str, response: OffsetFetchResponse
) -> dict[TopicPartition, CommittedOffset]:
    """The offsets in an answer, of whichever version, about one group; the first error in it is raised."""
    what = f"read the offsets of group {group_id}"
    group = response.groups[0] if response.groups else response
    check(group.error_code, what)
    found: dict[TopicPartition, CommittedOffset] = {}
    for topic in group.topics:
        name = await _name(client, topic.name, getattr(topic, "topic_id", ZERO_UUID))
        for result in topic.partitions:
            check(result.error_code, what)
            if name is not None and result.committed_offset >= 0:
                found[TopicPartition(name, result.partition_index)] = CommittedOffset(
                    result.committed_offset, result.metadata or "", result.committed_leader_epoch
                )
    return found


async def commit_offsets(
    client: ClusterClient,
    group_id: str,
    offsets: Mapping[TopicPartition, CommittedOffset],
    membership: Membership = OUTSIDE,
) -> None:
    """Commit; the first partition that the coordinator refuses raises its error."""

    async def attempt() -> None:
        await _know_ids(client, offsets)
        request = OffsetCommitRequest(
            group_id,
            membership.generation_id,
            membership.member_id,
            topics=[
                OffsetCommitRequestTopic(topic, client.metadata.topics[topic].topic_id, partitions)
                for topic, partitions in _by_topic(offsets).items()
            ],
        )
        if membership.group_instance_id is not None:
            request.group_instance_id = membership.group_instance_id
        response: OffsetCommitResponse = await client.ask_coordinator(group_id, request)
        for topic in response.topics:
            for result in topic.partitions:
                check(result.error_code, f"commit offsets of group {group_id}")

    await client.retrying(attempt)


def _by_topic(
    offsets: Mapping[TopicPartition, CommittedOffset],
) -> dict[str, list[OffsetCommitRequestPartition]]:
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for partition, committed in offsets.items():
        topics.setdefault(partition.topic, []).append(
            OffsetCommitRequestPartition(
                partition.partition, committed.offset, committed.leader_epoch, committed.metadata
            )
        )
    return topics


async def _know_ids(client: ClusterClient, partitions: Iterable[TopicPartition]) -> None:
    unknown = {partition.topic for partition in partitions} - set(client.metadata.topics)
    if unknown:
        await client.topics(unknown)


async def _name(client: ClusterClient, name: str, topic_id: bytes) -> str | None:
    """A topic that a response names by its id; None when it has been deleted since."""
    if name or topic_id == ZERO_UUID:
        return name
    if client.metadata.name_of(topic_id) is None:
        await client.refresh(None)
    return client.metadata.name_of(topic_id)
