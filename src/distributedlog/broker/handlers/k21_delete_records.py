"""DeleteRecords: a partition begins at a later offset from now on; retention frees the room."""

from typing import TYPE_CHECKING, Final

from distributedlog.broker.log_errors import code_of
from distributedlog.cluster.image import INTERNAL_TOPICS
from distributedlog.log.errors import LogError, OffsetOutOfRange
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k21_delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: In place of an offset: all that consumers can see.
HIGH_WATERMARK: Final = -1
NO_LOW_WATERMARK: Final = -1


def handle(
    broker: "Broker", context: "RequestContext", request: DeleteRecordsRequest
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                topic.name,
                [_deleted(broker, topic.name, one.partition_index, one.offset) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _deleted(broker: "Broker", topic: str, index: int, offset: int) -> DeleteRecordsPartitionResult:
    def failure(error: ErrorCode) -> DeleteRecordsPartitionResult:
        return DeleteRecordsPartitionResult(index, NO_LOW_WATERMARK, int(error))

    if topic in INTERNAL_TOPICS:
        return failure(ErrorCode.INVALID_TOPIC_EXCEPTION)
    partition = broker.partitions.get(topic, index)
    if partition is None:
        return failure(broker.partitions.why_missing(topic, None, index))
    log = partition.log
    if not log.config.delete:
        return failure(ErrorCode.POLICY_VIOLATION)
    try:
        if offset < HIGH_WATERMARK:
            raise OffsetOutOfRange(offset, log.log_start_offset, log.high_watermark)
        log.delete_records_before(log.high_watermark if offset == HIGH_WATERMARK else offset)
    except (LogError, OSError) as error:
        return failure(code_of(error))
    partition.wake_watchers()
    return DeleteRecordsPartitionResult(index, log.log_start_offset)
