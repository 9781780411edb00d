"""What administrators ask about transactions, and how they end one that nobody else will (KIP-664)."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from distributedlog.client.cluster_client import TRANSACTION, ClusterClient
from distributedlog.client.errors import BrokerError, UnsupportedByBroker, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import APIS, ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from distributedlog.wire.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from distributedlog.wire.k61_describe_producers import (
    ActiveProducer,
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeProducersTopic,
)
from distributedlog.wire.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest, ListTransactionsResponse

STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "PrepareEpochFence",
    "Dead",
)
#: Those in which the coordinator still has something to do for a transaction's partitions.
OPEN_STATES: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"})
NO_TRANSACTION: Final = -1
_LIST_TRANSACTIONS: Final = 66


@dataclass(frozen=True, slots=True)
class TransactionListing:
    transactional_id: str
    state: str
    producer_id: int
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class TransactionDescription:
    """``start_ms`` is None where no transaction is open."""

    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_ms: int | None
    partitions: tuple[TopicPartition, ...]
    coordinator_id: int


@dataclass(frozen=True, slots=True)
class ProducerState:
    """What a leader remembers of a producer; ``start_offset`` is None where it has no open transaction."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int
    start_offset: int | None


async def list_transactions(
    client: ClusterClient,
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    open_longer_than_ms: int | None = None,
) -> list[TransactionListing]:
    """All transactional ids of the cluster, in their order: every broker knows those that it coordinates."""

    async def of_node(node_id: int) -> list[TransactionListing]:
        connection = await client.connection_to(node_id)
        request = ListTransactionsRequest(list(states), list(producer_ids))
        if open_longer_than_ms is not None:
            if connection.versions.version_for(APIS[_LIST_TRANSACTIONS]) < 1:
                what = "cannot choose transactions by how long they are open, which came with Kafka 3.8"
                raise UnsupportedByBroker(f"broker {node_id} {what}")
            request.duration_filter = open_longer_than_ms
        response: ListTransactionsResponse = await connection.request(request)
        check(response.error_code, f"list the transactions of broker {node_id}")
        return [
            TransactionListing(each.transactional_id, each.transaction_state, each.producer_id, node_id)
            for each in response.transaction_states
            # By how long they are open Kafka does not choose those that are not open at all.
            if open_longer_than_ms is None or each.transaction_state in OPEN_STATES
        ]

    async def attempt() -> list[TransactionListing]:
        await client.refresh(())
        lists = await asyncio.gather(*map(of_node, client.metadata.brokers))
        return sorted((each for found in lists for each in found), key=lambda each: each.transactional_id)

    return await client.retrying(attempt)


async def describe_transaction(client: ClusterClient, transactional_id: str) -> TransactionDescription:
    """One that does not exist is BrokerError TRANSACTIONAL_ID_NOT_FOUND."""

    async def attempt() -> TransactionDescription:
        node = await client.coordinator_of(transactional_id, TRANSACTION)
        request = DescribeTransactionsRequest([transactional_id])
        response: DescribeTransactionsResponse = await client.ask_node(node.node_id, request)
        (found,) = response.transaction_states
        check(found.error_code, f"describe transactional id {transactional_id}")
        partitions = (
            TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions
        )
        return TransactionDescription(
            transactional_id,
            found.transaction_state,
            found.producer_id,
            found.producer_epoch,
            found.transaction_timeout_ms,
            found.transaction_start_time_ms if found.transaction_start_time_ms >= 0 else None,
            tuple(sorted(partitions)),
            node.node_id,
        )

    return await client.retrying(attempt)


async def describe_producers(
    client: ClusterClient, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, list[ProducerState]]:
    """The producers that each partition remembers, in the order of their ids."""
    found: dict[TopicPartition, list[ProducerState]] = {}
    wanted = list(partitions)

    async def attempt() -> None:
        missing = [partition for partition in wanted if partition not in found]
        for leader, of_leader in (await client.by_leader(missing)).items():
            topics: dict[str, DescribeProducersTopic] = {}
            for topic, index in of_leader:
                topics.setdefault(topic, DescribeProducersTopic(topic)).partition_indexes.append(index)
            request = DescribeProducersRequest(list(topics.values()))
            response: DescribeProducersResponse = await client.ask_node(leader, request)
            for answer in response.topics:
                for result in answer.partitions:
                    partition = TopicPartition(answer.name, result.partition_index)
                    check(result.error_code, f"describe the producers of {partition}", result.error_message)
                    found[partition] = sorted(map(_producer_state, result.active_producers), key=_by_id)

    await client.retrying(attempt)
    return found


async def abort_in_partition(
    client: ClusterClient, partition: TopicPartition, producer: ProducerState
) -> None:
    """Write an abort marker for a producer's open transaction into one partition, and tell no coordinator.

    This is for transactions that no coordinator will end. Any other goes on afterwards, torn: what it has
    written into this partition is aborted, whatever becomes of the rest.
    """
    marker = WritableTxnMarker(
        producer.producer_id,
        producer.producer_epoch,
        transaction_result=False,
        topics=[WritableTxnMarkerTopic(partition.topic, [partition.partition])],
        coordinator_epoch=producer.coordinator_epoch,
    )
    what = f"abort the transaction of producer {producer.producer_id} in {partition}"

    async def attempt() -> None:
        (leader,) = await client.by_leader([partition])
        response: WriteTxnMarkersResponse = await client.ask_node(leader, WriteTxnMarkersRequest([marker]))
        (result,) = response.markers
        check(result.topics[0].partitions[0].error_code, what)

    await client.retrying(attempt)


async def abort_by_coordinator(client: ClusterClient, transactional_id: str) -> TransactionDescription:
    """Have the coordinator abort the open transaction of an id and fence the producer that has it.

    It is done as a new producer of this id would do it. What was there before is returned; an id without an
    open transaction is left alone, with BrokerError INVALID_TXN_STATE.
    """
    description = await describe_transaction(client, transactional_id)
    what = f"abort the transaction of {transactional_id}"
    if description.state != "Ongoing":
        message = f"there is none open, the state is {description.state}"
        raise BrokerError(ErrorCode.INVALID_TXN_STATE, what, message, is_retriable=False)
    request = InitProducerIdRequest(transactional_id, description.timeout_ms)

    async def attempt() -> None:
        response: InitProducerIdResponse = await client.ask_coordinator(
            transactional_id, request, key_type=TRANSACTION
        )
        check(response.error_code, what)

    await client.retrying(attempt)
    return description


def _by_id(producer: ProducerState) -> int:
    return producer.producer_id


def _producer_state(producer: ActiveProducer) -> ProducerState:
    start = producer.current_txn_start_offset
    return ProducerState(
        producer.producer_id,
        producer.producer_epoch,
        producer.last_sequence,
        producer.last_timestamp,
        max(producer.coordinator_epoch, 0),
        None if start == NO_TRANSACTION else start,
    )
