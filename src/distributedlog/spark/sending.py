"""[io] Finished record batches on their way to the brokers: in order for each partition, and none twice.

Several requests are on their way at once. After an error that may pass, nothing new is sent until all
answers are there; then all that is unacknowledged goes again, with the sequences that it had, one request
at a time until one succeeds. The broker knows by the sequences what it has already.
"""

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from struct import Struct
from typing import Final

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.connection import Connection
from distributedlog.client.errors import BrokerError, ClientError, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.producer.identity import Identity
from distributedlog.records.batches import write_crc
from distributedlog.records.header import (
    ATTRIBUTES_POSITION,
    INT32_MAX,
    PRODUCER_ID_POSITION,
    RECORDS_COUNT_POSITION,
    TRANSACTIONAL_BIT,
)
from distributedlog.spark.output_batches import OutputBatch
from distributedlog.spark.shared_client import Patience
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

#: Brokers remember five batches of a producer for each partition.
IN_FLIGHT_MAX: Final = 5
WAITING_BYTES_MAX: Final = 32 * 1024 * 1024
#: From 12 on Produce adds to the transaction what was not added before, and epochs run differently.
PRODUCE_VERSION_MAX: Final = 11
ACKS_ALL: Final = -1
PRODUCE: Final = "produce"
_NO_TRANSACTION_TIMEOUT: Final = INT32_MAX

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")
_IDENTITY: Final = Struct(">qhi")

_STORED: Final = frozenset({ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER})
_IDENTITY_LOST: Final = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_PRODUCER_EPOCH,
    }
)


_NOBODY: Final = -1


@dataclass(slots=True, eq=False)
class _Sent:
    data: memoryview
    records_count: int
    #: Under which identity and sequence; None until it was first sent.
    numbered: tuple[Identity, int] | None = None


@dataclass(slots=True, eq=False)
class _Lane:
    partition: TopicPartition
    waiting: deque[_Sent] = field(default_factory=deque)
    in_flight: deque[_Sent] = field(default_factory=deque)
    sequence: int = 0
    #: The producer id of which the leader has acknowledged a batch.
    known_producer_id: int = _NOBODY

    def may_send(self, identity: Identity | None) -> bool:
        """The first batch of a producer goes alone: a leader that does not know it takes any sequence."""
        is_known = identity is not None and identity.producer_id == self.known_producer_id
        return bool(self.waiting) and (is_known or not self.in_flight)


@dataclass(frozen=True, slots=True)
class SenderSettings:
    request_size_max: int
    request_timeout_ms: int
    delivery_timeout_ms: int


