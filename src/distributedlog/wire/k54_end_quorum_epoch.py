"""EndQuorumEpoch (key 54), versions 0 to 1, flexible from 1.

A leader of the metadata quorum that shuts down resigns, and names its successors in the order in
which they should stand for election, the best caught up first (KIP-595).

- 1: candidates are an id plus a directory id and replace the successors; addresses of the leader
  in both directions (KIP-853)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, UInt16, Uuid, ignorable, tagged, versions


@dataclass(slots=True)
class PreferredCandidate:
    candidate_id: Int32 = 0
    candidate_directory_id: Uuid = ZERO_UUID


@dataclass(slots=True)
class EndQuorumEpochPartition:
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    preferred_successors: Annotated[list[Int32], versions("0"), ignorable] = field(default_factory=list)
    preferred_candidates: Annotated[list[PreferredCandidate], versions("1+"), ignorable] = field(
        default_factory=list
    )


@dataclass(slots=True)
class EndQuorumEpochTopic:
    topic_name: str = ""
    partitions: list[EndQuorumEpochPartition] = field(default_factory=list)


@dataclass(slots=True)
class LeaderEndpoint:
    name: str = ""
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class EndQuorumEpochRequest:
    cluster_id: str | None = None
    topics: list[EndQuorumEpochTopic] = field(default_factory=list)
    leader_endpoints: Annotated[list[LeaderEndpoint], versions("1+"), ignorable] = field(default_factory=list)


@dataclass(slots=True)
class EndQuorumEpochPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@dataclass(slots=True)
class EndQuorumEpochTopicResult:
    topic_name: str = ""
    partitions: list[EndQuorumEpochPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: Int32 = 0
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class EndQuorumEpochResponse:
    error_code: Int16 = 0
    topics: list[EndQuorumEpochTopicResult] = field(default_factory=list)
    node_endpoints: Annotated[list[NodeEndpoint], tagged(0, "1+")] = field(default_factory=list)
