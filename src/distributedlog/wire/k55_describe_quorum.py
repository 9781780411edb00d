"""DescribeQuorum (key 55), versions 0 to 2, flexible from 0.

Tells the state of the metadata quorum as its leader sees it: leader, epoch, high watermark, and
how far each voter and observer has come. -1 stands for a timestamp that is not known.

- 1: when a replica last fetched, and when it was last caught up (KIP-836)
- 2: directory ids, error messages, and the addresses of the nodes (KIP-853)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Int64, UInt16, Uuid, ignorable, versions


@dataclass(slots=True)
class DescribeQuorumPartition:
    partition_index: Int32 = 0


@dataclass(slots=True)
class DescribeQuorumTopic:
    topic_name: str = ""
    partitions: list[DescribeQuorumPartition] = field(default_factory=list)


@dataclass(slots=True)
class DescribeQuorumRequest:
    topics: list[DescribeQuorumTopic] = field(default_factory=list)


@dataclass(slots=True)
class QuorumReplicaState:
    replica_id: Int32 = 0
    replica_directory_id: Annotated[Uuid, versions("2+")] = ZERO_UUID
    log_end_offset: Int64 = 0
    last_fetch_timestamp: Annotated[Int64, versions("1+"), ignorable] = -1
    last_caught_up_timestamp: Annotated[Int64, versions("1+"), ignorable] = -1


@dataclass(slots=True)
class DescribeQuorumPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: Annotated[str | None, versions("2+"), ignorable] = ""
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    high_watermark: Int64 = 0
    current_voters: list[QuorumReplicaState] = field(default_factory=list)
    observers: list[QuorumReplicaState] = field(default_factory=list)


@dataclass(slots=True)
class DescribeQuorumTopicResult:
    topic_name: str = ""
    partitions: list[DescribeQuorumPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class QuorumListener:
    name: str = ""
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class QuorumNode:
    node_id: Int32 = 0
    listeners: list[QuorumListener] = field(default_factory=list)


@dataclass(slots=True)
class DescribeQuorumResponse:
    error_code: Int16 = 0
    error_message: Annotated[str | None, versions("2+"), ignorable] = ""
    topics: list[DescribeQuorumTopicResult] = field(default_factory=list)
    nodes: Annotated[list[QuorumNode], versions("2+")] = field(default_factory=list)
