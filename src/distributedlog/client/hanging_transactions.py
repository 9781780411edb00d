"""Transactions that are open in a partition and that no coordinator will ever end.

Readers of committed data wait for them for ever, and compaction stops there. They come about where a record
of a transaction reached its partition after the transaction was over, which brokers before Kafka 3.6 let
happen (KIP-890 tells how), or where the coordinator's log was lost.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import BrokerError
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.transactions import (
    OPEN_STATES,
    ProducerState,
    TransactionDescription,
    describe_producers,
    describe_transaction,
    list_transactions,
)
from distributedlog.wire import ErrorCode


@dataclass(frozen=True, slots=True)
class HangingTransaction:
    """``transactional_id`` is whose it was, where that is known; ``reason`` says why nobody will end it."""

    partition: TopicPartition
    producer: ProducerState
    transactional_id: str | None
    reason: str


async def find_hanging(
    client: ClusterClient, partitions: Iterable[TopicPartition], *, now_ms: int, age_min_ms: int
) -> list[HangingTransaction]:
    """Those of these partitions whose last record is older than so many milliseconds."""
    suspects = [
        (partition, producer)
        for partition, producer in await _open_transactions(client, partitions)
        if now_ms - producer.last_timestamp_ms >= age_min_ms
    ]
    if not suspects:
        return []
    ids = await _transactional_ids(client, sorted({producer.producer_id for _, producer in suspects}))
    names = sorted(set(ids.values()))
    described = await asyncio.gather(*(_described(client, name) for name in names))
    transactions = {found.transactional_id: found for found in described if found is not None}
    hanging = hanging_of(suspects, ids, transactions)
    # What has ended since the first look was not hanging.
    still = await _open_transactions(client, {each.partition for each in hanging})
    open_now = {(partition, producer.producer_id, producer.start_offset) for partition, producer in still}
    return [
        each
        for each in hanging
        if (each.partition, each.producer.producer_id, each.producer.start_offset) in open_now
    ]


async def _open_transactions(
    client: ClusterClient, partitions: Iterable[TopicPartition]
) -> list[tuple[TopicPartition, ProducerState]]:
    return [
        (partition, producer)
        for partition, producers in sorted((await describe_producers(client, partitions)).items())
        for producer in producers
        if producer.start_offset is not None
    ]


def hanging_of(
    suspects: Sequence[tuple[TopicPartition, ProducerState]],
    ids: Mapping[int, str],
    transactions: Mapping[str, TransactionDescription],
) -> list[HangingTransaction]:
    """Those that their coordinator does not know, or knows otherwise."""
    found = []
    for partition, producer in suspects:
        name = ids.get(producer.producer_id)
        reason = _reason(partition, producer, name, transactions.get(name) if name is not None else None)
        if reason is not None:
            found.append(HangingTransaction(partition, producer, name, reason))
    return found


def _reason(
    partition: TopicPartition,
    producer: ProducerState,
    name: str | None,
    transaction: TransactionDescription | None,
) -> str | None:
    """Why nobody will end it; None where the coordinator will."""
    if name is None or transaction is None:
        return "no coordinator knows its producer"
    if transaction.producer_id != producer.producer_id:
        return f"{name} has another producer now"
    if transaction.producer_epoch < producer.producer_epoch:
        return f"its epoch is higher than that of {name}"
    if transaction.state not in OPEN_STATES:
        return f"{name} has no open transaction"
    if partition not in transaction.partitions:
        return f"the open transaction of {name} does not have this partition"
    return None


async def _transactional_ids(client: ClusterClient, producer_ids: Sequence[int]) -> dict[int, str]:
    listed = await list_transactions(client, producer_ids=producer_ids)
    return {each.producer_id: each.transactional_id for each in listed}


async def _described(client: ClusterClient, transactional_id: str) -> TransactionDescription | None:
    try:
        return await describe_transaction(client, transactional_id)
    except BrokerError as error:
        if error.code != ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise
        return None
