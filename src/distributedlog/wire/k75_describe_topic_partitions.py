"""DescribeTopicPartitions (key 75), version 0, flexible from 0.

Describes topics page by page, with the replicas that may be elected although they have left the
in-sync set (KIP-966). No ``topics`` ask for all. A ``next_cursor`` says where the next request goes on;
null means that all was told.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Uuid


@dataclass(slots=True)
class TopicPartitionCursor:
    topic_name: str = ""
    partition_index: Int32 = 0


@dataclass(slots=True)
class DescribeTopicPartitionsTopic:
    name: str = ""


@dataclass(slots=True)
class DescribeTopicPartitionsRequest:
    topics: list[DescribeTopicPartitionsTopic] = field(default_factory=list)
    response_partition_limit: Int32 = 2000
    cursor: TopicPartitionCursor | None = None


@dataclass(slots=True)
class DescribedTopicPartition:
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = -1
    replica_nodes: list[Int32] = field(default_factory=list)
    isr_nodes: list[Int32] = field(default_factory=list)
    eligible_leader_replicas: list[Int32] | None = None
    last_known_elr: list[Int32] | None = None
    offline_replicas: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class DescribedTopic:
    error_code: Int16 = 0
    name: str | None = ""
    topic_id: Uuid = ZERO_UUID
    is_internal: bool = False
    partitions: list[DescribedTopicPartition] = field(default_factory=list)
    topic_authorized_operations: Int32 = -0x80000000


@dataclass(slots=True)
class DescribeTopicPartitionsResponse:
    throttle_time_ms: Int32 = 0
    topics: list[DescribedTopic] = field(default_factory=list)
    next_cursor: TopicPartitionCursor | None = None
