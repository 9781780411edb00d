"""Where partitions begin and end, and which offset a moment in time has."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import check
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
NO_OFFSET: Final = -1
NO_REPLICA: Final = -1


@dataclass(frozen=True, slots=True)
class OffsetAndTimestamp:
    """``offset`` is -1 where no record is as late as was asked for."""

    offset: int
    timestamp: int


async def list_offsets(
    client: ClusterClient, moments: Mapping[TopicPartition, int], *, is_read_committed: bool = False
) -> dict[TopicPartition, OffsetAndTimestamp]:
    """The first offset at or after each partition's moment, or of `EARLIEST`, `LATEST`, `MAX_TIMESTAMP`.

    For readers of committed data the latest offset lies before the first open transaction.
    """
    found: dict[TopicPartition, OffsetAndTimestamp] = {}

    async def attempt() -> None:
        missing = [partition for partition in moments if partition not in found]
        for leader, partitions in (await client.by_leader(missing)).items():
            request = _request(partitions, moments, is_read_committed)
            response: ListOffsetsResponse = await client.ask_node(leader, request)
            for topic in response.topics:
                for result in topic.partitions:
                    partition = TopicPartition(topic.name, result.partition_index)
                    check(result.error_code, f"look up offsets of {partition}")
                    found[partition] = OffsetAndTimestamp(result.offset, result.timestamp)

    await client.retrying(attempt)
    return found


async def list_offsets_at(
    client: ClusterClient,
    partitions: Iterable[TopicPartition],
    moment: int,
    *,
    is_read_committed: bool = False,
) -> dict[TopicPartition, int]:
    """The offsets of one moment; the end of a partition where nothing is as late."""
    wanted = list(partitions)
    found = await list_offsets(client, dict.fromkeys(wanted, moment), is_read_committed=is_read_committed)
    beyond = [partition for partition in wanted if found[partition].offset == NO_OFFSET]
    ends = await list_offsets(client, dict.fromkeys(beyond, LATEST)) if beyond else {}
    return {partition: (ends.get(partition) or found[partition]).offset for partition in wanted}


def _request(
    partitions: list[TopicPartition], moments: Mapping[TopicPartition, int], is_read_committed: bool
) -> ListOffsetsRequest:
    topics: dict[str, ListOffsetsTopic] = {}
    for partition in partitions:
        topic = topics.setdefault(partition.topic, ListOffsetsTopic(partition.topic))
        topic.partitions.append(ListOffsetsPartition(partition.partition, timestamp=moments[partition]))
    return ListOffsetsRequest(NO_REPLICA, int(is_read_committed), list(topics.values()))
