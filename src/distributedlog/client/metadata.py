"""[pure] What a client knows of its cluster: brokers, topics, leaders."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from distributedlog.client.addresses import Address
from distributedlog.wire import ZERO_UUID
from distributedlog.wire.k03_metadata import MetadataResponse, MetadataResponseTopic


class TopicPartition(NamedTuple):
    """A partition by its topic's name and its index."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class BrokerNode:
    node_id: int
    address: Address
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    """``leader_id`` is -1 while there is none."""

    index: int
    leader_id: int
    leader_epoch: int = -1
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline_replicas: tuple[int, ...] = ()
    error_code: int = 0


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    """``partitions`` are in the order of their indexes; with an error there may be none."""

    name: str
    topic_id: bytes = ZERO_UUID
    is_internal: bool = False
    error_code: int = 0
    partitions: tuple[PartitionMetadata, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterMetadata:
    """Immutable: a refresh makes a new one. Topics that a response did not ask for are kept."""

    cluster_id: str | None = None
    controller_id: int = -1
    brokers: Mapping[int, BrokerNode] = field(default_factory=dict)
    topics: Mapping[str, TopicMetadata] = field(default_factory=dict)

    def updated(self, response: MetadataResponse, is_complete: bool) -> "ClusterMetadata":
        """With what the response says; `is_complete` when it answers for all topics."""
        brokers = {
            broker.node_id: BrokerNode(broker.node_id, Address(broker.host, broker.port), broker.rack)
            for broker in response.brokers
        }
        heard = {topic.name: _topic(topic) for topic in response.topics if topic.name is not None}
        topics = heard if is_complete else {**self.topics, **heard}
        return replace(
            self,
            cluster_id=response.cluster_id,
            controller_id=response.controller_id,
            brokers=brokers,
            topics=topics,
        )

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The leader's node id, when one is known that is known as a broker too."""
        topic = self.topics.get(partition.topic)
        if topic is None:
            return None
        for candidate in topic.partitions:
            if candidate.index == partition.partition:
                return candidate.leader_id if candidate.leader_id in self.brokers else None
        return None

    def name_of(self, topic_id: bytes) -> str | None:
        """The topic with this id: newer APIs answer with ids."""
        for topic in self.topics.values():
            if topic.topic_id == topic_id:
                return topic.name
        return None


def _topic(topic: MetadataResponseTopic) -> TopicMetadata:
    partitions = (
        PartitionMetadata(
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
            tuple(partition.replica_nodes),
            tuple(partition.isr_nodes),
            tuple(partition.offline_replicas),
            partition.error_code,
        )
        for partition in topic.partitions
    )
    return TopicMetadata(
        topic.name or "",
        topic.topic_id,
        topic.is_internal,
        topic.error_code,
        tuple(sorted(partitions, key=lambda partition: partition.index)),
    )
