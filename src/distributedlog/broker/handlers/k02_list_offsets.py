"""ListOffsets: the offset of a moment in time, or of an end of the log."""

import logging
from collections import Counter
from typing import TYPE_CHECKING, Final

from distributedlog.broker.fetch_plan import READ_COMMITTED, epoch_error
from distributedlog.broker.log_errors import code_of
from distributedlog.log.errors import LogError
from distributedlog.wire import ErrorCode
from distributedlog.wire.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.broker.partition import Partition

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6
#: Since when a negative timestamp has its meaning; all others have none.
VERSION_MIN: Final = {
    LATEST: 0,
    EARLIEST: 0,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}
NEVER: Final = 2**15
LEADER_EPOCH_VERSION_MIN: Final = 4
CONSUMER_REPLICA_ID: Final = -1

_NONE: Final = -1

logger = logging.getLogger("distributedlog.broker")


def handle(broker: "Broker", context: "RequestContext", request: ListOffsetsRequest) -> ListOffsetsResponse:
    named = Counter((topic.name, one.partition_index) for topic in request.topics for one in topic.partitions)
    answers: list[ListOffsetsTopicResponse] = []
    for topic in request.topics:
        rows: list[ListOffsetsPartitionResponse] = []
        for wanted in topic.partitions:
            if named[topic.name, wanted.partition_index] > 1:
                rows.append(_failure(wanted, ErrorCode.INVALID_REQUEST))
            elif wanted.timestamp < 0 and context.version < VERSION_MIN.get(wanted.timestamp, NEVER):
                rows.append(_failure(wanted, ErrorCode.UNSUPPORTED_VERSION))
            else:
                row = _answer(broker, topic.name, wanted, request)
                if context.version < LEADER_EPOCH_VERSION_MIN:
                    row.leader_epoch = _NONE
                rows.append(row)
        answers.append(ListOffsetsTopicResponse(topic.name, rows))
    return ListOffsetsResponse(0, answers)


def _answer(
    broker: "Broker", topic: str, wanted: ListOffsetsPartition, request: ListOffsetsRequest
) -> ListOffsetsPartitionResponse:
    partition = broker.partitions.get(topic, wanted.partition_index)
    if partition is None:
        return _failure(wanted, broker.partitions.why_missing(topic, None, wanted.partition_index))
    epoch = wanted.current_leader_epoch
    if epoch >= 0 and epoch != partition.leader_epoch:
        return _failure(wanted, epoch_error(epoch, partition.leader_epoch))
    try:
        found = _look_up(partition, wanted.timestamp, _upper_offset(partition, request))
    except (LogError, OSError) as error:
        logger.error("a look-up in %r failed: %s", partition, error)
        return _failure(wanted, code_of(error))
    if found is None:
        return ListOffsetsPartitionResponse(wanted.partition_index, 0, _NONE, _NONE, _NONE)
    return ListOffsetsPartitionResponse(wanted.partition_index, 0, *found)


def _upper_offset(partition: "Partition", request: ListOffsetsRequest) -> int:
    """Up to where the asker may see: consumers by their isolation level, others to the end."""
    log = partition.log
    if request.replica_id != CONSUMER_REPLICA_ID:
        return log.log_end_offset
    return log.last_stable_offset if request.isolation_level == READ_COMMITTED else log.high_watermark


def _look_up(partition: "Partition", timestamp: int, upper_offset: int) -> tuple[int, int, int] | None:
    """Timestamp, offset and leader epoch; None when there is no such record, or no tier to look in."""
    log = partition.log
    match timestamp:
        case -1:
            return _NONE, upper_offset, partition.leader_epoch
        case -2 | -4:
            epoch = log.leader_epochs.epoch_for_offset(log.log_start_offset)
            return _NONE, log.log_start_offset, _NONE if epoch is None else epoch
        case -3:
            return log.offset_of_max_timestamp(upper_offset)
        case -5 | -6:
            return None
    return log.offset_for_timestamp(timestamp, upper_offset)


def _failure(wanted: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(wanted.partition_index, int(error), _NONE, _NONE, _NONE)
