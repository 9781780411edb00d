"""[io] The consumer of programs that block: another thread moves bytes, the caller's makes records."""

from __future__ import annotations

import threading
from contextlib import closing
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Self

from distributedlog.client.background import LoopThread
from distributedlog.client.consumer.arguments import Listener, as_subscription
from distributedlog.client.consumer.async_consumer import CLOSE_SECONDS, AsyncConsumer, _taken
from distributedlog.client.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    import pyarrow

    from distributedlog.client.committed import CommittedOffset
    from distributedlog.client.consumer.metrics import ConsumerMetrics
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.group_metadata import GroupMetadata
    from distributedlog.client.metadata import TopicPartition
    from distributedlog.client.offsets import OffsetAndTimestamp


class _Core(AsyncConsumer):
    """The core in the other thread: whoever waits for records is not there."""

    def __init__(self, bootstrap: str, bell: threading.Event, options: Mapping[str, Any]) -> None:
        super().__init__(bootstrap, **options)
        self._core.set_bell(bell.set)


class Consumer:
    """Reads records; a context manager, for one thread at a time. `close` may be called from any.

        with Consumer("localhost:9092", group_id="billing") as consumer:
            consumer.subscribe("orders")
            for record in consumer:
                print(record.value)

    Options are those of `ConsumerSettings` and `ClientSettings`. Who leaves the block by an exception commits
    nothing on the way, so that what failed is read again.
    """

    def __init__(self, bootstrap: str, **options: Any) -> None:
        self._bell = threading.Event()
        self._thread = LoopThread("distributedlog-consumer")
        try:
            self._inner = self._thread.run(_made(bootstrap, self._bell, options))
        except BaseException:
            self._thread.close()
            raise
        self._core = self._inner._core
        self._is_committed_first = self._core.settings.is_committed_first
        self._max_poll_records = self._core.settings.max_poll_records

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self.close(commit=kind is None)

    # What to read

    def subscribe(
        self,
        topics: str | Iterable[str] = (),
        *,
        pattern: Any = None,
        on_assigned: Callable[[list[TopicPartition]], Any] | None = None,
        on_revoked: Callable[[list[TopicPartition]], Any] | None = None,
        on_lost: Callable[[list[TopicPartition]], Any] | None = None,
    ) -> None:
        """Read these topics, or those whose whole names match a pattern, together with the rest of the group.

        Without a ``group_id`` this consumer reads all their partitions. The call-backs get lists of
        partitions; they are called by `poll`, in its thread, and may seek and commit.
        """
        self._thread.check()
        core = self._core
        subscription, regex = as_subscription(topics, pattern, core.settings.group_protocol == "consumer")
        listener = Listener(on_assigned, on_revoked, on_lost)
        self._run_steps(core.farewell(CLOSE_SECONDS))
        self._thread.run(core.subscribe(subscription, regex, listener))

    def unsubscribe(self) -> None:
        """Leave the group, or let go of what was assigned."""
        self._thread.check()
        self._run_steps(self._core.farewell(CLOSE_SECONDS))
        self._thread.run(self._core.unsubscribe())

    def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read exactly these partitions, whatever a group shares out; those kept keep their positions."""
        self._thread.run(self._inner.assign(partitions))

    def assignment(self) -> set[TopicPartition]:
        return self._inner.assignment()

    def subscription(self) -> set[str]:
        """The names that were subscribed to."""
        return self._inner.subscription()

    # Reading

    def poll(
        self, timeout_seconds: float | None = 1.0, *, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        """The next records, at most ``max_poll_records`` of them; an empty list after `timeout_seconds`."""
        core = self._core
        limit = self._max_poll_records if max_records is None else max_records
        if core.pending:
            self._thread.check()
            return _taken(core.pending, limit)
        records: list[ConsumerRecord] = self._wait_for(timeout_seconds, partial(core.buffer.take, limit))
        core.metrics.records_consumed += len(records)
        return records

    def poll_table(
        self,
        timeout_seconds: float | None = 1.0,
        *,
        columns: Sequence[str] | None = None,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> pyarrow.Table:
        """What has come, as columns, without an object for each record (extra ``arrow``).

        `columns` chooses among topic, partition, offset, timestamp, timestamp_type, key, value and headers;
        what is not chosen is not decoded. At most some `max_bytes`, as they are in the log; but always
        something, unless `timeout_seconds` have passed. Deserialisers have no part in it.
        """
        from distributedlog.client.consumer.columns import ColumnReader  # noqa: PLC0415 (extra)

        self._thread.check()
        reader = ColumnReader(self._core, columns, max_bytes)
        self._core.give_back()
        self._wait_for(timeout_seconds, reader.take)
        return reader.table()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ConsumerRecord:
        """The next record, however long it takes. It counts as read when the next one is asked for."""
        core = self._core
        while not core.pending:
            records = self.poll(None)
            records.reverse()
            core.pending = records
        return core.pending.pop()

    def _wait_for(self, timeout_seconds: float | None, take: Callable[[], Any]) -> Any:
        core, bell = self._core, self._bell
        self._thread.check()
        core.poll_clock.begin()
        core.metrics.polls += 1
        try:
            deadline = None if timeout_seconds is None else monotonic() + timeout_seconds
            while True:
                bell.clear()
                if core.is_disturbed():
                    self._run_steps(core.steps())
                before = core.positions() if self._is_committed_first else None
                found = take()
                if found:
                    if before is not None:
                        self._thread.run(core.commit_first(before))
                    return found
                if not core.has_something_to_read:
                    raise InvalidOption("there is nothing to poll: subscribe to topics, or assign partitions")
                left = None if deadline is None else deadline - monotonic()
                if (left is not None and left <= 0) or not bell.wait(left):
                    return []
        finally:
            core.poll_clock.end()

    def _run_steps(self, steps: Generator[Any, None, None]) -> None:
        with closing(steps):  # what follows a call-back is done also when it raises
            for step in steps:
                if isinstance(step, partial):
                    step()
                else:
                    self._thread.run(step)

    # Positions

    def position(self, partition: TopicPartition | tuple[str, int]) -> int:
        """The offset of the next record that will be handed out."""
        return self._thread.run(self._inner.position(partition))

    def positions(self) -> dict[TopicPartition, int]:
        """All that are known now."""
        return self._inner.positions()

    def seek(self, partition: TopicPartition | tuple[str, int], offset: int) -> None:
        """Go on at this offset."""
        self._thread.check()
        self._inner.seek(partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Of these partitions, or of all that are assigned."""
        self._thread.check()
        self._inner.seek_to_beginning(*partitions)

    def seek_to_end(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Of these partitions, or of all; for read_committed before any open transaction."""
        self._thread.check()
        self._inner.seek_to_end(*partitions)

    def seek_to_time(self, timestamp_ms: int, *partitions: TopicPartition | tuple[str, int]) -> None:
        """To the first record that is as late, or to the end; of these partitions, or of all."""
        self._thread.check()
        self._inner.seek_to_time(timestamp_ms, *partitions)

    def pause(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Hand out nothing of these partitions, or of all; they stay assigned."""
        self._thread.check()
        self._inner.pause(*partitions)

    def resume(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        self._thread.check()
        self._inner.resume(*partitions)

    def paused(self) -> set[TopicPartition]:
        return self._inner.paused()

    def lag(self) -> dict[TopicPartition, int]:
        """How many offsets each partition is behind its end, as far as fetches have told."""
        return self._inner.lag()

    # Committing

    def commit(self, offsets: Mapping[Any, Any] | None = None) -> None:
        """Commit all positions, or these offsets (partition → offset, or → (offset, metadata)), and wait."""
        self._thread.run(self._inner.commit(offsets))

    def commit_async(
        self, offsets: Mapping[Any, Any] | None = None, on_done: Callable[..., object] | None = None
    ) -> None:
        """As `commit`, without waiting. `on_done` gets the offsets and an error or None, elsewhere."""
        self._thread.check()
        core = self._core
        core.call_soon(partial(core.commit_in_background, core.to_commit(offsets), on_done))

    def committed(
        self, partitions: Iterable[TopicPartition | tuple[str, int]] | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """What the group has committed of these partitions, or of those that are assigned."""
        return self._thread.run(self._inner.committed(partitions))

    def group_metadata(self) -> GroupMetadata:
        """Who this consumer is in its group: what `send_offsets` of a transaction wants to know."""
        return self._inner.group_metadata()

    # Looking up

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        return self._thread.run(self._inner.beginning_offsets(partitions))

    def end_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        """Behind the last record; for read_committed before the first open transaction."""
        return self._thread.run(self._inner.end_offsets(partitions))

    def offsets_for_times(
        self, moments: Mapping[Any, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each partition's moment; None where there is none."""
        return self._thread.run(self._inner.offsets_for_times(moments))

    def partitions_for(self, topic: str) -> int:
        """How many partitions the topic has."""
        return self._thread.run(self._inner.partitions_for(topic))

    def metrics(self) -> ConsumerMetrics:
        """What was done so far."""
        return self._inner.metrics()

    # Ending

    def close(self, *, commit: bool = True, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Commit what was handed out (where that is automatic), leave the group, end the thread.

        The commit is given up after `timeout_seconds`: what it was about is read again.
        """
        if self._thread.is_closed:
            return
        try:
            self._run_steps(self._core.farewell(timeout_seconds, is_committing=commit))
        finally:
            try:
                self._thread.run(self._core.close())
            finally:
                self._thread.close()
                self._bell.set()


async def _made(bootstrap: str, bell: threading.Event, options: Mapping[str, Any]) -> _Core:
    return _Core(bootstrap, bell, options)
