"""[io] Does what `CommitProtocol` decides: a query's transactions at its coordinators (docs/adr/0023)."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from distributedlog.client.cluster_client import TRANSACTION, ClusterClient
from distributedlog.client.errors import BrokerError, ClientError, check
from distributedlog.client.groups import delete_group
from distributedlog.client.producer.identity import Identity
from distributedlog.spark.commit_protocol import Batch, CommitProtocol, Step
from distributedlog.spark.commit_record import CommitRecord, newest
from distributedlog.spark.errors import SparkSourceError
from distributedlog.spark.output_batches import OutputBatch
from distributedlog.spark.sending import Sender, SenderSettings
from distributedlog.spark.shared_client import Patience, may_pass
from distributedlog.wire import APIS, ErrorCode
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from distributedlog.wire.k25_add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from distributedlog.wire.k26_end_txn import EndTxnRequest, EndTxnResponse
from distributedlog.wire.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

FORGET_SECONDS_MAX: Final = 1
_PURPOSE: Final = "transactions"
# The highest versions of transactions v1, and of names instead of topic ids.
_INIT_PRODUCER_ID_MAX: Final = 5
_ADD_PARTITIONS_MAX: Final = 3
_TXN_OFFSET_COMMIT_MAX: Final = 4
_END_TXN_MAX: Final = 4
_OFFSET_FETCH: Final = 9
_OFFSET_FETCH_MAX: Final = 9
_MANY_GROUPS_FROM: Final = 8
_NO_GENERATION: Final = -1

#: Not to be cured by asking again, but by beginning anew with the next epoch.
_BEGIN_ANEW: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)


class TransactionRefused(SparkSourceError):
    """The cluster does not let this query write in transactions."""


class QueryTransactions:
    """One for each query in each process that commits for it; batches one after the other."""

    def __init__(
        self, cluster: ClusterClient, transactional_id: str, timeout_ms: int, settings: SenderSettings
    ) -> None:
        self._cluster = cluster
        self._id = transactional_id
        self._timeout_ms = timeout_ms
        self._settings = settings
        self._protocol = CommitProtocol()
        self._identity = Identity(-1, -1)
        self._sender: Sender | None = None

    async def commit(self, batch: Batch, batches: Callable[[], Iterable[OutputBatch]]) -> bool:
        """Make the batch visible, whole and once; False when it was already.

        `batches` is asked anew for each try. ClusterAway, or an error that waiting does not cure, means that
        nothing is known of this batch; the next try finds out.
        """
        protocol = self._protocol
        protocol.begin(batch)
        patience = Patience(self._settings.delivery_timeout_ms, f"commit batch {batch.batch_id}")
        while (step := protocol.next_step()) is not Step.NOTHING:
            try:
                record = await self._take(step, batches)
            except ClientError as error:
                may_be_open = protocol.has_open_transaction
                protocol.failed()
                self._cluster.forget_places()
                if not _begins_anew(error):
                    if may_be_open or step is Step.ADD_PARTITIONS:
                        with suppress(ClientError):
                            await self._claim()  # which aborts, so that nobody waits for the time-out
                    raise self._refusal(error) from error
                if patience.is_over or may_pass(error):
                    await patience.after(_passing(error))
            except BaseException:
                protocol.failed()
                raise
            else:
                protocol.done(step, record)
                if step is Step.COMMIT:
                    return True
        return False

    async def forget(self) -> None:
        """Remove the record: nobody will ask for it again. Best effort: the broker does it in time."""
        with suppress(ClientError, TimeoutError):
            async with asyncio.timeout(FORGET_SECONDS_MAX):
                await delete_group(self._cluster, self._id)

    async def _take(self, step: Step, batches: Callable[[], Iterable[OutputBatch]]) -> CommitRecord | None:
        if step is Step.CLAIM:
            await self._claim()
        elif step is Step.READ_RECORD:
            return await self._read_record()
        elif step is Step.ADD_PARTITIONS:
            await self._add_partitions({batch.partition for batch in batches()})
        elif step is Step.WRITE_DATA:
            assert self._sender is not None
            await self._sender.put(batches())
            await self._sender.flush()
        elif step is Step.WRITE_RECORD:
            await self._write_record(sorted({batch.partition.topic for batch in batches()}))
        elif step is Step.COMMIT:
            request = EndTxnRequest(self._id, *self._identity, committed=True)
            response: EndTxnResponse = await self._ask(request, _END_TXN_MAX)
            check(response.error_code, "commit the transaction")
        return None

    async def _claim(self) -> None:
        if self._sender is not None:
            await self._sender.close()
        request = InitProducerIdRequest(self._id, self._timeout_ms)

        async def attempt() -> InitProducerIdResponse:
            response: InitProducerIdResponse = await self._ask(request, _INIT_PRODUCER_ID_MAX)
            check(response.error_code, f"become the producer of transactional id {self._id}")
            return response

        response = await self._while_concurrent(attempt)
        self._identity = Identity(response.producer_id, response.producer_epoch)
        self._sender = Sender(self._cluster, self._settings, self._identity, self._id)

    async def _read_record(self) -> CommitRecord:
        what = f"read the record of group {self._id}"
        node = await self._cluster.coordinator_of(self._id)
        connection = await self._cluster.connection_to(node.node_id, _PURPOSE)
        if connection.versions.version_for(APIS[_OFFSET_FETCH], _OFFSET_FETCH_MAX) >= _MANY_GROUPS_FROM:
            request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(self._id, topics=None)])
        else:
            request = OffsetFetchRequest(self._id, None)
        request.require_stable = True
        response: OffsetFetchResponse = await connection.request(request, version_max=_OFFSET_FETCH_MAX)
        group: Any = response.groups[0] if response.groups else response
        check(group.error_code, what)
        found = []
        for topic in group.topics:
            for result in topic.partitions:
                check(result.error_code, what)
                if result.committed_offset >= 0:
                    found.append(CommitRecord.parse(result.committed_offset, result.metadata))
        return newest(found)

    async def _add_partitions(self, partitions: Iterable[tuple[str, int]]) -> None:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for name, index in sorted(partitions):
            topics.setdefault(name, AddPartitionsToTxnTopic(name)).partitions.append(index)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self._identity.producer_id,
            v3_and_below_producer_epoch=self._identity.epoch,
            v3_and_below_topics=list(topics.values()),
        )

        async def attempt() -> None:
            response: AddPartitionsToTxnResponse = await self._ask(request, _ADD_PARTITIONS_MAX)
            codes = [
                (each.partition_error_code, f"{topic.name}-{each.partition_index}")
                for topic in response.results_by_topic_v3_and_below
                for each in topic.results_by_partition
                if each.partition_error_code
            ]
            # All are refused when one is: the one with a reason of its own says why.
            for code, place in sorted(codes, key=lambda each: each[0] == ErrorCode.OPERATION_NOT_ATTEMPTED):
                check(code, f"add {place} to the transaction")

        await self._while_concurrent(attempt)

    async def _write_record(self, topics: Sequence[str]) -> None:
        async def add() -> None:
            request = AddOffsetsToTxnRequest(self._id, *self._identity, self._id)
            response: AddOffsetsToTxnResponse = await self._ask(request, _ADD_PARTITIONS_MAX)
            check(response.error_code, f"add group {self._id} to the transaction")

        await self._while_concurrent(add)
        record = self._protocol.next_record()
        metadata = record.metadata()
        request = TxnOffsetCommitRequest(
            self._id,
            self._id,
            *self._identity,
            _NO_GENERATION,
            "",
            None,
            [
                TxnOffsetCommitRequestTopic(
                    topic, [TxnOffsetCommitRequestPartition(0, record.batch_id, -1, metadata)]
                )
                for topic in topics
            ],
        )
        response: TxnOffsetCommitResponse = await self._cluster.ask_coordinator(
            self._id, request, purpose=_PURPOSE, version_max=_TXN_OFFSET_COMMIT_MAX
        )
        for topic in response.topics:
            for result in topic.partitions:
                check(result.error_code, f"record batch {record.batch_id} in group {self._id}")

    async def _ask(self, request: Any, version_max: int) -> Any:
        return await self._cluster.ask_coordinator(
            self._id, request, purpose=_PURPOSE, key_type=TRANSACTION, version_max=version_max
        )

    async def _while_concurrent(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """The coordinator is still at work on the transaction before: it refuses, but not for long."""
        patience = Patience(self._settings.delivery_timeout_ms, "begin a transaction")
        while True:
            try:
                return await attempt()
            except BrokerError as error:
                if error.code != ErrorCode.CONCURRENT_TRANSACTIONS:
                    raise
                await patience.after(error)

    def _refusal(self, error: ClientError) -> Exception:
        """The error in words of this sink."""
        code = error.code if isinstance(error, BrokerError) else None
        if code == ErrorCode.INVALID_TRANSACTION_TIMEOUT:
            return TransactionRefused(
                f"the broker allows no transactions of {self._timeout_ms} ms: set the option "
                "'kafka.transaction.timeout.ms' to at most its transaction.max.timeout.ms, or raise that"
            )
        if code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return TransactionRefused(
                f"this user may not write as transactional id {self._id!r}: exactly-once needs WRITE on "
                "transactional ids and READ on groups that begin with the option 'transactionalIdPrefix'"
            )
        if code == ErrorCode.GROUP_AUTHORIZATION_FAILED:
            return TransactionRefused(
                f"this user may not use group {self._id!r}, where the batches of this query are recorded: "
                "exactly-once needs READ on groups that begin with the option 'transactionalIdPrefix'"
            )
        return error


def _begins_anew(error: ClientError) -> bool:
    return may_pass(error) or (isinstance(error, BrokerError) and error.code in _BEGIN_ANEW)


def _passing(error: ClientError) -> ClientError:
    """The same error, marked as one that may pass."""
    error.is_retriable = True
    return error
