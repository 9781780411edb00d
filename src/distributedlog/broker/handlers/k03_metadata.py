"""Metadata: the brokers and, of the topics asked for, who leads their partitions.

Topics that are not there are made when the client and ``auto.create.topics.enable`` allow it; the answer then
waits for them, so that a client need not ask twice.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from distributedlog.broker.advertised import advertised_brokers
from distributedlog.broker.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED_FOR, TOPIC_OPERATIONS
from distributedlog.broker.auto_creation import auto_create
from distributedlog.broker.error_response import error_response
from distributedlog.broker.pending import Pending
from distributedlog.broker.topic_availability import is_offline
from distributedlog.cluster.image import INTERNAL_TOPICS, TopicImage
from distributedlog.cluster.topic_names import is_valid_name
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from distributedlog.wire.schema import ZERO_UUID

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: The topic id stands on the wire from version 10 on, and is obeyed from here on.
FIRST_WITH_TOPIC_IDS: Final = 12


def handle(
    broker: "Broker", context: "RequestContext", request: MetadataRequest
) -> MetadataResponse | Pending | None:
    wanted = request.topics
    if wanted is None or (context.version == 0 and not wanted):
        every = list(broker.image.topics_by_name.values())
        return _response(broker, context, request, [_described(broker, request, topic) for topic in every])
    if context.version < FIRST_WITH_TOPIC_IDS and any(_asks_by_id(topic) for topic in wanted):
        response: MetadataResponse | None = error_response(context, request, ErrorCode.INVALID_REQUEST)
        return response
    missing = _to_create(broker, request, wanted)
    if not missing:
        return _response(broker, context, request, _answers(broker, request, wanted, {}))
    pending = Pending()

    def created(codes: Mapping[str, int]) -> None:
        pending.complete(_response(broker, context, request, _answers(broker, request, wanted, codes)))

    auto_create(broker, missing, created)
    return pending


def _asks_by_id(topic: MetadataRequestTopic) -> bool:
    return topic.name is None or bytes(topic.topic_id) != ZERO_UUID


def _to_create(broker: "Broker", request: MetadataRequest, wanted: list[MetadataRequestTopic]) -> list[str]:
    if not (request.allow_auto_topic_creation and broker.config.auto_create_topics_enable):
        return []
    names = (topic.name for topic in wanted if topic.name is not None and not _asks_by_id(topic))
    there = broker.image.topics_by_name
    return [name for name in dict.fromkeys(names) if name not in there and is_valid_name(name)]


def _answers(
    broker: "Broker",
    request: MetadataRequest,
    wanted: list[MetadataRequestTopic],
    codes: Mapping[str, int],
) -> list[MetadataResponseTopic]:
    """One answer for each topic that was named, however often."""
    answers: dict[tuple[str | None, bytes], MetadataResponseTopic] = {}
    for named in wanted:
        topic_id = bytes(named.topic_id)
        key = (None, topic_id) if topic_id != ZERO_UUID else (named.name, ZERO_UUID)
        if key not in answers:
            answers[key] = _answer(broker, request, named, codes)
    return list(answers.values())


def _answer(
    broker: "Broker", request: MetadataRequest, named: MetadataRequestTopic, codes: Mapping[str, int]
) -> MetadataResponseTopic:
    topic_id = bytes(named.topic_id)
    if topic_id != ZERO_UUID:
        topic = broker.image.topics_by_id.get(topic_id)
        if topic is None:
            return MetadataResponseTopic(int(ErrorCode.UNKNOWN_TOPIC_ID), None, topic_id)
        return _described(broker, request, topic)
    name = named.name
    if name is None:
        return MetadataResponseTopic(int(ErrorCode.INVALID_REQUEST), None)
    topic = broker.image.topics_by_name.get(name)
    if topic is not None:
        return _described(broker, request, topic)
    code = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not is_valid_name(name):
        code = int(ErrorCode.INVALID_TOPIC_EXCEPTION)
    return MetadataResponseTopic(codes.get(name, 0) or code, name, is_internal=name in INTERNAL_TOPICS)


def _described(broker: "Broker", request: MetadataRequest, topic: TopicImage) -> MetadataResponseTopic:
    partitions = []
    for partition in topic.partitions:
        replicas, isr = list(partition.replicas), list(partition.isr)
        if is_offline(broker, topic.name, partition):
            offline = [broker.node_id]
            code = int(ErrorCode.LEADER_NOT_AVAILABLE)
            partitions.append(
                MetadataResponsePartition(
                    code, partition.index, -1, partition.leader_epoch, replicas, isr, offline
                )
            )
        else:
            partitions.append(
                MetadataResponsePartition(
                    0, partition.index, partition.leader, partition.leader_epoch, replicas, isr
                )
            )
    return MetadataResponseTopic(
        0,
        topic.name,
        topic.topic_id,
        topic.is_internal,
        partitions,
        TOPIC_OPERATIONS if request.include_topic_authorized_operations else NOT_ASKED_FOR,
    )


def _response(
    broker: "Broker",
    context: "RequestContext",
    request: MetadataRequest,
    topics: list[MetadataResponseTopic],
) -> MetadataResponse:
    return MetadataResponse(
        brokers=[MetadataResponseBroker(*address) for address in advertised_brokers(broker, context)],
        cluster_id=broker.cluster_id,
        controller_id=broker.node_id,
        topics=topics,
        cluster_authorized_operations=(
            CLUSTER_OPERATIONS if request.include_cluster_authorized_operations else NOT_ASKED_FOR
        ),
    )
