"""[io] The producer of asyncio programs, and the core of the other one."""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
import time
from typing import TYPE_CHECKING, Any, Self

from distributedlog.client.background import watch_forks
from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import BufferFull, ClientClosed, ClientError, ForkedClient, InvalidOption
from distributedlog.client.options import split_options
from distributedlog.client.producer.accumulator import Accumulator
from distributedlog.client.producer.load import LoadWatch
from distributedlog.client.producer.metrics import ProducerMetrics
from distributedlog.client.producer.sender import Sender
from distributedlog.client.producer.settings import ProducerSettings
from distributedlog.client.producer.table_future import TableFuture
from distributedlog.client.producer.topic_keeper import TopicKeeper
from distributedlog.client.producer.transaction import AsyncTransaction
from distributedlog.client.producer.transaction_manager import TransactionManager
from distributedlog.client.producer.transaction_state import TransactionState
from distributedlog.client.serialisers import checked_callable, serialised
from distributedlog.client.settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from distributedlog.client.addresses import Address
    from distributedlog.client.producer.accumulator import TopicLanes
    from distributedlog.client.producer.batch import Batch
    from distributedlog.client.producer.future import RecordFuture
    from distributedlog.client.producer.lane import Lane
    from distributedlog.client.producer.tables import TableRows


