"""Produce (key 0), versions 3 to 13, flexible from 9.

Appends record batches to partitions. With ``acks=0`` the broker sends no response at all.

- 3: record batch v2, ``transactional_id``
- 5: ``log_start_offset`` in the response
- 8: per-record errors
- 10: the current leader travels back as tagged fields (KIP-951)
- 12: the producer may rely on an implicit AddPartitionsToTxn (KIP-890)
- 13: topics by id in place of their names
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import (
    ZERO_UUID,
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
class PartitionProduceData:
    index: Int32 = 0
    records: Records | None = None


@dataclass(slots=True)
class TopicProduceData:
    name: Annotated[str, versions("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("13+"), ignorable] = ZERO_UUID
    partition_data: list[PartitionProduceData] = field(default_factory=list)


@dataclass(slots=True)
class ProduceRequest:
    transactional_id: Annotated[str | None, versions("3+")] = None
    acks: Int16 = 0
    timeout_ms: Int32 = 0
    topic_data: list[TopicProduceData] = field(default_factory=list)


@dataclass(slots=True)
class BatchIndexAndErrorMessage:
    batch_index: Int32 = 0
    batch_index_error_message: str | None = None


@dataclass(slots=True)
class LeaderIdAndEpoch:
    leader_id: Int32 = -1
    leader_epoch: Int32 = -1


@dataclass(slots=True)
class PartitionProduceResponse:
    index: Int32 = 0
    error_code: Int16 = 0
    base_offset: Int64 = 0
    log_append_time_ms: Annotated[Int64, versions("2+"), ignorable] = -1
    log_start_offset: Annotated[Int64, versions("5+"), ignorable] = -1
    record_errors: Annotated[list[BatchIndexAndErrorMessage], versions("8+"), ignorable] = field(
        default_factory=list
    )
    error_message: Annotated[str | None, versions("8+"), ignorable] = None
    current_leader: Annotated[LeaderIdAndEpoch, tagged(0, "10+")] = field(default_factory=LeaderIdAndEpoch)


@dataclass(slots=True)
class TopicProduceResponse:
    name: Annotated[str, versions("0-12"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("13+"), ignorable] = ZERO_UUID
    partition_responses: list[PartitionProduceResponse] = field(default_factory=list)


@dataclass(slots=True)
class NodeEndpoint:
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None


@dataclass(slots=True)
class ProduceResponse:
    responses: list[TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    node_endpoints: Annotated[list[NodeEndpoint], tagged(0, "10+")] = field(default_factory=list)
