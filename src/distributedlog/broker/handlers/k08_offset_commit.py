"""OffsetCommit: positions of a group, on the disk before they are confirmed."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: OffsetCommitRequest) -> Any:
    def refuse(error: ErrorCode) -> OffsetCommitResponse:
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(
                    topic.name,
                    topic.topic_id,
                    [OffsetCommitResponsePartition(one.partition_index, error) for one in topic.partitions],
                )
                for topic in request.topics
            ]
        )

    return broker.groups.ask(context, request.group_id, request, refuse)