class AsyncProducer:
    """Writes records; an async context manager, to be made in a running event loop.

        async with AsyncProducer("localhost:9092") as producer:
            future = await producer.send("orders", b"a hat", key=b"ann")
            print(await future)

    `send` waits only where it must: for a topic that is not known yet, and for memory. Options are those of
    `ProducerSettings` and `ClientSettings`.
    """

    def __init__(self, bootstrap: str | Sequence[Address], **options: Any) -> None:
        settings, client_settings = split_options(options, ProducerSettings, ClientSettings)
        self._settings: ProducerSettings = settings
        self._loop = asyncio.get_running_loop()
        self._client = ClusterClient(bootstrap, client_settings)
        self._metrics = ProducerMetrics()
        self._breaker = settings.circuit_breaker
        self._serialize_key = checked_callable("key_serializer", settings.key_serializer)
        self._serialize_value = checked_callable("value_serializer", settings.value_serializer)
        self._is_plain = self._breaker is self._serialize_key is self._serialize_value is None
        self._load: LoadWatch | None = None
        if settings.metadata_api is not None:
            self._load = LoadWatch(settings.metadata_api, settings.metadata_api_interval_ms / 1000)
        choose = _any_lane if self._load is None else self._load.choose
        self._accumulator = Accumulator(settings, self._loop.time, self._wake, choose)
        self._accumulator.loop = self._loop
        self._accumulator.loop_thread_id = threading.get_ident()
        self._keeper = TopicKeeper(self._client, self._accumulator, settings, self._metrics, choose)
        self._sender = Sender(self._client, self._accumulator, settings, self._metrics, self._keeper)
        self._transactions: TransactionManager | None = None
        if settings.transactional_id is not None:
            self._transactions = self._sender.transactions = TransactionManager(
                self._client,
                self._accumulator,
                settings,
                self.flush,
                self._sender.drop_waiting,
                self._sender.drain,
            )
        self._closing: asyncio.Task[None] | None = None
        watch_forks(self)
        if self._load is not None:
            self._load.start()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.close()

    async def send(
        self,
        topic: str,
        value: Any = None,
        *,
        key: Any = None,
        headers: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: Callable[..., object] | None = None,
    ) -> RecordFuture:
        """Take a record; awaiting the future that is returned waits for its acknowledgement."""
        if not self._is_plain:
            key, value = self._prepared(key, value)
        future = self._accumulator.append(topic, value, key, headers, partition, timestamp, on_delivery)
        if future is None:
            return await self._send_later(topic, value, key, headers, partition, timestamp, on_delivery)
        if self._accumulator.is_awake:
            await asyncio.sleep(0)  # a batch was begun: let the sender look, also when nobody else waits
        return future

    async def send_many(
        self,
        topic: str,
        values: Iterable[Any],
        *,
        key: Any = None,
        headers: Any = None,
        partition: int | None = None,
        timestamp: int | None = None,
        on_delivery: Callable[..., object] | None = None,
    ) -> list[RecordFuture]:
        """Take many records that share all but their values; waits for memory in between."""
        shared: dict[str, Any] = {"key": key, "headers": headers, "partition": partition}
        shared |= {"timestamp": timestamp, "on_delivery": on_delivery}
        return [await self.send(topic, value, **shared) for value in values]

    async def send_table(
        self,
        topic: str,
        table: Any,
        *,
        key: str | None = None,
        value: str | None = None,
        headers: str | None = None,
        timestamp: str | None = None,
        partition: int | str | None = None,
    ) -> TableFuture:
        """Take a whole table, a row a record, without an object for each; waits for memory in between.

        Of pyarrow, pandas or polars; needs the extra ``arrow``. The names are those of columns, by default
        ``value``, ``key``, ``headers``, ``timestamp`` and ``partition`` where there are such; other columns
        are left out. Values and keys are binary or text: serialisers are for single records. ``partition``
        may be a number, for all rows. BufferFull says how many rows were taken before.
        """
        names = {"key": key, "value": value, "headers": headers, "timestamp": timestamp}
        rows = self._table_rows(table, names, partition)
        if topic not in self._accumulator.topics:
            await self._keeper.learn(topic)
        lanes = self._accumulator.topics[topic]
        taken: list[Batch] = []
        for batches in rows.batches(self._accumulator, lanes):
            if not self._accumulator.add_waiting(lanes, batches):
                await self._add_when_there_is_room(lanes, batches, taken)
            taken += batches
            await asyncio.sleep(0)
        return TableFuture(topic, self._accumulator, taken)

    def _table_rows(
        self, table: Any, names: Mapping[str, str | None], partition: int | str | None
    ) -> TableRows:
        from distributedlog.client.producer.tables import TableRows  # noqa: PLC0415  (takes long to load)

        if self._breaker is not None:
            self._breaker.check()
        now_ms = time.time_ns() // 1_000_000
        return TableRows(table, names, partition, now_ms, self._settings, self._accumulator.partitioner)

    async def _add_when_there_is_room(
        self, lanes: TopicLanes, batches: Sequence[Batch], taken: Sequence[Batch]
    ) -> None:
        deadline = self._loop.time() + self._settings.max_block_ms / 1000
        while True:
            room = asyncio.Event()
            self._accumulator.wait_for_room(room.set)
            if self._accumulator.add_waiting(lanes, batches):
                return
            try:
                async with asyncio.timeout_at(deadline):
                    await room.wait()
            except TimeoutError:
                rows = sum(batch.records_count for batch in taken)
                raise BufferFull(f"{self._full()}. Of the table {rows} rows were taken") from None

    async def flush(self, timeout_seconds: float | None = None) -> None:
        """Wait until all that was taken is acknowledged or has failed; TimeoutError after `timeout_seconds`.

        What a record failed of, its future says.
        """
        batches = self._accumulator.close_all_open()
        async with asyncio.timeout(timeout_seconds):
            for batch in batches:
                if not batch.is_done:
                    done = asyncio.Event()
                    self._accumulator.add_callback(batch, done.set)
                    await done.wait()

    async def close(self, timeout_seconds: float | None = None) -> None:
        """Flush, then let go of everything. After `timeout_seconds` what is left fails with ClientClosed."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close(timeout_seconds))
        await asyncio.shield(self._closing)

    def transaction(self) -> AsyncTransaction:
        """A transaction, for ``async with``; the producer needs a ``transactional_id``."""
        return AsyncTransaction(self.transaction_manager())

    async def init_transactions(self) -> None:
        """Fence earlier producers of the transactional id now, not with the first transaction."""
        manager = self.transaction_manager()
        if manager.state is TransactionState.NEW:
            await manager.initialise()

    def metrics(self) -> ProducerMetrics:
        """What was done so far."""
        self._metrics.requests_in_flight = self._sender.in_flight
        self._metrics.buffered_bytes = self._accumulator.buffered_bytes
        self._metrics.buffered_batches = len(self._accumulator.unfinished)
        return self._metrics

    async def partitions_for(self, topic: str) -> int:
        """How many partitions the topic has."""
        if topic not in self._accumulator.topics:
            await self._keeper.learn(topic)
        return len(self._accumulator.topics[topic].lanes)

    def forked(self, error: ForkedClient) -> None:
        """Called in the child of a fork: the lock may be anybody's there, so it is not taken."""
        self._accumulator.lock = threading.Lock()
        self._accumulator.refusal = error

    async def _close(self, timeout_seconds: float | None) -> None:
        self._accumulator.refuse(ClientClosed("the producer is closed"))
        async with (
            contextlib.AsyncExitStack() as ending
        ):  # the last is done first, each whatever the others do
            ending.callback(self._accumulator.refuse, ClientClosed("the producer is closed"))
            ending.push_async_callback(self._client.close)
            ending.push_async_callback(self._keeper.close)
            ending.push_async_callback(self._sender.close)
            if self._load is not None:
                ending.push_async_callback(self._load.close)
            if self._transactions is not None:
                ending.push_async_callback(self._transactions.close)
            left = ClientClosed("the producer was closed before this record was acknowledged")
            ending.callback(self._sender.end_all, left)
            with contextlib.suppress(TimeoutError):
                await self.flush(timeout_seconds)

    def transaction_manager(self) -> TransactionManager:
        if self._transactions is None:
            raise InvalidOption("transactions need a producer with a transactional_id")
        return self._transactions

    def _wake(self) -> None:
        self._loop.call_soon(self._sender.drain)

    def _prepared(self, key: Any, value: Any) -> tuple[Any, Any]:
        if self._breaker is not None:
            self._breaker.check()
        if self._serialize_key is not None:
            key = serialised(self._serialize_key, key, "a key")
        if self._serialize_value is not None:
            value = serialised(self._serialize_value, value, "a value")
        return key, value

    async def _send_later(self, topic: str, *record: Any) -> RecordFuture:
        """The rare way: look the topic up, or wait until there is room."""
        deadline = self._loop.time() + self._settings.max_block_ms / 1000
        while True:
            if topic not in self._accumulator.topics:
                await self._keeper.learn(topic)
            room = asyncio.Event()
            if topic in self._accumulator.topics:
                self._accumulator.wait_for_room(room.set)
            future = self._accumulator.append(topic, *record)
            if future is not None:
                return future
            if topic in self._accumulator.topics:
                try:
                    async with asyncio.timeout_at(deadline):
                        await room.wait()
                except TimeoutError:
                    raise self._full() from None

    def _full(self) -> ClientError:
        return BufferFull(
            f"{self._accumulator.buffered_bytes} bytes wait to be acknowledged, and none were for "
            f"max_block_ms={self._settings.max_block_ms:g}: the cluster takes less than is sent. "
            f"Send less, or raise buffer_memory={self._settings.buffer_memory}"
        )


def _any_lane(lanes: Sequence[Lane]) -> Lane:
    """A lane whose partition has a leader, if there is one."""
    lane = lanes[int(random.random() * len(lanes))]
    if lane.leader_id is None:
        led = [other for other in lanes if other.leader_id is not None]
        lane = random.choice(led) if led else lane
    return lane
