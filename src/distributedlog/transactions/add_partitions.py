"""AddPartitionsToTxn: partitions become part of a transaction, or it is verified that they are.

Versions below 4 come from clients, one transaction at a time. From 4 on partition leaders ask, for many at
once: they verify what clients of version 1 should have added before, and add what those of version 2 write
to (KIP-890).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from distributedlog.coordination import Context
from distributedlog.transactions import sweeps, transitions
from distributedlog.transactions.errors import ADD_FENCED_VERSION, TransactionError, error_for
from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.outcome import Outcome
from distributedlog.transactions.state import CoordinatorState
from distributedlog.transactions.states import TransactionState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

#: The first version with many transactions in a request, which only leaders of partitions send.
BATCHED_VERSION: Final = 4


def add_partitions(
    state: CoordinatorState, context: Context, request: AddPartitionsToTxnRequest, out: Outcome
) -> None:
    """Every transaction on its own; each of its partitions gets the same answer, except in verifying."""
    if context.api_version < BATCHED_VERSION:
        asked = AddPartitionsToTxnTransaction(
            request.v3_and_below_transactional_id,
            request.v3_and_below_producer_id,
            request.v3_and_below_producer_epoch,
            False,
            request.v3_and_below_topics,
        )
        topics = _results(state, context, asked, 0, out)
        out.reply(context, AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics))
        return
    version = transitions.EPOCH_BUMP_VERSION
    results = [
        AddPartitionsToTxnResult(each.transactional_id, _results(state, context, each, version, out))
        for each in request.transactions
    ]
    out.reply(context, AddPartitionsToTxnResponse(results_by_transaction=results))


def topic_results(
    topics: Sequence[AddPartitionsToTxnTopic], error_of: Callable[[TopicPartition], ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    """The rows of a response, with an error for each partition."""
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(index, int(error_of(TopicPartition(topic.name, index))))
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]


def partitions_of(topics: Iterable[AddPartitionsToTxnTopic]) -> frozenset[TopicPartition]:
    """The partitions that a request names."""
    return frozenset(TopicPartition(topic.name, index) for topic in topics for index in topic.partitions)


def _results(
    state: CoordinatorState,
    context: Context,
    asked: AddPartitionsToTxnTransaction,
    client_version: int,
    out: Outcome,
) -> list[AddPartitionsToTxnTopicResult]:
    try:
        metadata = _checked(state, asked, out)
    except TransactionError as error:
        code = error_for(error.code, context.api_version, ADD_FENCED_VERSION)
        return topic_results(asked.topics, lambda _: code)
    if asked.verify_only:
        added = metadata.partitions
        return topic_results(
            asked.topics, lambda each: ErrorCode.NONE if each in added else ErrorCode.TRANSACTION_ABORTABLE
        )
    partitions = partitions_of(asked.topics)
    if metadata.state is not TransactionState.ONGOING or not partitions <= metadata.partitions:
        out.change(transitions.extended(metadata, partitions, client_version, context.now_ms))
        sweeps.watch_timeouts(state, context.now_ms)
    return topic_results(asked.topics, lambda _: ErrorCode.NONE)


def _checked(
    state: CoordinatorState, asked: AddPartitionsToTxnTransaction, out: Outcome
) -> TransactionMetadata:
    metadata = state.held_by(asked.transactional_id, asked.producer_id, out)
    if metadata.producer_epoch != asked.producer_epoch:
        raise TransactionError(ErrorCode.PRODUCER_FENCED)
    if metadata.is_prepared:
        raise TransactionError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return metadata
