"""[io] Writing records to one topic: in batches, in order, once.

Each partition has one batch on its way at a time, so a retry cannot overtake; with ``acks=all`` the
sender is an idempotent producer, so a retry cannot write twice either.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import BrokerError, UnsupportedByBroker, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.partitioner import partition_for_key
from distributedlog.records import BatchBuilder, Compression
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

ACKS_ALL: Final = -1
ACKS_NONE: Final = 0
PRODUCE: Final = "produce"
_SEQUENCES: Final = 2**31
_NO_TRANSACTION_TIMEOUT: Final = 2**31 - 1


@dataclass(frozen=True, slots=True)
class SenderSettings:
    """Kafka's producer settings under their own names."""

    acks: int = ACKS_ALL
    compression: Compression = Compression.NONE
    batch_size: int = 128 * 1024
    buffer_memory: int = 32 * 1024 * 1024
    may_create_topic: bool = False


class Lane:
    """One partition's batches: the one being filled, those that wait, and the task that sends them."""

    __slots__ = ("builder", "content_bytes", "full", "partition", "sequence", "task")

    def __init__(self, partition: TopicPartition) -> None:
        self.partition = partition
        self.builder: BatchBuilder | None = None
        #: Bytes of keys and values in the batch being filled.
        self.content_bytes = 0
        #: Those that wait, each with its bytes of keys and values.
        self.full: deque[tuple[BatchBuilder, int]] = deque()
        self.sequence = 0
        self.task: asyncio.Task[None] | None = None

    def close_batch(self) -> int:
        """What comes from now on goes into another batch; returns the size of this one."""
        builder = self.builder
        if builder is None:
            return 0
        self.full.append((builder, self.content_bytes))
        self.builder, self.content_bytes = None, 0
        return builder.size


