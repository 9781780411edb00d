"""OffsetForLeaderEpoch: where a leader epoch ended in our log."""

from typing import TYPE_CHECKING

from distributedlog.broker.fetch_plan import epoch_error
from distributedlog.wire.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: OffsetForLeaderEpochRequest
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        0,
        [
            OffsetForLeaderTopicResult(
                topic.topic, [_answer(broker, topic.topic, wanted) for wanted in topic.partitions]
            )
            for topic in request.topics
        ],
    )


def _answer(broker: "Broker", topic: str, wanted: OffsetForLeaderPartition) -> EpochEndOffset:
    index = wanted.partition
    partition = broker.partitions.get(topic, index)
    if partition is None:
        return EpochEndOffset(int(broker.partitions.why_missing(topic, None, index)), index, -1, -1)
    current = wanted.current_leader_epoch
    if current >= 0 and current != partition.leader_epoch:
        return EpochEndOffset(int(epoch_error(current, partition.leader_epoch)), index, -1, -1)
    log = partition.log
    end = log.leader_epochs.end_offset_for(wanted.leader_epoch, log.log_end_offset)
    return EpochEndOffset(0, index, end.epoch, end.start_offset)
