"""DescribeProducers (key 61), version 0, flexible from 0.

Tells which idempotent and transactional producers a partition's leader holds state of, so that a
hanging transaction can be found (KIP-664). An offset of -1 means that no transaction is open.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32, Int64


@dataclass(slots=True)
class DescribeProducersTopic:
    name: str = ""
    partition_indexes: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class DescribeProducersRequest:
    topics: list[DescribeProducersTopic] = field(default_factory=list)


@dataclass(slots=True)
class ActiveProducer:
    producer_id: Int64 = 0
    producer_epoch: Int32 = 0
    last_sequence: Int32 = -1
    last_timestamp: Int64 = -1
    coordinator_epoch: Int32 = 0
    current_txn_start_offset: Int64 = -1


@dataclass(slots=True)
class DescribeProducersPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    active_producers: list[ActiveProducer] = field(default_factory=list)


@dataclass(slots=True)
class DescribeProducersTopicResult:
    name: str = ""
    partitions: list[DescribeProducersPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class DescribeProducersResponse:
    throttle_time_ms: Int32 = 0
    topics: list[DescribeProducersTopicResult] = field(default_factory=list)
