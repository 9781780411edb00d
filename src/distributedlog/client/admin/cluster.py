"""The cluster itself: its brokers, their disks, its quorum, the features that it has."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.client.addresses import Address
from distributedlog.client.errors import check
from distributedlog.client.metadata import BrokerNode, TopicPartition
from distributedlog.wire.k35_describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from distributedlog.wire.k55_describe_quorum import (
    DescribeQuorumPartition,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumTopic,
    QuorumReplicaState,
)
from distributedlog.wire.k60_describe_cluster import DescribeClusterRequest, DescribeClusterResponse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributedlog.client.cluster_client import ClusterClient

_METADATA_TOPIC: Final = "__cluster_metadata"
_DESCRIBE_CLUSTER: Final = 60
_UNKNOWN: Final = -1


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """``features`` are the levels that the cluster has agreed on, as ``{"transaction.version": 2}``."""

    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerNode, ...]
    features: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    size_bytes: int
    offset_lag: int
    is_future: bool
    """Whether it is on its way here from another directory of the same broker."""


@dataclass(frozen=True, slots=True)
class LogDir:
    """A data directory. What the broker does not tell of the disk is None."""

    broker_id: int
    path: str
    total_bytes: int | None
    usable_bytes: int | None
    replicas: Mapping[TopicPartition, ReplicaSize]


@dataclass(frozen=True, slots=True)
class QuorumReplica:
    """The times are None where the leader does not know them."""

    replica_id: int
    log_end_offset: int
    last_fetch_ms: int | None
    last_caught_up_ms: int | None


@dataclass(frozen=True, slots=True)
class QuorumDescription:
    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[QuorumReplica, ...]
    observers: tuple[QuorumReplica, ...]


async def describe_cluster(client: ClusterClient) -> ClusterDescription:
    async def attempt() -> ClusterDescription:
        await client.refresh(())
        some_broker = next(iter(client.metadata.brokers))
        connection = await client.connection_to(some_broker)
        features = dict(connection.versions.features)
        if not connection.versions.serves(_DESCRIBE_CLUSTER):  # before Kafka 2.8
            known = client.metadata
            brokers = tuple(sorted(known.brokers.values(), key=lambda node: node.node_id))
            return ClusterDescription(known.cluster_id or "", known.controller_id, brokers, features)
        response: DescribeClusterResponse = await connection.request(DescribeClusterRequest())
        check(response.error_code, "describe the cluster", response.error_message)
        nodes = (
            BrokerNode(node.broker_id, Address(node.host, node.port), node.rack) for node in response.brokers
        )
        brokers = tuple(sorted(nodes, key=lambda node: node.node_id))
        return ClusterDescription(response.cluster_id, response.controller_id, brokers, features)

    return await client.retrying(attempt)


async def describe_log_dirs(client: ClusterClient, brokers: Sequence[int] = ()) -> list[LogDir]:
    """Of these brokers; of all without any."""

    async def of_broker(node_id: int) -> list[LogDir]:
        response: DescribeLogDirsResponse = await client.ask_node(node_id, DescribeLogDirsRequest(None))
        what = f"describe the log directories of broker {node_id}"
        check(response.error_code, what)
        found = []
        for result in response.results:
            check(result.error_code, f"{what}: {result.log_dir}")
            replicas = {
                TopicPartition(topic.name, each.partition_index): ReplicaSize(
                    each.partition_size, each.offset_lag, each.is_future_key
                )
                for topic in result.topics
                for each in topic.partitions
            }
            found.append(
                LogDir(
                    node_id,
                    result.log_dir,
                    _known(result.total_bytes),
                    _known(result.usable_bytes),
                    dict(sorted(replicas.items())),
                )
            )
        return found

    async def attempt() -> list[LogDir]:
        await client.refresh(())
        wanted = brokers or sorted(client.metadata.brokers)
        lists = await asyncio.gather(*map(of_broker, wanted))
        return [each for found in lists for each in found]

    return await client.retrying(attempt)


async def describe_quorum(client: ClusterClient) -> QuorumDescription:
    """Of the cluster's metadata, as its leader sees it."""
    request = DescribeQuorumRequest([DescribeQuorumTopic(_METADATA_TOPIC, [DescribeQuorumPartition(0)])])

    async def attempt() -> QuorumDescription:
        response: DescribeQuorumResponse = await client.ask_any(request)
        check(response.error_code, "describe the quorum", response.error_message)
        (found,) = response.topics[0].partitions
        check(found.error_code, "describe the quorum", found.error_message)
        return QuorumDescription(
            found.leader_id,
            found.leader_epoch,
            found.high_watermark,
            tuple(map(_replica, found.current_voters)),
            tuple(map(_replica, found.observers)),
        )

    return await client.retrying(attempt)


def _replica(state: QuorumReplicaState) -> QuorumReplica:
    return QuorumReplica(
        state.replica_id,
        state.log_end_offset,
        _known(state.last_fetch_timestamp),
        _known(state.last_caught_up_timestamp),
    )


def _known(number: int) -> int | None:
    return None if number == _UNKNOWN else number
