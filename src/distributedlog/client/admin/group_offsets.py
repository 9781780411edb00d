"""Deleting what a group has committed (KIP-496)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distributedlog.client.errors import check
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from distributedlog.client.cluster_client import ClusterClient


async def delete_offsets(client: ClusterClient, group_id: str, partitions: Iterable[TopicPartition]) -> None:
    topics: dict[str, OffsetDeleteRequestTopic] = {}
    for name, index in partitions:
        topic = topics.setdefault(name, OffsetDeleteRequestTopic(name))
        topic.partitions.append(OffsetDeleteRequestPartition(index))
    request = OffsetDeleteRequest(group_id, list(topics.values()))

    async def attempt() -> None:
        response: OffsetDeleteResponse = await client.ask_coordinator(group_id, request)
        check(response.error_code, f"delete offsets of group {group_id}")
        for answer in response.topics:
            for result in answer.partitions:
                place = TopicPartition(answer.name, result.partition_index)
                check(result.error_code, f"delete the offset of group {group_id} for {place}")

    await client.retrying(attempt)