class Sender:
    """`put` and `flush` raise what went wrong, now or earlier; then the sender is of no use any more.

    With a transactional id the identity is the transaction's; without one it is asked for, and anew when the
    broker has lost it, which may write something twice.
    """

    def __init__(
        self,
        cluster: ClusterClient,
        settings: SenderSettings,
        identity: Identity | None = None,
        transactional_id: str | None = None,
    ) -> None:
        self._cluster = cluster
        self._settings = settings
        self._identity = identity
        self._transactional_id = transactional_id
        self._lanes: dict[TopicPartition, _Lane] = {}
        self._waiting_bytes = 0
        self._requests: dict[int, int] = {}
        self._window = IN_FLIGHT_MAX
        self._trouble: ClientError | None = None
        self._failure: Exception | None = None
        self._has_lost_identity = False
        #: Tells the task that there is something to do, and whoever waits that something was done.
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def put(self, batches: Iterable[OutputBatch]) -> None:
        """Take batches, which from now on belong to the sender; waits while too much is unacknowledged."""
        for partition, data in batches:
            lane = self._lanes.get(partition)
            if lane is None:
                lane = self._lanes[partition] = _Lane(partition)
            lane.waiting.append(_Sent(data, _INT32.unpack_from(data, RECORDS_COUNT_POSITION)[0]))
            self._waiting_bytes += len(data)
            await self._wait_for_at_most(WAITING_BYTES_MAX)
        self._go_on()

    async def flush(self) -> None:
        """Wait until all that was put is acknowledged."""
        await self._wait_for_at_most(0)

    async def close(self) -> None:
        """Drop what is not acknowledged."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _wait_for_at_most(self, waiting_bytes: int) -> None:
        while self._waiting_bytes > waiting_bytes:
            self._go_on()
            self._progress.clear()
            await self._progress.wait()
        self._check()

    def _go_on(self) -> None:
        self._check()
        if self._task is None and self._waiting_bytes:
            self._task = asyncio.create_task(self._run())
        self._wake.set()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    # The task that sends

    async def _run(self) -> None:
        address = self._cluster.metadata.cluster_id or "the cluster"
        self._patience = Patience(self._settings.delivery_timeout_ms, f"write to {address}")
        try:
            while self._waiting_bytes:
                self._wake.clear()
                if self._trouble is None:
                    await self._send_what_may_go()
                elif not any(self._requests.values()):
                    await self._recover(self._trouble)
                    continue
                if self._failure is not None:
                    raise self._failure
                await self._wake.wait()
        except Exception as error:  # noqa: BLE001 - handed to whoever puts or waits
            self._failure = error
        finally:
            self._task = None
            self._progress.set()

    async def _send_what_may_go(self) -> None:
        try:
            if self._identity is None:
                self._identity = await self._ask_for_identity()
            ready = [lane.partition for lane in self._lanes.values() if lane.waiting]
            for leader, partitions in (await self._cluster.by_leader(ready)).items():
                connection = await self._cluster.connection_to(leader, PRODUCE)
                if self._trouble is not None:
                    return  # what was on its way failed while this waited, and comes first
                lanes = [self._lanes[partition] for partition in partitions]
                while self._requests.get(leader, 0) < self._window and any(
                    lane.may_send(self._identity) for lane in lanes
                ):
                    self._send(leader, connection, lanes)
        except ClientError as error:
            self._trouble = error
            self._wake.set()

    def _send(self, leader: int, connection: Connection, lanes: list[_Lane]) -> None:
        """One request with one batch of each lane, as many as there is room for."""
        content: list[tuple[_Lane, _Sent]] = []
        topics: dict[str, TopicProduceData] = {}
        size = 0
        for lane in lanes:
            if not lane.may_send(self._identity) or (
                content and size + len(lane.waiting[0].data) > self._settings.request_size_max
            ):
                continue
            batch = lane.waiting.popleft()
            lane.in_flight.append(batch)
            self._number(lane, batch)
            content.append((lane, batch))
            size += len(batch.data)
            topic, index = lane.partition
            topics.setdefault(topic, TopicProduceData(topic)).partition_data.append(
                PartitionProduceData(index, batch.data)
            )
        sent = [lane for lane, _ in content]
        lanes[:] = [
            lane for lane in lanes if lane not in sent
        ] + sent  # who had no room comes first next time
        request = ProduceRequest(
            self._transactional_id, ACKS_ALL, self._settings.request_timeout_ms, list(topics.values())
        )
        answer = connection.begin(request, version_max=PRODUCE_VERSION_MAX)
        self._requests[leader] = self._requests.get(leader, 0) + 1
        timeout_ms = self._settings.request_timeout_ms
        timer = asyncio.get_running_loop().call_later(
            timeout_ms / 1000, connection.give_up_on, request, timeout_ms
        )

        def answered(future: "asyncio.Future[ProduceResponse]") -> None:
            timer.cancel()
            self._requests[leader] -= 1
            self._answered(content, future)

        answer.add_done_callback(answered)

    def _number(self, lane: _Lane, batch: _Sent) -> None:
        """Fill in what the batch was made without; one that is sent again keeps what it has."""
        identity = self._identity
        if identity is None or (batch.numbered is not None and batch.numbered[0] == identity):
            return
        batch.numbered = identity, lane.sequence
        data = batch.data
        _INT64.pack_into(data, 0, 0)  # offsets are the broker's to give
        _IDENTITY.pack_into(data, PRODUCER_ID_POSITION, *identity, lane.sequence)
        lane.sequence = (lane.sequence + batch.records_count) & INT32_MAX
        attributes = _INT16.unpack_from(data, ATTRIBUTES_POSITION)[0] & ~TRANSACTIONAL_BIT
        if self._transactional_id is not None:
            attributes |= TRANSACTIONAL_BIT
        _INT16.pack_into(data, ATTRIBUTES_POSITION, attributes)
        write_crc(data)

    # Answers

    def _answered(
        self, content: list[tuple[_Lane, _Sent]], answer: "asyncio.Future[ProduceResponse]"
    ) -> None:
        if answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            results = {
                TopicPartition(topic.name, each.index): each
                for topic in answer.result().responses
                for each in topic.partition_responses
            }
            for lane, batch in content:
                self._partition_answered(lane, batch, results[lane.partition])
        elif isinstance(error, ClientError) and error.is_retriable:
            self._trouble = error
        else:
            self._failure = self._failure or (error if isinstance(error, Exception) else None)
        self._progress.set()
        self._wake.set()

    def _partition_answered(self, lane: _Lane, batch: _Sent, result: PartitionProduceResponse) -> None:
        is_first = lane.in_flight[0] is batch
        if result.error_code in _STORED:
            lane.in_flight.remove(batch)
            if batch.numbered is not None:
                lane.known_producer_id = batch.numbered[0].producer_id
            self._waiting_bytes -= len(batch.data)
            self._has_lost_identity = False
            if self._trouble is None:
                self._window = IN_FLIGHT_MAX
            self._patience.progressed()
            return
        error = _error_of(result, lane.partition)
        if result.error_code in _IDENTITY_LOST:
            if not is_first:  # what was before it failed, too, and says why
                self._trouble = self._trouble or error
            elif self._transactional_id is None and not self._has_lost_identity:
                self._trouble, self._identity, self._has_lost_identity = error, None, True
            else:
                self._failure = self._failure or error
        elif error.is_retriable:
            self._trouble = error
        else:
            self._failure = self._failure or error

    async def _recover(self, trouble: ClientError) -> None:
        for lane in self._lanes.values():
            while lane.in_flight:
                lane.waiting.appendleft(lane.in_flight.pop())
        self._window = 1
        if isinstance(trouble, BrokerError) and trouble.code in _IDENTITY_LOST:
            for lane in self._lanes.values():
                lane.sequence = 0
                lane.known_producer_id = _NOBODY
        else:
            await self._patience.after(trouble)
        self._cluster.forget_places()
        self._trouble = None

    async def _ask_for_identity(self) -> Identity:
        request = InitProducerIdRequest(None, _NO_TRANSACTION_TIMEOUT)
        response: InitProducerIdResponse = await self._cluster.ask_any(request)
        check(response.error_code, "get a producer id")
        return Identity(response.producer_id, response.producer_epoch)


def _error_of(result: PartitionProduceResponse, partition: TopicPartition) -> BrokerError:
    """In the broker's own words: on the first bad record where it names one, else on the batch."""
    errors = result.record_errors
    message = (errors[0].batch_index_error_message if errors else None) or result.error_message
    if result.error_code == ErrorCode.MESSAGE_TOO_LARGE:
        message = (
            "a batch is larger than the topic's max.message.bytes: raise that, set the option "
            "'kafka.batch.size' lower, or write smaller records"
        )
    return BrokerError(result.error_code, f"write to {partition}", message)
