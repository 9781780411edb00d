"""DescribeProducers: which idempotent and transactional producers a partition remembers."""

from typing import TYPE_CHECKING

from distributedlog.wire import ErrorCode
from distributedlog.wire.k61_describe_producers import (
    ActiveProducer,
    DescribeProducersPartitionResult,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopicResult,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeProducersRequest
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        0,
        [
            DescribeProducersTopicResult(
                topic.name, [_describe(broker, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in request.topics
        ],
    )


def _describe(broker: "Broker", topic: str, index: int) -> DescribeProducersPartitionResult:
    partition = broker.partitions.get(topic, index)
    if partition is None:
        error: ErrorCode = broker.partitions.why_missing(topic, None, index)
        return DescribeProducersPartitionResult(index, int(error), error.message)
    return DescribeProducersPartitionResult(
        index,
        0,
        None,
        [
            ActiveProducer(
                entry.producer_id,
                entry.producer_epoch,
                entry.last_sequence,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )
            for entry in partition.log.producer_states.entries()
        ],
    )
