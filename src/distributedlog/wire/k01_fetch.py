"""Fetch (key 1), versions 4 to 18, flexible from 12.

Reads record batches from partitions, in the order in which the request names them. Consumers and
follower replicas use the same request; only the latter fill in who they are. The broker waits up to
``max_wait_ms`` for ``min_bytes``, and sends a first batch even where it is larger than the limits.

- 4: ``isolation_level``, the last stable offset and the aborted transactions
- 5: ``log_start_offset`` on both sides
- 7: fetch sessions: later requests name only what changed (KIP-227)
- 9: ``current_leader_epoch`` fences stale readers (KIP-320)
- 10: batches may be compressed with zstd
- 11: ``rack_id``, answered with a ``preferred_read_replica`` (KIP-392)
- 12: a reader's ``last_fetched_epoch`` is answered with ``diverging_epoch`` where the logs part
- 13: topics by id in place of their names
- 14: the error OFFSET_MOVED_TO_TIERED_STORAGE
- 15: ``replica_state`` takes the place of ``replica_id`` (KIP-903)
- 16: endpoints of the new leaders travel back (KIP-951)
- 17: ``replica_directory_id`` (KIP-853)
- 18: a follower tells the ``high_watermark`` that it knows (KIP-1166)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import (
    ZERO_UUID,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    Uuid,
    ignorable,
    tagged,
    versions,
)


@dataclass(slots=True)
class ReplicaState:
    replica_id: Int32 = -1
    replica_epoch: Int64 = -1


@dataclass(slots=True)
class FetchPartition:
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, versions("9+"), ignorable] = -1
    fetch_offset: Int64 = 0
    last_fetched_epoch: Annotated[Int32, versions("12+")] = -1
    log_start_offset: Annotated[Int64, versions("5+"), ignorable] = -1
    partition_max_bytes: Int32 = 0
    replica_directory_id: Annotated[Uuid, tagged(0, "17+"), ignorable] = ZERO_UUID
    high_watermark: Annotated[Int64, tagged(1, "18+"), ignorable] = 2**63 - 1


@dataclass(slots=True)
class FetchTopic:
    topic: Annotated[str, versions("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("13+"), ignorable] = ZERO_UUID
    partitions: list[FetchPartition] = field(default_factory=list)


@dataclass(slots=True)
class ForgottenTopic:
    topic: Annotated[str, versions("7-12"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("13+"), ignorable] = ZERO_UUID
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class FetchRequest:
    cluster_id: Annotated[str | None, tagged(0, "12+"), ignorable] = None
    replica_id: Annotated[Int32, versions("0-14")] = -1
    replica_state: Annotated[ReplicaState, tagged(1, "15+")] = field(default_factory=ReplicaState)
    max_wait_ms: Int32 = 0
    min_bytes: Int32 = 0
    max_bytes: Annotated[Int32, versions("3+"), ignorable] = 2**31 - 1
    isolation_level: Annotated[Int8, versions("4+"), ignorable] = 0
    session_id: Annotated[Int32, versions("7+"), ignorable] = 0
    session_epoch: Annotated[Int32, versions("7+"), ignorable] = -1
    topics: list[FetchTopic] = field(default_factory=list)
    forgotten_topics_data: Annotated[list[ForgottenTopic], versions("7+")] = field(default_factory=list)
    rack_id: Annotated[str, versions("11+"), ignorable] = ""


@dataclass(slots=True)
class EpochEndOffset:
    epoch: Int32 = -1
    end_offset: Int64 = -1


@dataclass(slots=True)
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@dataclass(slots=True)
class SnapshotId:
    end_offset: Int64 = -1
    epoch: Int32 = -1


@dataclass(slots=True)
class AbortedTransaction:
    producer_id: Int64 = 0
    first_offset: Int64 = 0


@dataclass(slots=True)
class PartitionData:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    high_watermark: Int64 = 0
    last_stable_offset: Annotated[Int64, versions("4+"), ignorable] = -1
    log_start_offset: Annotated[Int64, versions("5+"), ignorable] = -1
    diverging_epoch: Annotated[EpochEndOffset, tagged(0, "12+")] = field(default_factory=EpochEndOffset)
    current_leader: Annotated[LeaderIdAndEpoch, tagged(1, "12+")] = field(default_factory=LeaderIdAndEpoch)
    snapshot_id: Annotated[SnapshotId, tagged(2, "12+")] = field(default_factory=SnapshotId)
    aborted_transactions: Annotated[list[AbortedTransaction] | None, versions("4+"), ignorable] = field(
        default_factory=list
    )
    preferred_read_replica: Annotated[Int32, versions("11+")] = -1
    records: Records | None = None


@dataclass(slots=True)
class FetchableTopicResponse:
    topic: Annotated[str, versions("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("13+"), ignorable] = ZERO_UUID
    partitions: list[PartitionData] = field(default_factory=list)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


@dataclass(slots=True)
class FetchResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    error_code: Annotated[Int16, versions("7+"), ignorable] = 0
    session_id: Annotated[Int32, versions("7+")] = 0
    responses: list[FetchableTopicResponse] = field(default_factory=list)
    node_endpoints: Annotated[list[NodeEndpoint], tagged(0, "16+")] = field(default_factory=list)
