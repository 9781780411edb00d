"""What is done to partitions: delete their oldest records, elect their leaders, move them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.client.errors import check
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import ErrorCode
from distributedlog.wire.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from distributedlog.wire.k43_elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    ElectLeadersTopicPartitions,
)
from distributedlog.wire.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from distributedlog.wire.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributedlog.client.cluster_client import ClusterClient

TO_THE_END: Final = -1
_PREFERRED: Final = 0
_UNCLEAN: Final = 1


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A partition on its way: all its replicas, and those of them that come and go."""

    partition: TopicPartition
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


async def delete_records(
    client: ClusterClient, before: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Delete what lies before an offset, `TO_THE_END` for all; where each partition begins then."""
    begins: dict[TopicPartition, int] = {}

    async def attempt() -> None:
        missing = [place for place in before if place not in begins]
        for leader, places in (await client.by_leader(missing)).items():
            topics: dict[str, DeleteRecordsTopic] = {}
            for place in places:
                topic = topics.setdefault(place.topic, DeleteRecordsTopic(place.topic))
                topic.partitions.append(DeleteRecordsPartition(place.partition, before[place]))
            request = DeleteRecordsRequest(list(topics.values()), client.settings.request_timeout_ms)
            response: DeleteRecordsResponse = await client.ask_node(leader, request)
            for answer in response.topics:
                for result in answer.partitions:
                    place = TopicPartition(answer.name, result.partition_index)
                    check(result.error_code, f"delete records of {place}")
                    begins[place] = result.low_watermark

    await client.retrying(attempt)
    return begins


async def elect_leaders(
    client: ClusterClient, partitions: Sequence[TopicPartition] | None, *, is_unclean: bool
) -> list[TopicPartition]:
    """Elect the preferred leaders, or any; those partitions that got another one. None means all."""
    wanted = None
    if partitions is not None:
        topics: dict[str, ElectLeadersTopicPartitions] = {}
        for name, index in partitions:
            topics.setdefault(name, ElectLeadersTopicPartitions(name)).partitions.append(index)
        wanted = list(topics.values())
    kind = _UNCLEAN if is_unclean else _PREFERRED
    request = ElectLeadersRequest(kind, wanted, client.settings.request_timeout_ms)
    response: ElectLeadersResponse = await client.ask_controller(request)
    check(response.error_code, "elect leaders")
    changed = []
    for topic in response.replica_election_results:
        for result in topic.partition_result:
            place = TopicPartition(topic.topic, result.partition_id)
            if result.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                continue
            check(result.error_code, f"elect a leader of {place}", result.error_message)
            changed.append(place)
    return sorted(changed)


async def reassign_partitions(
    client: ClusterClient, replicas: Mapping[TopicPartition, Sequence[int] | None]
) -> None:
    """Start to move partitions to these brokers, the preferred leader first; None stops a move."""
    topics: dict[str, ReassignableTopic] = {}
    for (name, index), brokers in replicas.items():
        wanted = None if brokers is None else list(brokers)
        topic = topics.setdefault(name, ReassignableTopic(name))
        topic.partitions.append(ReassignablePartition(index, wanted))
    request = AlterPartitionReassignmentsRequest(
        client.settings.request_timeout_ms, topics=list(topics.values())
    )
    response: AlterPartitionReassignmentsResponse = await client.ask_controller(request)
    check(response.error_code, "move partitions", response.error_message)
    for answer in response.responses:
        for result in answer.partitions:
            place = TopicPartition(answer.name, result.partition_index)
            check(result.error_code, f"move {place}", result.error_message)


async def list_reassignments(client: ClusterClient) -> list[Reassignment]:
    async def attempt() -> list[Reassignment]:
        request = ListPartitionReassignmentsRequest(client.settings.request_timeout_ms, None)
        response: ListPartitionReassignmentsResponse = await client.ask_controller(request)
        check(response.error_code, "list the moves of partitions", response.error_message)
        return [
            Reassignment(
                TopicPartition(topic.name, each.partition_index),
                tuple(each.replicas),
                tuple(each.adding_replicas),
                tuple(each.removing_replicas),
            )
            for topic in response.topics
            for each in topic.partitions
        ]

    return await client.retrying(attempt)
