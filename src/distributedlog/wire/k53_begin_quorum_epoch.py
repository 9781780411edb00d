"""BeginQuorumEpoch (key 53), versions 0 to 1, flexible from 1.

A newly elected leader of the metadata quorum announces itself to the voters, so that they need
not wait until a fetch of theirs finds it (KIP-595).

- 1: a voter is an id plus a directory id; addresses of the leader in both directions (KIP-853)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, UInt16, Uuid, ignorable, tagged, versions


@dataclass(slots=True)
class BeginQuorumEpochPartition:
    partition_index: Int32 = 0
    voter_directory_id: Annotated[Uuid, versions("1+"), ignorable] = ZERO_UUID
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@dataclass(slots=True)
class BeginQuorumEpochTopic:
    topic_name: str = ""
    partitions: list[BeginQuorumEpochPartition] = field(default_factory=list)


@dataclass(slots=True)
class LeaderEndpoint:
    name: str = ""
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class BeginQuorumEpochRequest:
    cluster_id: str | None = None
    voter_id: Annotated[Int32, versions("1+"), ignorable] = -1
    topics: list[BeginQuorumEpochTopic] = field(default_factory=list)
    leader_endpoints: Annotated[list[LeaderEndpoint], versions("1+"), ignorable] = field(default_factory=list)


@dataclass(slots=True)
class BeginQuorumEpochPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@dataclass(slots=True)
class BeginQuorumEpochTopicResult:
    topic_name: str = ""
    partitions: list[BeginQuorumEpochPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: Int32 = 0
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class BeginQuorumEpochResponse:
    error_code: Int16 = 0
    topics: list[BeginQuorumEpochTopicResult] = field(default_factory=list)
    node_endpoints: Annotated[list[NodeEndpoint], tagged(0, "1+")] = field(default_factory=list)
