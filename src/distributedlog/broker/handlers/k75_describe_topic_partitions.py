"""DescribeTopicPartitions: topics in the order of their names, a page of partitions at a time."""

from typing import TYPE_CHECKING

from distributedlog.broker.authorized_operations import TOPIC_OPERATIONS
from distributedlog.broker.error_response import error_response
from distributedlog.broker.topic_availability import is_offline
from distributedlog.cluster.image import PartitionImage, TopicImage
from distributedlog.cluster.topic_names import is_valid_name
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k75_describe_topic_partitions import (
    DescribedTopic,
    DescribedTopicPartition,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicPartitionCursor,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    cursor = request.cursor
    named = {topic.name for topic in request.topics}
    if cursor is not None and (cursor.partition_index < 0 or (named and cursor.topic_name not in named)):
        refused: DescribeTopicPartitionsResponse = error_response(context, request, ErrorCode.INVALID_REQUEST)
        return refused
    there = broker.image.topics_by_name
    names = sorted(named or there)
    room = max(min(broker.config.max_request_partition_size_limit, request.response_partition_limit), 1)
    response = DescribeTopicPartitionsResponse()
    for name in names:
        if cursor is not None and name < cursor.topic_name:
            continue
        if room <= 0:
            response.next_cursor = TopicPartitionCursor(name, 0)
            break
        topic = there.get(name)
        if topic is None:
            response.topics.append(_unknown(name))
            continue
        first = cursor.partition_index if cursor is not None and name == cursor.topic_name else 0
        page = topic.partitions[first : first + room]
        response.topics.append(_described(broker, topic, page))
        room -= len(page)
        if first + len(page) < len(topic.partitions):
            response.next_cursor = TopicPartitionCursor(name, first + len(page))
            break
    return response


def _unknown(name: str) -> DescribedTopic:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid_name(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribedTopic(int(code), name, topic_authorized_operations=TOPIC_OPERATIONS)


def _described(broker: "Broker", topic: TopicImage, page: tuple[PartitionImage, ...]) -> DescribedTopic:
    described = DescribedTopic(
        0, topic.name, topic.topic_id, topic.is_internal, topic_authorized_operations=TOPIC_OPERATIONS
    )
    for partition in page:
        offline = is_offline(broker, topic.name, partition)
        described.partitions.append(
            DescribedTopicPartition(
                error_code=int(ErrorCode.LEADER_NOT_AVAILABLE if offline else ErrorCode.NONE),
                partition_index=partition.index,
                leader_id=-1 if offline else partition.leader,
                leader_epoch=partition.leader_epoch,
                replica_nodes=list(partition.replicas),
                isr_nodes=list(partition.isr),
                eligible_leader_replicas=[],
                last_known_elr=[],
                offline_replicas=[broker.node_id] if offline else [],
            )
        )
    return described
