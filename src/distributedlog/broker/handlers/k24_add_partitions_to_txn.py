"""AddPartitionsToTxn: partitions become part of a transaction, or a leader asks whether they are.

A transaction that names a partition which does not exist is not changed at all. Clients, who speak the
versions below 4, may not write to the broker's own topics, and so cannot add them.
"""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.cluster.image import INTERNAL_TOPICS
from distributedlog.wire import ErrorCode
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

BATCHED_VERSION: Final = 4


def handle(broker: "Broker", context: "RequestContext", request: AddPartitionsToTxnRequest) -> Any:
    if context.version < BATCHED_VERSION:
        return _one(broker, context, request)
    return _many(broker, context, request)


def _one(broker: "Broker", context: "RequestContext", request: AddPartitionsToTxnRequest) -> Any:
    topics = request.v3_and_below_topics
    refused = _refused(broker, topics, is_client=True)
    if refused is not None:
        return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=refused)
    return broker.transactions.ask(
        context,
        request.v3_and_below_transactional_id,
        request,
        lambda error: AddPartitionsToTxnResponse(results_by_topic_v3_and_below=_failed(topics, error)),
    )


def _many(broker: "Broker", context: "RequestContext", request: AddPartitionsToTxnRequest) -> Any:
    rows: dict[int, AddPartitionsToTxnResult] = {}
    asked: list[tuple[int, AddPartitionsToTxnTransaction]] = []
    for position, each in enumerate(request.transactions):
        refused = _refused(broker, each.topics, is_client=False)
        if refused is None:
            asked.append((position, each))
        else:
            rows[position] = AddPartitionsToTxnResult(each.transactional_id, refused)

    def response_of(answers: list[AddPartitionsToTxnResult]) -> AddPartitionsToTxnResponse:
        rows.update(zip((position for position, _ in asked), answers, strict=True))
        return AddPartitionsToTxnResponse(results_by_transaction=[rows[each] for each in sorted(rows)])

    return broker.transactions.ask_each(
        context,
        [each for _, each in asked],
        name_of=lambda each: each.transactional_id,
        request_of=AddPartitionsToTxnRequest,
        rows_of=lambda response: response.results_by_transaction,
        refuse=lambda each, error: AddPartitionsToTxnResult(
            each.transactional_id, _failed(each.topics, error)
        ),
        response_of=response_of,
    )


def _refused(
    broker: "Broker", topics: list[AddPartitionsToTxnTopic], *, is_client: bool
) -> list[AddPartitionsToTxnTopicResult] | None:
    """The answer where something is wrong with a partition: then nothing is done about the others."""
    errors = {
        (topic.name, index): error
        for topic in topics
        for index in topic.partitions
        if (error := _error_of(broker, topic.name, index, is_client)) is not ErrorCode.NONE
    }
    if not errors:
        return None
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(
                    index, int(errors.get((topic.name, index), ErrorCode.OPERATION_NOT_ATTEMPTED))
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def _error_of(broker: "Broker", name: str, index: int, is_client: bool) -> ErrorCode:
    if is_client and name in INTERNAL_TOPICS:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    topic = broker.image.topics_by_name.get(name)
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


def _failed(topics: list[AddPartitionsToTxnTopic], error: ErrorCode) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            topic.name, [AddPartitionsToTxnPartitionResult(index, int(error)) for index in topic.partitions]
        )
        for topic in topics
    ]
