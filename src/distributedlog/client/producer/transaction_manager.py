"""[io] A transactional producer's talk with its coordinators.

Two protocols: under transactions v2 (KIP-890; the cluster's feature ``transaction.version`` is 2) writing to
a partition adds it to the transaction, and each transaction has an epoch of its own, so that what comes
late from one never hits the next. Under v1 partitions and groups are added first, by requests of their own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.cluster_client import TRANSACTION
from distributedlog.client.errors import ClientError, ProducerFenced, TransactionAborted, check
from distributedlog.client.producer.identity import Identity
from distributedlog.client.producer.transaction_state import TransactionState, is_deadly, transaction_error
from distributedlog.wire import ErrorCode
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

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.group_metadata import GroupMetadata
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.producer.accumulator import Accumulator
    from distributedlog.client.producer.lane import Lane
    from distributedlog.client.producer.settings import ProducerSettings

_FEATURE: Final = "transaction.version"
_V2: Final = 2
_INIT_PRODUCER_ID_MAX: Final = 5  # 6 is about two-phase commit, which this client does not do
_PURPOSE: Final = "transactions"


class TransactionManager:
    """`flush` waits for all batches; `drop_waiting` ends those that no broker has been sent yet."""

    def __init__(
        self,
        client: ClusterClient,
        accumulator: Accumulator,
        settings: ProducerSettings,
        flush: Callable[[], Awaitable[None]],
        drop_waiting: Callable[[ClientError], None],
        wake: Callable[[], object],
    ) -> None:
        self.identity: Identity | None = None
        self.state = TransactionState.NEW
        self._id = settings.transactional_id or ""
        self._timeout_ms = settings.transaction_timeout_ms
        self._client = client
        self._accumulator = accumulator
        self._flush = flush
        self._drop_waiting = drop_waiting
        self._wake = wake
        self._loop = asyncio.get_running_loop()
        self._is_v2 = False
        self._has_begun = False
        self._has_lost_track = False
        self._cause: ClientError | None = None
        self._asked_for: dict[Lane, None] = {}
        self._inside: list[Lane] = []
        self._adding: asyncio.Task[None] | None = None
        accumulator.refuse(_outside())

    @property
    def produce_version_max(self) -> int | None:
        """From version 12 on a Produce request adds its partitions to the transaction."""
        return None if self._is_v2 else 11

    async def close(self) -> None:
        if self._adding is not None:
            self._adding.cancel()
            await asyncio.gather(self._adding, return_exceptions=True)

    # What the producer's users do

    async def begin(self) -> None:
        """Open a transaction. The first time this fences whoever had the transactional id before."""
        if self.state is TransactionState.NEW:
            await self.initialise()
        self._check_alive()
        if self.state is not TransactionState.READY:
            raise TransactionAborted("a transaction is open already: commit or abort it first")
        await self._find_out_protocol()
        self._has_begun = self._has_lost_track = False
        self._cause = None
        self.state = TransactionState.OPEN
        self._accumulator.refuse(None)

    async def initialise(self) -> None:
        """Get the transactional id's producer id and next epoch; an open transaction of it is aborted."""
        await self._find_out_protocol()
        request = InitProducerIdRequest(self._id, self._timeout_ms)
        if self.identity is not None:
            request.producer_id, request.producer_epoch = self.identity

        async def attempt() -> InitProducerIdResponse:
            response: InitProducerIdResponse = await self._ask(request, version_max=_INIT_PRODUCER_ID_MAX)
            check(response.error_code, f"get a producer id for transactional id {self._id}")
            return response

        response = await self._do(attempt)
        self.identity = Identity(response.producer_id, response.producer_epoch)
        self.state = TransactionState.READY

    async def commit(self) -> None:
        """Wait for all records, then commit. TransactionAborted when something failed: abort then."""
        self._check_open()
        self._accumulator.refuse(_outside())
        await self._flush()
        self._check_open()
        await self._end(is_committed=True)

    async def abort(self) -> None:
        """What waits is dropped, what is written stays invisible to readers of committed data."""
        self._check_alive()
        if self.state not in {TransactionState.OPEN, TransactionState.MUST_ABORT}:
            return
        self._accumulator.refuse(_outside())
        self._drop_waiting(TransactionAborted("the transaction that this record belonged to was aborted"))
        await self._flush()
        await self._end(is_committed=False)

    async def send_offsets(self, offsets: Mapping[TopicPartition, Any], group: GroupMetadata) -> None:
        """Commit a group's positions with the transaction. Positions have ``offset``, maybe ``metadata``."""
        self._check_open()
        if not offsets:
            return
        try:
            if not self._is_v2:
                await self._do(lambda: self._add_offsets(group))
            self._has_begun = True
            await self._do(lambda: self._commit_offsets(offsets, group))
        except ClientError as error:
            self.record_failed(error)
            raise

    # What the sender asks

    def admits(self, lane: Lane) -> bool:
        """Whether the lane's records may be written now; if not yet, it is seen to."""
        if self.state is not TransactionState.OPEN and not self._has_begun:
            return False
        if lane.is_in_transaction:
            return True
        if self._is_v2:
            self._enter(lane)
            return True
        self._asked_for[lane] = None
        if self._adding is None:
            self._adding = self._loop.create_task(self._add_partitions())
        return False

    def record_failed(self, error: ClientError) -> None:
        """The transaction cannot be committed any more."""
        self._has_lost_track = True
        if self.state is TransactionState.OPEN:
            error = transaction_error(error, self._id)
            self._cause = error
            self.state = TransactionState.DEAD if is_deadly(error) else TransactionState.MUST_ABORT
            self._accumulator.refuse(self._why_not())

    def _enter(self, lane: Lane) -> None:
        lane.is_in_transaction = True
        self._inside.append(lane)
        self._has_begun = True

    async def _add_partitions(self) -> None:
        try:
            while self._asked_for:
                lanes = list(self._asked_for)
                await self._do(lambda lanes=lanes: self._add(lanes))  # type: ignore[misc]
                for lane in lanes:
                    self._enter(lane)
                    self._asked_for.pop(lane, None)
        except ClientError as error:
            self._asked_for.clear()
            self.record_failed(error)
            self._drop_waiting(self._why_not())
        self._adding = None
        self._wake()

    # Requests

    async def _add(self, lanes: list[Lane]) -> None:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for lane in lanes:
            name = lane.partition.topic
            topics.setdefault(name, AddPartitionsToTxnTopic(name)).partitions.append(lane.partition.partition)
        producer_id, epoch = self._identity()
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=list(topics.values()),
        )
        response: AddPartitionsToTxnResponse = await self._ask(request, version_max=3)
        results = [
            each for topic in response.results_by_topic_v3_and_below for each in topic.results_by_partition
        ]
        codes = sorted(
            (each.partition_error_code for each in results if each.partition_error_code),
            key=lambda code: code == ErrorCode.OPERATION_NOT_ATTEMPTED,
        )
        for code in codes:
            check(code, "add partitions to the transaction")

    async def _add_offsets(self, group: GroupMetadata) -> None:
        producer_id, epoch = self._identity()
        request = AddOffsetsToTxnRequest(self._id, producer_id, epoch, group.group_id)
        response: AddOffsetsToTxnResponse = await self._ask(request)
        check(response.error_code, f"add the offsets of group {group.group_id} to the transaction")

    async def _commit_offsets(self, offsets: Mapping[TopicPartition, Any], group: GroupMetadata) -> None:
        producer_id, epoch = self._identity()
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (name, index), position in offsets.items():
            topic = topics.setdefault(name, TxnOffsetCommitRequestTopic(name))
            offset = getattr(position, "offset", position)
            metadata = getattr(position, "metadata", "")
            leader_epoch = getattr(position, "leader_epoch", -1)
            topic.partitions.append(TxnOffsetCommitRequestPartition(index, offset, leader_epoch, metadata))
        request = TxnOffsetCommitRequest(
            self._id,
            group.group_id,
            producer_id,
            epoch,
            group.generation_id,
            group.member_id,
            group.group_instance_id,
            list(topics.values()),
        )
        response: TxnOffsetCommitResponse = await self._client.ask_coordinator(
            group.group_id, request, version_max=None if self._is_v2 else 4
        )
        for topic_result in response.topics:
            for result in topic_result.partitions:
                check(result.error_code, f"commit offsets of group {group.group_id} in the transaction")

    async def _end(self, *, is_committed: bool) -> None:
        must_begin_anew = self._has_lost_track and not self._is_v2
        self.state = TransactionState.ENDING
        if self._adding is not None:
            await asyncio.wait([self._adding])
        try:
            if self._has_begun:
                response = await self._do(lambda: self._ask_to_end(is_committed))
                if response.producer_id >= 0:
                    self.identity = Identity(response.producer_id, response.producer_epoch)
            if must_begin_anew:
                await self.initialise()
        except ClientError as error:
            if self.state is not TransactionState.DEAD:  # what the coordinator did is not known
                self.state = TransactionState.MUST_ABORT
                self._cause = error
            raise
        finally:
            self._leave_lanes()
        self.state = TransactionState.READY

    def _leave_lanes(self) -> None:
        for lane in self._inside:
            lane.is_in_transaction = False
            with lane.accumulator.lock:
                if lane.in_flight:
                    # Given up, but not answered: the next transaction's epoch has to wait for the answer.
                    lane.begin_anew()
        self._inside.clear()

    async def _ask_to_end(self, is_committed: bool) -> EndTxnResponse:
        producer_id, epoch = self._identity()
        request = EndTxnRequest(self._id, producer_id, epoch, is_committed)
        response: EndTxnResponse = await self._ask(request, version_max=None if self._is_v2 else 4)
        check(response.error_code, f"{'commit' if is_committed else 'abort'} the transaction")
        return response

    async def _ask(self, request: Any, *, version_max: int | None = None) -> Any:
        return await self._client.ask_coordinator(
            self._id, request, purpose=_PURPOSE, key_type=TRANSACTION, version_max=version_max
        )

    async def _do(self, attempt: Callable[[], Awaitable[Any]]) -> Any:
        """Retry what may pass; what will not is told in words of transactions."""
        try:
            return await self._client.retrying(attempt)
        except ClientError as failure:
            error = transaction_error(failure, self._id)
            if is_deadly(error):
                self.state = TransactionState.DEAD
                self._cause = error
                self._accumulator.refuse(error)
            if error is failure:
                raise
            raise error from failure

    async def _find_out_protocol(self) -> None:
        async def attempt() -> bool:
            connection = await self._client.coordinator_connection(self._id, _PURPOSE, TRANSACTION)
            return connection.versions.features.get(_FEATURE, 0) >= _V2

        self._is_v2 = bool(await self._client.retrying(attempt))

    # Words

    def _identity(self) -> Identity:
        if self.identity is None:
            raise TransactionAborted("there is no transaction yet")
        return self.identity

    def _check_alive(self) -> None:
        if self.state is TransactionState.DEAD:
            raise self._why_not()

    def _check_open(self) -> None:
        if self.state in {TransactionState.DEAD, TransactionState.MUST_ABORT}:
            raise self._why_not()
        if self.state is not TransactionState.OPEN:
            raise _outside()

    def _why_not(self) -> ClientError:
        if isinstance(self._cause, ProducerFenced) or self.state is TransactionState.DEAD:
            return self._cause or _outside()
        return TransactionAborted(f"the transaction can only be aborted now: {self._cause}")


def _outside() -> ClientError:
    return TransactionAborted(
        "a producer with a transactional_id writes only inside of `with producer.transaction():`"
    )
