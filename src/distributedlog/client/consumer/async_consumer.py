"""[io] The consumer of asyncio programs."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from distributedlog.client.background import watch_forks
from distributedlog.client.committed import CommittedOffset, committed_offsets_of
from distributedlog.client.consumer.arguments import Listener, as_partition, as_subscription, check_offset
from distributedlog.client.consumer.core import ConsumerCore
from distributedlog.client.errors import ForkedClient, InvalidOption
from distributedlog.client.offsets import (
    EARLIEST,
    LATEST,
    OffsetAndTimestamp,
    list_offsets,
    list_offsets_at,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    import pyarrow

    from distributedlog.client.addresses import Address
    from distributedlog.client.consumer.metrics import ConsumerMetrics
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.group_metadata import GroupMetadata
    from distributedlog.client.metadata import TopicPartition


CLOSE_SECONDS: Final = 10.0


class AsyncConsumer:
    """Reads records; an async context manager, to be made in a running event loop, for one task at a time.

        async with AsyncConsumer("localhost:9092", group_id="billing") as consumer:
            await consumer.subscribe("orders")
            async for record in consumer:
                print(record.value)

    Options are those of `ConsumerSettings` and `ClientSettings`. Call-backs of `subscribe` may be coroutine
    functions; they run inside of `poll`. Who leaves the block by an exception commits nothing on the way.
    """

    def __init__(self, bootstrap: str | Sequence[Address], **options: Any) -> None:
        self._bell = asyncio.Event()
        self._core = ConsumerCore(bootstrap, options, self._bell.set)
        self._forked: ForkedClient | None = None
        watch_forks(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        await self.close(commit=kind is None)

    # What to read

    async def subscribe(
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
        partitions.
        """
        core = self._checked()
        subscription, regex = as_subscription(topics, pattern, core.settings.group_protocol == "consumer")
        listener = Listener(on_assigned, on_revoked, on_lost)
        await self._run_steps(core.farewell(CLOSE_SECONDS))
        await core.subscribe(subscription, regex, listener)

    async def unsubscribe(self) -> None:
        """Leave the group, or let go of what was assigned."""
        core = self._checked()
        await self._run_steps(core.farewell(CLOSE_SECONDS))
        await core.unsubscribe()

    async def assign(self, partitions: Iterable[TopicPartition | tuple[str, int]]) -> None:
        """Read exactly these partitions, whatever a group shares out; those kept keep their positions."""
        await self._checked().assign([as_partition(partition) for partition in partitions])

    def assignment(self) -> set[TopicPartition]:
        return set(self._core.buffer.states)

    def subscription(self) -> set[str]:
        """The names that were subscribed to."""
        subscription = self._core.subscription
        return set() if subscription is None else set(subscription.names)

    # Reading

    async def poll(
        self, timeout_seconds: float | None = 1.0, *, max_records: int | None = None
    ) -> list[ConsumerRecord]:
        """The next records, at most ``max_poll_records`` of them; an empty list after `timeout_seconds`."""
        core = self._checked()
        limit = core.settings.max_poll_records if max_records is None else max_records
        if core.pending:
            return _taken(core.pending, limit)
        records: list[ConsumerRecord] = await self._wait_for(
            timeout_seconds, partial(core.buffer.take, limit)
        )
        core.metrics.records_consumed += len(records)
        return records

    async def poll_table(
        self,
        timeout_seconds: float | None = 1.0,
        *,
        columns: Sequence[str] | None = None,
        max_bytes: int = 64 * 1024 * 1024,
    ) -> pyarrow.Table:
        """What has come, as columns (extra ``arrow``), without an object for each record; see `Consumer`."""
        from distributedlog.client.consumer.columns import ColumnReader  # noqa: PLC0415 (extra)

        core = self._checked()
        reader = ColumnReader(core, columns, max_bytes)
        core.give_back()
        await self._wait_for(timeout_seconds, reader.take)
        return reader.table()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> ConsumerRecord:
        """The next record, however long it takes. It counts as read when the next one is asked for."""
        pending = self._core.pending
        while not pending:
            records = await self.poll(None)
            records.reverse()
            pending = self._core.pending = records
        return pending.pop()

    async def _wait_for(self, timeout_seconds: float | None, take: Callable[[], Any]) -> Any:
        core = self._core
        core.poll_clock.begin()
        core.metrics.polls += 1
        try:
            deadline = None if timeout_seconds is None else core.loop.time() + timeout_seconds
            while True:
                self._bell.clear()
                if core.is_disturbed():
                    await self._run_steps(core.steps())
                before = core.positions() if core.settings.is_committed_first else None
                found = take()
                if found:
                    if before is not None:
                        await core.commit_first(before)
                    return found
                if not core.has_something_to_read:
                    raise InvalidOption("there is nothing to poll: subscribe to topics, or assign partitions")
                try:
                    async with asyncio.timeout_at(deadline):
                        await self._bell.wait()
                except TimeoutError:
                    return []
        finally:
            core.poll_clock.end()

    async def _run_steps(self, steps: Generator[Any, None, None]) -> None:
        with closing(steps):  # what follows a call-back is done also when it raises
            for step in steps:
                if isinstance(step, partial):
                    result = step()
                    if inspect.isawaitable(result):
                        await result
                else:
                    await step

    # Positions

    async def position(self, partition: TopicPartition | tuple[str, int]) -> int:
        """The offset of the next record that will be handed out."""
        return await self._checked().position(as_partition(partition))

    def positions(self) -> dict[TopicPartition, int]:
        """All that are known now."""
        return self._core.positions()

    def seek(self, partition: TopicPartition | tuple[str, int], offset: int) -> None:
        """Go on at this offset."""
        core = self._checked()
        core.jump(core.states_of([partition]), check_offset(offset))

    def seek_to_beginning(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Of these partitions, or of all that are assigned."""
        core = self._checked()
        core.jump(core.states_of(partitions), None, EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Of these partitions, or of all; for read_committed before any open transaction."""
        core = self._checked()
        core.jump(core.states_of(partitions), None, LATEST)

    def seek_to_time(self, timestamp_ms: int, *partitions: TopicPartition | tuple[str, int]) -> None:
        """To the first record that is as late, or to the end; of these partitions, or of all."""
        core = self._checked()
        core.jump(core.states_of(partitions), None, check_offset(timestamp_ms))

    def pause(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        """Hand out nothing of these partitions, or of all; they stay assigned."""
        core = self._checked()
        states = core.states_of(partitions)
        core.give_back()
        for state in states:
            core.buffer.pause(state)

    def resume(self, *partitions: TopicPartition | tuple[str, int]) -> None:
        core = self._checked()
        for state in core.states_of(partitions):
            core.buffer.resume(state)
        core.call_soon(core.fetcher.kick_soon)
        self._bell.set()

    def paused(self) -> set[TopicPartition]:
        return {place for place, state in self._core.buffer.states.items() if state.is_paused}

    def lag(self) -> dict[TopicPartition, int]:
        """How many offsets each partition is behind its end, as far as fetches have told."""
        return lag_of(self._core)

    # Committing

    async def commit(self, offsets: Mapping[Any, Any] | None = None) -> None:
        """Commit all positions, or these offsets (partition → offset, or → (offset, metadata))."""
        core = self._checked()
        await core.committer.commit(core.to_commit(offsets))

    def commit_async(
        self, offsets: Mapping[Any, Any] | None = None, on_done: Callable[..., object] | None = None
    ) -> None:
        """As `commit`, without waiting; `on_done` gets the offsets and an error, or None."""
        core = self._checked()
        core.commit_in_background(core.to_commit(offsets), on_done)

    async def committed(
        self, partitions: Iterable[TopicPartition | tuple[str, int]] | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """What the group has committed of these partitions, or of those that are assigned."""
        core = self._checked()
        wanted = (
            list(core.buffer.states) if partitions is None else [as_partition(each) for each in partitions]
        )
        if core.settings.group_id is None:
            raise InvalidOption("there are committed offsets only for a group: give the consumer a group_id")
        return await committed_offsets_of(core.client, core.settings.group_id, wanted)

    def group_metadata(self) -> GroupMetadata:
        """Who this consumer is in its group: what `send_offsets` of a transaction wants to know."""
        return self._core.group_metadata()

    # Looking up

    async def beginning_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        return await self._offsets_at(partitions, EARLIEST)

    async def end_offsets(
        self, partitions: Iterable[TopicPartition | tuple[str, int]]
    ) -> dict[TopicPartition, int]:
        """Behind the last record; for read_committed before the first open transaction."""
        return await self._offsets_at(partitions, LATEST)

    async def offsets_for_times(
        self, moments: Mapping[Any, int]
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each partition's moment; None where there is none."""
        core = self._checked()
        wanted = {as_partition(partition): moment for partition, moment in moments.items()}
        found = await list_offsets(core.client, wanted, is_read_committed=core.settings.is_read_committed)
        return {partition: each if each.offset >= 0 else None for partition, each in found.items()}

    async def partitions_for(self, topic: str) -> int:
        """How many partitions the topic has."""
        [found] = await self._checked().client.topics([topic])
        return len(found.partitions)

    def metrics(self) -> ConsumerMetrics:
        """What was done so far."""
        return metrics_of(self._core)

    async def _offsets_at(self, partitions: Iterable[Any], moment: int) -> dict[TopicPartition, int]:
        core = self._checked()
        wanted = [as_partition(partition) for partition in partitions]
        return await list_offsets_at(
            core.client, wanted, moment, is_read_committed=core.settings.is_read_committed
        )

    # Ending

    async def close(self, *, commit: bool = True, timeout_seconds: float = CLOSE_SECONDS) -> None:
        """Commit what was handed out (where that is automatic), leave the group, let go of everything.

        The commit is given up after `timeout_seconds`: what it was about is read again.
        """
        if self._forked is not None or self._core.is_closed:
            return
        try:
            await self._run_steps(self._core.farewell(timeout_seconds, is_committing=commit))
        finally:
            await self._core.close()

    def forked(self, error: ForkedClient) -> None:
        """Called in the child of a fork."""
        self._forked = error

    def _checked(self) -> ConsumerCore:
        if self._forked is not None:
            raise self._forked
        self._core.check_open()
        return self._core


def _taken(pending: list[ConsumerRecord], limit: int) -> list[ConsumerRecord]:
    """The next ones of what iteration has left, which are the last of the list."""
    records = pending[-limit:]
    del pending[-limit:]
    records.reverse()
    return records


def lag_of(core: ConsumerCore) -> dict[TopicPartition, int]:
    found = {}
    is_read_committed = core.settings.is_read_committed
    for partition, state in list(core.buffer.states.items()):
        lag = state.lag(is_read_committed)
        if lag is not None:
            found[partition] = lag
    return found


def metrics_of(core: ConsumerCore) -> ConsumerMetrics:
    core.metrics.buffered_bytes = core.buffer.buffered_bytes
    core.metrics.partitions_assigned = len(core.buffer.states)
    return core.metrics
