"""TxnOffsetCommit (key 28), versions 0 to 5, flexible from 3.

Commits a group's positions inside a transaction: they hold when it commits, and never if it aborts.
Sent to the group's coordinator.

- 2: the leader epoch of the last record consumed (KIP-320)
- 3: the member and its generation, so that one who was thrown out is fenced (KIP-447)
- 4: the error TRANSACTION_ABORTABLE (KIP-890)
- 5: does AddOffsetsToTxn's work too, for producers whose epoch rises per transaction
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class TxnOffsetCommitRequestPartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, versions("2+"), ignorable] = -1
    committed_metadata: str | None = ""


@dataclass(slots=True)
class TxnOffsetCommitRequestTopic:
    name: str = ""
    partitions: list[TxnOffsetCommitRequestPartition] = field(default_factory=list)


@dataclass(slots=True)
class TxnOffsetCommitRequest:
    transactional_id: str = ""
    group_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    generation_id: Annotated[Int32, versions("3+")] = -1
    member_id: Annotated[str, versions("3+")] = ""
    group_instance_id: Annotated[str | None, versions("3+")] = None
    topics: list[TxnOffsetCommitRequestTopic] = field(default_factory=list)


@dataclass(slots=True)
class TxnOffsetCommitResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@dataclass(slots=True)
class TxnOffsetCommitResponseTopic:
    name: str = ""
    partitions: list[TxnOffsetCommitResponsePartition] = field(default_factory=list)


@dataclass(slots=True)
class TxnOffsetCommitResponse:
    throttle_time_ms: Int32 = 0
    topics: list[TxnOffsetCommitResponseTopic] = field(default_factory=list)
