"""Vote (key 52), versions 0 to 2, flexible from 0.

A Raft candidate asks a voter of the metadata quorum for its vote (KIP-595). A vote that is refused
still tells the leader and the epoch the voter knows.

- 1: a voter is an id plus a directory id; the leader's address comes back (KIP-853)
- 2: a vote asked on trial, without raising the epoch (KIP-996)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import (
    ZERO_UUID,
    Int16,
    Int32,
    Int64,
    UInt16,
    Uuid,
    ignorable,
    tagged,
    versions,
)


@dataclass(slots=True)
class VotePartition:
    partition_index: Int32 = 0
    replica_epoch: Int32 = 0
    replica_id: Int32 = 0
    replica_directory_id: Annotated[Uuid, versions("1+"), ignorable] = ZERO_UUID
    voter_directory_id: Annotated[Uuid, versions("1+"), ignorable] = ZERO_UUID
    last_offset_epoch: Int32 = 0
    last_offset: Int64 = 0
    pre_vote: Annotated[bool, versions("2+")] = False


@dataclass(slots=True)
class VoteTopic:
    topic_name: str = ""
    partitions: list[VotePartition] = field(default_factory=list)


@dataclass(slots=True)
class VoteRequest:
    cluster_id: str | None = None
    voter_id: Annotated[Int32, versions("1+"), ignorable] = -1
    topics: list[VoteTopic] = field(default_factory=list)


@dataclass(slots=True)
class VotePartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0
    vote_granted: bool = False


@dataclass(slots=True)
class VoteTopicResult:
    topic_name: str = ""
    partitions: list[VotePartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: Int32 = 0
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class VoteResponse:
    error_code: Int16 = 0
    topics: list[VoteTopicResult] = field(default_factory=list)
    node_endpoints: Annotated[list[NodeEndpoint], tagged(0, "1+")] = field(default_factory=list)