class TopicSender:
    """An async context manager. Leaving it without an error waits until everything is acknowledged."""

    def __init__(self, client: ClusterClient, topic: str, settings: SenderSettings | None = None) -> None:
        self.acknowledged_records = 0
        #: Of their keys and values.
        self.acknowledged_bytes = 0
        #: Told at once what a batch failed of: whoever has nothing to send just then would not hear of it.
        self.on_failure: Callable[[Exception], None] | None = None
        self._client = client
        self._topic = topic
        self._settings = settings or SenderSettings()
        self._lanes: list[Lane] = []
        self._sticky = 0
        #: Of batches that are full and not yet acknowledged.
        self._buffered_bytes = 0
        self._progress = asyncio.Event()
        self._failure: BaseException | None = None
        self._producer_id = -1
        self._producer_epoch = -1

    async def __aenter__(self) -> "TopicSender":
        (topic,) = await self._client.topics([self._topic], may_create=self._settings.may_create_topic)
        self._lanes = [Lane(TopicPartition(self._topic, info.index)) for info in topic.partitions]
        if self._settings.acks == ACKS_ALL:
            await self._become_idempotent()
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                await self.flush()
        finally:
            tasks = [lane.task for lane in self._lanes if lane.task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def partition_count(self) -> int:
        return len(self._lanes)

    async def send(
        self,
        value: bytes | None,
        key: bytes | None = None,
        headers: tuple[tuple[str, bytes | None], ...] = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        """Take one record. Waits while too much is unacknowledged; raises what an earlier batch failed of."""
        if self._failure is not None:
            raise self._failure
        if partition is None:
            partition = self._sticky if key is None else partition_for_key(key, len(self._lanes))
        lane = self._lanes[partition]
        if lane.builder is None:
            lane.builder = BatchBuilder(self._settings.compression)
        builder = lane.builder
        builder.append(time.time_ns() // 1_000_000 if timestamp is None else timestamp, key, value, headers)
        lane.content_bytes += (len(value) if value else 0) + (len(key) if key else 0)
        if builder.size >= self._settings.batch_size:
            self._close_batch(lane)
            self._sticky = (self._sticky + 1) % len(self._lanes)
            await asyncio.sleep(0)  # whoever sends without a pause would leave no time for the sending
            while self._buffered_bytes > self._settings.buffer_memory:
                await self._wait_for_progress()

    def hurry(self) -> None:
        """Send what there is, without waiting for full batches: nothing more may come for a while."""
        for lane in self._lanes:
            if lane.task is None:
                self._close_batch(lane)

    async def flush(self) -> None:
        """Wait until all that was taken is acknowledged."""
        for lane in self._lanes:
            self._close_batch(lane)
        while any(lane.task is not None for lane in self._lanes):
            await self._wait_for_progress()
        if self._failure is not None:
            raise self._failure

    def _close_batch(self, lane: Lane) -> None:
        self._buffered_bytes += lane.close_batch()
        if lane.full and lane.task is None:
            lane.task = asyncio.create_task(self._drain(lane))

    async def _wait_for_progress(self) -> None:
        self._progress.clear()
        await self._progress.wait()
        if self._failure is not None:
            raise self._failure

    async def _drain(self, lane: Lane) -> None:
        try:
            while lane.full and self._failure is None:
                builder, content_bytes = lane.full.popleft()
                await self._send_batch(lane, builder)
                self._buffered_bytes -= builder.size
                self.acknowledged_records += builder.records_count
                self.acknowledged_bytes += content_bytes
                self._progress.set()
                if not lane.full:
                    self._buffered_bytes += lane.close_batch()  # what came while we waited waits no longer
        except Exception as error:  # noqa: BLE001 - handed to whoever sends next
            self._failure = error
            if self.on_failure is not None:
                self.on_failure(error)
        finally:
            lane.task = None
            self._progress.set()

    async def _send_batch(self, lane: Lane, builder: BatchBuilder) -> None:
        builder.producer_id = self._producer_id
        builder.producer_epoch = self._producer_epoch
        if self._producer_id >= 0:
            builder.base_sequence = lane.sequence
            lane.sequence = (lane.sequence + builder.records_count) % _SEQUENCES
        batch = builder.build()

        async def attempt() -> None:
            (leader,) = await self._client.by_leader([lane.partition])
            request = self._request(lane.partition, batch)
            if self._settings.acks == ACKS_NONE:
                await (await self._client.connection_to(leader, PRODUCE)).send(request)
                return
            response: ProduceResponse = await self._client.ask_node(leader, request, purpose=PRODUCE)
            result = response.responses[0].partition_responses[0]
            if result.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                check(result.error_code, f"write to {lane.partition}", _explanation(result))

        await self._client.retrying(attempt)

    def _request(self, partition: TopicPartition, batch: bytearray) -> ProduceRequest:
        topic_id = self._client.metadata.topics[partition.topic].topic_id
        data = [PartitionProduceData(partition.partition, batch)]
        topics = [TopicProduceData(partition.topic, topic_id, data)]
        return ProduceRequest(None, self._settings.acks, self._client.settings.request_timeout_ms, topics)

    async def _become_idempotent(self) -> None:
        async def attempt() -> InitProducerIdResponse:
            request = InitProducerIdRequest(None, _NO_TRANSACTION_TIMEOUT)
            response: InitProducerIdResponse = await self._client.ask_any(request)
            check(response.error_code, "get a producer id")
            return response

        try:
            response = await self._client.retrying(attempt)
        except UnsupportedByBroker:
            return
        except BrokerError as error:
            if error.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
                raise
            return
        self._producer_id = response.producer_id
        self._producer_epoch = response.producer_epoch


def _explanation(result: object) -> str | None:
    """The broker's own words: on the first bad record where it names one, else on the batch."""
    errors = getattr(result, "record_errors", None)
    message: str | None = getattr(result, "error_message", None)
    return (errors[0].batch_index_error_message if errors else None) or message
