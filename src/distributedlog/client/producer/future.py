"""What `send` returns: a record's place in a batch, and through it the record's place in the log."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, NamedTuple

from distributedlog.client.errors import BrokerError, ClientError
from distributedlog.client.producer.batch import UNKNOWN_OFFSET

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from distributedlog.client.producer.batch import Batch


class RecordMetadata(NamedTuple):
    """Where an acknowledged record is. The offset is -1 where the broker did not say (``acks=0``)."""

    topic: str
    partition: int
    offset: int
    timestamp: int


class RecordFuture:
    """Ends in `RecordMetadata` or a ClientError. Wait with `result`, or with ``await``.

    Nothing happens for a single record when its batch is acknowledged: this object looks at the
    batch. Whoever waits for it ends the linger of the batch.
    """

    __slots__ = ("_batch", "_index", "_timestamp")

    def __init__(self, batch: Batch, index: int, timestamp: int) -> None:
        self._batch = batch
        self._index = index
        self._timestamp = timestamp

    def done(self) -> bool:
        return self._batch.is_done

    def result(self, timeout: float | None = None) -> RecordMetadata:
        """Wait up to `timeout` seconds, then TimeoutError; the record stays on its way."""
        self._wait(timeout)
        return self.metadata()

    def exception(self, timeout: float | None = None) -> ClientError | None:
        """Wait as `result` does; what it would raise is returned."""
        self._wait(timeout)
        return self.failure()

    def add_done_callback(self, callback: Callable[[RecordFuture], object]) -> None:
        """Call it when this is done: in the producer's own thread, or at once."""
        self._batch.lane.accumulator.add_callback(self._batch, lambda: callback(self))

    def __await__(self) -> Generator[Any, None, RecordMetadata]:
        if not self._batch.is_done:
            loop = asyncio.get_running_loop()
            waiter = loop.create_future()

            def wake() -> None:
                if not waiter.done():
                    waiter.set_result(None)

            accumulator = self._batch.lane.accumulator
            if loop is accumulator.loop:
                accumulator.add_callback(self._batch, wake)
            else:
                accumulator.add_callback(self._batch, lambda: loop.call_soon_threadsafe(wake))
            accumulator.hurry(self._batch)
            yield from waiter.__await__()
        return self.metadata()

    def __repr__(self) -> str:
        lane = self._batch.lane
        if not self.done():
            return f"<RecordFuture for {lane.partition}, on its way>"
        error = self.failure()
        return f"<RecordFuture: {error!r}>" if error is not None else f"<RecordFuture: {self.metadata()!r}>"

    def _wait(self, timeout: float | None) -> None:
        batch = self._batch
        if batch.is_done:
            return
        accumulator = batch.lane.accumulator
        accumulator.check_may_block()
        latch = threading.Lock()
        latch.acquire()
        accumulator.add_callback(batch, latch.release)
        accumulator.hurry(batch)
        if not latch.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError(f"no acknowledgement from {batch.lane.partition} within {timeout:g} s")

    def failure(self) -> ClientError | None:
        """What the record failed of, when it is done."""
        batch, index = self._batch.part_of(self._index)
        error = batch.error
        if error is not None and batch.record_errors and isinstance(error, BrokerError):
            message = batch.record_errors.get(index)
            if message is None:
                message = "another record of the same batch was refused; send this one again"
            return BrokerError(error.code, error.what, message)
        return error

    def metadata(self) -> RecordMetadata:
        """As `result`, when the record is done."""
        error = self.failure()
        if error is not None:
            raise error.with_traceback(None)
        batch, index = self._batch.part_of(self._index)
        offset = UNKNOWN_OFFSET if batch.base_offset < 0 else batch.base_offset + index
        timestamp = batch.log_append_time_ms if batch.log_append_time_ms >= 0 else self._timestamp
        place = batch.lane.partition
        return RecordMetadata(place.topic, place.partition, offset, timestamp)
