"""FetchSnapshot (key 59), versions 0 to 1, flexible from 0.

Reads a piece of a snapshot of the metadata log, for a replica whose next offset the leader no longer
keeps (KIP-630). Pieces are cut at ``position`` without regard to batches, so the records of one
answer may begin and end inside a batch.

- 1: the replica's directory id, and the leader's address in the answer (KIP-853)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import (
    ZERO_UUID,
    Int16,
    Int32,
    Int64,
    Records,
    UInt16,
    Uuid,
    ignorable,
    tagged,
)


@dataclass(slots=True)
class SnapshotId:
    end_offset: Int64 = 0
    epoch: Int32 = 0


@dataclass(slots=True)
class FetchSnapshotPartition:
    partition: Int32 = 0
    current_leader_epoch: Int32 = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    position: Int64 = 0
    replica_directory_id: Annotated[Uuid, tagged(0, "1+"), ignorable] = ZERO_UUID


@dataclass(slots=True)
class FetchSnapshotTopic:
    name: str = ""
    partitions: list[FetchSnapshotPartition] = field(default_factory=list)


@dataclass(slots=True)
class FetchSnapshotRequest:
    cluster_id: Annotated[str | None, tagged(0, "0+")] = None
    replica_id: Int32 = -1
    max_bytes: Int32 = 0x7FFFFFFF
    topics: list[FetchSnapshotTopic] = field(default_factory=list)


@dataclass(slots=True)
class LeaderIdAndEpoch:
    leader_id: Int32 = 0
    leader_epoch: Int32 = 0


@dataclass(slots=True)
class FetchSnapshotPartitionResult:
    index: Int32 = 0
    error_code: Int16 = 0
    snapshot_id: SnapshotId = field(default_factory=SnapshotId)
    current_leader: Annotated[LeaderIdAndEpoch, tagged(0, "0+")] = field(default_factory=LeaderIdAndEpoch)
    size: Int64 = 0
    position: Int64 = 0
    unaligned_records: Records = b""


@dataclass(slots=True)
class FetchSnapshotTopicResult:
    name: str = ""
    partitions: list[FetchSnapshotPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: Int32 = 0
    host: str = ""
    port: UInt16 = 0


@dataclass(slots=True)
class FetchSnapshotResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    topics: list[FetchSnapshotTopicResult] = field(default_factory=list)
    node_endpoints: Annotated[list[NodeEndpoint], tagged(0, "1+")] = field(default_factory=list)
