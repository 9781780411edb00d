"""What `send_table` returns: every batch that the table's rows went into."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from distributedlog.client.producer.batch import UNKNOWN_OFFSET

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from typing import Any

    from distributedlog.client.errors import ClientError
    from distributedlog.client.producer.accumulator import Accumulator
    from distributedlog.client.producer.batch import Batch


@dataclass(frozen=True, slots=True)
class PartitionRows:
    """What one partition got of a table. Offsets are -1 where the broker did not say (``acks=0``)."""

    rows: int
    first_offset: int
    last_offset: int


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """Where an acknowledged table is. In a partition its rows stand in the table's order."""

    topic: str
    rows: int
    partitions: Mapping[int, PartitionRows]


class TableFuture:
    """Ends in `TableMetadata`, or in the ClientError of the first batch that failed.

    As of records: wait with `result`, or with ``await``. Rows of other batches may have arrived all the same;
    `rows_stored` says how many. Inside of a transaction none counts until it is committed.
    """

    def __init__(self, topic: str, accumulator: Accumulator, batches: Sequence[Batch]) -> None:
        self._topic = topic
        self._accumulator = accumulator
        self._batches = batches

    @property
    def rows(self) -> int:
        """How many rows were taken."""
        return sum(batch.records_count for batch in self._batches)

    @property
    def rows_stored(self) -> int:
        """How many rows are acknowledged by now."""
        leaves = (leaf for batch in self._batches for leaf in _leaves(batch))
        return sum(leaf.records_count for leaf in leaves if leaf.is_done and leaf.error is None)

    def done(self) -> bool:
        return all(batch.is_done for batch in self._batches)

    def result(self, timeout: float | None = None) -> TableMetadata:
        """Wait up to `timeout` seconds, then TimeoutError; the rows stay on their way."""
        self._wait(timeout)
        return self.metadata()

    def exception(self, timeout: float | None = None) -> ClientError | None:
        """Wait as `result` does; what it would raise is returned."""
        self._wait(timeout)
        return self.failure()

    def add_done_callback(self, callback: Callable[[TableFuture], object]) -> None:
        """Call it when this is done: in the producer's own thread, or at once."""
        self._when_done(lambda: callback(self))

    def __await__(self) -> Generator[Any, None, TableMetadata]:
        if not self.done():
            loop = asyncio.get_running_loop()
            waiter = loop.create_future()

            def wake() -> None:
                if not waiter.done():
                    waiter.set_result(None)

            if loop is self._accumulator.loop:
                self._when_done(wake)
            else:
                self._when_done(lambda: loop.call_soon_threadsafe(wake))
            yield from waiter.__await__()
        return self.metadata()

    def __repr__(self) -> str:
        state = "done" if self.done() else "on its way"
        return f"<TableFuture: {self.rows} rows for {self._topic}, {state}>"

    def failure(self) -> ClientError | None:
        """What the first batch that failed did so of, when all is done."""
        for batch in self._batches:
            for leaf in _leaves(batch):
                if leaf.error is not None:
                    return leaf.error
        return None

    def metadata(self) -> TableMetadata:
        """As `result`, when it is done."""
        error = self.failure()
        if error is not None:
            raise error.with_traceback(None)
        partitions: dict[int, PartitionRows] = {}
        for batch in self._batches:
            for leaf in _leaves(batch):
                index = leaf.lane.partition.partition
                known = partitions.get(index)
                first = leaf.base_offset
                last = UNKNOWN_OFFSET if first < 0 else first + leaf.records_count - 1
                if known is not None:
                    first, last = min(known.first_offset, first), max(known.last_offset, last)
                rows = leaf.records_count + (known.rows if known is not None else 0)
                partitions[index] = PartitionRows(rows, first, last)
        return TableMetadata(self._topic, self.rows, dict(sorted(partitions.items())))

    def _wait(self, timeout: float | None) -> None:
        if self.done():
            return
        self._accumulator.check_may_block()
        latch = threading.Event()
        self._when_done(latch.set)
        if not latch.wait(timeout):
            raise TimeoutError(
                f"{self.rows} rows for {self._topic} are not acknowledged within {timeout:g} s"
            )

    def _when_done(self, callback: Callable[[], object]) -> None:
        """The call-back of the last batch that is done makes the call; it is the sender who makes them."""
        left = [len(self._batches)]
        lock = threading.Lock()

        def one_done() -> None:
            with lock:
                left[0] -= 1
                is_last = left[0] == 0
            if is_last:
                callback()

        if not self._batches:
            callback()
        for batch in self._batches:
            self._accumulator.add_callback(batch, one_done)


def _leaves(batch: Batch) -> list[Batch]:
    """The batches that the records were in at last: one that was too large was cut."""
    if not batch.parts:
        return [batch]
    return [leaf for _, part in batch.parts for leaf in _leaves(part)]
