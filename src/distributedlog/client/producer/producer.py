"""[io] The producer of programs that block: records are taken in the caller's thread, sent by another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from distributedlog.client.background import LoopThread
from distributedlog.client.producer.async_producer import AsyncProducer
from distributedlog.client.producer.table_future import TableFuture
from distributedlog.client.producer.transaction import Transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from distributedlog.client.producer.batch import Batch
    from distributedlog.client.producer.future import RecordFuture
    from distributedlog.client.producer.metrics import ProducerMetrics


class _Core(AsyncProducer):
    """The core in the other thread: whoever wakes it is not there."""

    def _wake(self) -> None:
        self._loop.call_soon_threadsafe(self._sender.drain)


class Producer:
    """Writes records; a context manager, for any number of threads.

        with Producer("localhost:9092") as producer:
            future = producer.send("orders", b"a hat", key=b"ann")
            print(future.result())

    Options are those of `ProducerSettings` and `ClientSettings`. ``on_delivery`` is called in the producer's
    own thread with (metadata, None) or (None, error): it must not block.
    """

    def __init__(self, bootstrap: str, **options: Any) -> None:
        self._thread = LoopThread("distributedlog-producer")
        try:
            self._core = self._thread.run(_made(bootstrap, options))
        except BaseException:
            self._thread.close()
            raise
        self._append = self._core._accumulator.append
        self._is_plain = self._core._is_plain

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(
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
        """Take a record; the future that is returned ends with its acknowledgement.

        Waits up to ``max_block_ms`` where it must: for a topic that is not known yet, and for memory.
        """
        if not self._is_plain:
            key, value = self._core._prepared(key, value)
        future = self._append(topic, value, key, headers, partition, timestamp, on_delivery)
        if future is not None:
            return future
        later = self._core._send_later(topic, value, key, headers, partition, timestamp, on_delivery)
        return self._thread.run(later)

    def send_many(
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
        """Take many records that share all but their values."""
        shared: dict[str, Any] = {"key": key, "headers": headers, "partition": partition}
        shared |= {"timestamp": timestamp, "on_delivery": on_delivery}
        return [self.send(topic, value, **shared) for value in values]

    def send_table(
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
        core = self._core
        accumulator = core._accumulator
        names = {"key": key, "value": value, "headers": headers, "timestamp": timestamp}
        rows = core._table_rows(table, names, partition)
        if topic not in accumulator.topics:
            self._thread.run(core._keeper.learn(topic))
        lanes = accumulator.topics[topic]
        taken: list[Batch] = []
        for batches in rows.batches(accumulator, lanes):
            if not accumulator.add_waiting(lanes, batches):
                self._thread.run(core._add_when_there_is_room(lanes, batches, taken))
            taken += batches
        return TableFuture(topic, accumulator, taken)

    def flush(self, timeout_seconds: float | None = None) -> None:
        """Wait until all that was taken is acknowledged or has failed, or TimeoutError."""
        self._thread.run(self._core.flush(timeout_seconds))

    def close(self, timeout_seconds: float | None = None) -> None:
        """Flush, then end the thread. After `timeout_seconds` what is left fails with ClientClosed."""
        if self._thread.is_closed:
            return
        try:
            self._thread.run(self._core.close(timeout_seconds))
        finally:
            self._thread.close()

    def transaction(self) -> Transaction:
        """A transaction, for ``with``; the producer needs a ``transactional_id``."""
        return Transaction(self._core.transaction(), self._thread.run)

    def init_transactions(self) -> None:
        """Fence earlier producers of the transactional id now, not with the first transaction."""
        self._thread.run(self._core.init_transactions())

    def metrics(self) -> ProducerMetrics:
        """What was done so far."""
        return self._core.metrics()

    def partitions_for(self, topic: str) -> int:
        """How many partitions the topic has."""
        return self._thread.run(self._core.partitions_for(topic))


async def _made(bootstrap: str, options: dict[str, Any]) -> _Core:
    return _Core(bootstrap, **options)
