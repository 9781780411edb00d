"""[io] All that a consumer is, on one loop; `AsyncConsumer` and `Consumer` are two ways to call it.

`steps` is what a call of `poll` has to do before it may hand out records. It is a generator, because the two
faces do the same things in different ways: it yields coroutines, to be run on the loop, and calls of a
user's call-backs, to be made where `poll` was called.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.committed import CommittedOffset
from distributedlog.client.consumer.arguments import Listener, as_committed, as_partition
from distributedlog.client.consumer.background_task import PollClock
from distributedlog.client.consumer.committer import Committer
from distributedlog.client.consumer.fetch_buffer import FetchBuffer
from distributedlog.client.consumer.fetcher import Fetcher, unknown_partition
from distributedlog.client.consumer.membership_alone import MembershipAlone
from distributedlog.client.consumer.membership_classic import ClassicMembership
from distributedlog.client.consumer.membership_consumer import ConsumerMembership
from distributedlog.client.consumer.metrics import ConsumerMetrics
from distributedlog.client.consumer.news import NewsKind, Newsroom
from distributedlog.client.consumer.position_keeper import PositionKeeper
from distributedlog.client.consumer.settings import PREFETCH_BYTES, ConsumerSettings
from distributedlog.client.consumer.topic_watch import TopicWatch
from distributedlog.client.errors import ClientClosed, ClientError, InvalidOption
from distributedlog.client.group_metadata import GroupMetadata
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.options import split_options
from distributedlog.client.serialisers import checked_callable
from distributedlog.client.settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence

    from distributedlog.client.addresses import Address
    from distributedlog.client.consumer.news import News
    from distributedlog.client.consumer.partition_state import PartitionState
    from distributedlog.client.consumer.record import ConsumerRecord
    from distributedlog.client.consumer.topic_watch import Subscription

    Step = Coroutine[Any, Any, Any] | partial[Any]


_logger = logging.getLogger(__name__)


class AnyMembership(Protocol):
    def start(self) -> None: ...
    async def close(self, *, is_leaving: bool = True) -> None: ...
    def group_metadata(self) -> GroupMetadata: ...
    def topics_changed(self) -> None: ...


class ConsumerCore:
    """To be made in a running loop. `ring` wakes whoever waits for records; it is called in any thread."""

    def __init__(
        self, bootstrap: str | Sequence[Address], options: Mapping[str, Any], ring: Callable[[], object]
    ) -> None:
        settings, client_settings = split_options(options, ConsumerSettings, ClientSettings)
        self._bell = ring
        self.settings: ConsumerSettings = settings
        checked_callable("key_deserializer", settings.key_deserializer)
        checked_callable("value_deserializer", settings.value_deserializer)
        self.loop = asyncio.get_running_loop()
        self.client = ClusterClient(bootstrap, client_settings)
        self.metrics = ConsumerMetrics()
        self.newsroom = Newsroom(self._ring)
        self.poll_clock = PollClock(self.loop.time)
        self.buffer = FetchBuffer(
            settings.prefetch_bytes or PREFETCH_BYTES, settings.buffer_memory, self._ring, self._make_room
        )
        self.fetcher = Fetcher(self.client, self.buffer, settings, self.metrics, self._find_positions)
        self.keeper = PositionKeeper(
            self.client, self.buffer, settings, self._positions_found, self.fetcher.look_for_unknown
        )
        self.committer = Committer(self.client, self.buffer, settings, self.metrics, self.group_metadata)
        self.pending: list[ConsumerRecord] = []
        """What iteration has taken from the buffer and not yet handed out, the next record last."""
        self.is_closed = False
        self._listener = Listener()
        self._subscription: Subscription | None = None
        self._membership: AnyMembership | None = None
        self._commit_at = self.loop.time() + settings.auto_commit_interval_ms / 1000
        self._is_committing = False
        self._to_commit: Mapping[TopicPartition, CommittedOffset] = {}
        self._commits: set[asyncio.Task[None]] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None

    # What to read

    async def subscribe(self, subscription: Subscription, regex: str | None, listener: Listener) -> None:
        """In place of what was subscribed to; in place of an assignment it is an error."""
        self.check_open()
        if self._subscription is None and self.buffer.states:
            raise InvalidOption("this consumer has assigned partitions to itself: unsubscribe first")
        await self._end_membership()
        self._subscription, self._listener = subscription, listener
        settings = self.settings
        watch = TopicWatch(
            self.client, settings, subscription, self._topics_changed, self._tell_in_background
        )
        membership: AnyMembership
        if settings.group_id is None:
            membership = MembershipAlone(self.client, self.newsroom, watch)
        elif settings.group_protocol == "consumer":
            membership = ConsumerMembership(
                self.client, settings, self.newsroom, self.poll_clock, self.metrics, watch, regex
            )
        else:
            membership = ClassicMembership(
                self.client, settings, self.newsroom, self.poll_clock, self.metrics, watch
            )
        self._membership = membership
        membership.start()

    async def unsubscribe(self) -> None:
        """After `farewell`."""
        self.check_open()
        await self._end_membership()
        self._subscription = None
        self.buffer.remove(list(self.buffer.states))

    async def assign(self, partitions: Iterable[TopicPartition]) -> None:
        self.check_open()
        if self._subscription is not None:
            raise InvalidOption(
                "this consumer has subscribed to topics: unsubscribe before assigning partitions"
            )
        wanted = set(partitions)
        self.buffer.remove([partition for partition in self.buffer.states if partition not in wanted])
        self.buffer.add(sorted(wanted))
        self._find_positions()

    @property
    def subscription(self) -> Subscription | None:
        return self._subscription

    @property
    def has_something_to_read(self) -> bool:
        return self._subscription is not None or bool(self.buffer.states)

    def group_metadata(self) -> GroupMetadata:
        if self._membership is not None and self.settings.group_id is not None:
            return self._membership.group_metadata()
        return GroupMetadata(self.settings.group_id or "")

    async def _end_membership(self) -> None:
        membership, self._membership = self._membership, None
        if membership is not None:
            await membership.close()
            self.buffer.remove(list(self.buffer.states))

    # What a poll does first

    def is_disturbed(self) -> bool:
        """Whether `steps` has something to do: asked by every poll."""
        return (
            self.is_closed
            or not self.newsroom.is_empty
            or bool(self.buffer.failed)
            or (self.settings.is_auto_commit and self.loop.time() >= self._commit_at)
        )

    def steps(self) -> Generator[Step, None, None]:
        """What must be done in this poll; raises what must be raised."""
        self.check_open()
        if self.settings.is_auto_commit and self.loop.time() >= self._commit_at:
            self._commit_at = self.loop.time() + self.settings.auto_commit_interval_ms / 1000
            if positions := self.uncommitted():
                self.call_soon(partial(self._auto_commit, positions))
        while (news := self.newsroom.next()) is not None:
            yield from self._take_news(news)
        error = self.buffer.take_failure()
        if error is not None:
            self.call_soon(self._find_positions)
            self.call_soon(self.fetcher.kick_soon)
            raise error.with_traceback(None)

    def _take_news(self, news: News) -> Generator[Step, None, None]:
        kind, partitions = news.kind, news.partitions
        if news.error is not None:
            self.newsroom.finish(news)
            raise news.error.with_traceback(None)
        try:
            if kind is NewsKind.ASSIGNED:
                self.buffer.add(partitions, is_ready=False)
            elif kind is NewsKind.REVOKED:
                self.give_back()
                if self.settings.is_auto_commit and (positions := self.uncommitted(partitions)):
                    yield self.committer.try_to_commit(positions)
            call_back = self._listener.by_kind.get(kind)
            if call_back is not None:
                yield partial(call_back, list(partitions))
        finally:
            if kind is NewsKind.ASSIGNED:
                for partition in partitions:
                    if partition in self.buffer.states:
                        self.buffer.states[partition].is_ready = True
                self.call_soon(self._find_positions)
                self.call_soon(self.fetcher.kick_soon)
            else:
                self.forget_pending(set(partitions))
                self.buffer.remove(partitions)
            self.newsroom.finish(news)

    def farewell(self, timeout_seconds: float, *, is_committing: bool = True) -> Generator[Step, None, None]:
        """What comes before leaving a group, or letting go of what was assigned."""
        if self._membership is None and not self.buffer.states:
            return
        yield self._finish_commits(timeout_seconds)
        if is_committing and self.settings.is_auto_commit and (positions := self.uncommitted()):
            yield self._commit_within(timeout_seconds, positions)
        self.pending.clear()
        call_back = self._listener.by_kind[NewsKind.REVOKED]
        partitions = list(self.buffer.states)
        if call_back is not None and self._membership is not None and partitions:
            yield partial(call_back, partitions)

    async def _finish_commits(self, timeout_seconds: float) -> None:
        await asyncio.sleep(0)  # what was asked for in this turn of the loop is a task only in the next
        if self._commits:
            await asyncio.wait(list(self._commits), timeout=timeout_seconds)

    async def _commit_within(
        self, timeout_seconds: float, positions: Mapping[TopicPartition, CommittedOffset]
    ) -> None:
        try:
            async with asyncio.timeout(timeout_seconds):
                await self.committer.try_to_commit(positions)
        except TimeoutError:
            _logger.warning("offsets of group %s are not committed: no answer", self.settings.group_id)

    # Positions

    def positions(self) -> dict[TopicPartition, int]:
        """The next record to hand out of each partition, where that is known."""
        found = {
            state.partition: state.position
            for state in self.buffer.all_states()
            if state.position is not None
        }
        for record in self.pending:
            found[TopicPartition(record.topic, record.partition)] = record.offset
        return found

    def uncommitted(
        self, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, CommittedOffset]:
        """Positions that are not what was committed last."""
        among = None if partitions is None else set(partitions)
        found = {}
        for partition, position in self.positions().items():
            state = self.buffer.states.get(partition)
            if state is None or (among is not None and partition not in among):
                continue
            if state.committed is None or state.committed.offset != position:
                found[partition] = CommittedOffset(position, "", state.position_epoch)
        return found

    def to_commit(self, offsets: Mapping[Any, Any] | None) -> dict[TopicPartition, CommittedOffset]:
        """All positions, or what the caller names: offsets, (offset, metadata), or `CommittedOffset`."""
        if offsets is None:
            states = self.buffer.states
            return {
                partition: CommittedOffset(position, "", states[partition].position_epoch)
                for partition, position in self.positions().items()
                if partition in states
            }
        made = {}
        for partition, given in offsets.items():
            made[as_partition(partition)] = as_committed(given)
        return made

    def give_back(self) -> None:
        """What iteration holds goes back to the log: it is fetched again when it is wanted."""
        if not self.pending:
            return
        first = {TopicPartition(record.topic, record.partition): record.offset for record in self.pending}
        self.pending.clear()
        for partition, offset in first.items():
            state = self.buffer.states.get(partition)
            if state is not None:
                self.buffer.jump(state, offset, state.position_epoch)
        self.call_soon(self.fetcher.kick_soon)

    def forget_pending(self, partitions: set[TopicPartition]) -> None:
        self.pending = [
            record
            for record in self.pending
            if TopicPartition(record.topic, record.partition) not in partitions
        ]

    def states_of(self, partitions: Iterable[Any]) -> list[PartitionState]:
        """Those named; all when none is."""
        named = [as_partition(partition) for partition in partitions]
        return [self.buffer.state_of(partition) for partition in named or list(self.buffer.states)]

    def jump(self, states: Iterable[PartitionState], offset: int | None, reset_to: int | None = None) -> None:
        self.give_back()
        for state in states:
            self.buffer.jump(state, offset, reset_to=reset_to)
            state.position_is_gone_at = None
        self.call_soon(self._find_positions)
        self.call_soon(self.fetcher.kick_soon)

    async def position(self, partition: TopicPartition) -> int:
        """Waits until it is known."""
        state = self.buffer.state_of(partition)
        deadline = self.client.settings.default_api_timeout_ms / 1000
        try:
            async with asyncio.timeout(deadline):
                while state.position is None:
                    self.check_open()
                    if state.error is not None:
                        error, state.error = state.error, None
                        raise error.with_traceback(None)
                    was_ready, state.is_ready = state.is_ready, True
                    try:
                        await self.keeper.wait()
                    finally:
                        state.is_ready = was_ready
        except TimeoutError:
            raise unknown_partition(partition, 0) from None
        return self.positions()[partition]

    def rewind(self, positions: Mapping[TopicPartition, int]) -> None:
        """Back to these positions, as far as the partitions are still assigned."""
        now = self.positions()
        for partition, offset in positions.items():
            if now.get(partition, offset) != offset:
                self.jump([self.buffer.states[partition]], offset)

    def ask_where_to_go_on(self, positions: Mapping[TopicPartition, int]) -> None:
        """Back to what the group has committed of these partitions, or to these positions where it has
        nothing: for when nobody knows whether a commit has come through."""
        now = self.positions()
        self.give_back()
        for partition, offset in positions.items():
            if partition in now:
                self.buffer.jump(self.buffer.states[partition], None, fallback=offset)
        self.call_soon(self._find_positions)
        self.call_soon(self.fetcher.kick_soon)

    # Committing

    async def commit_first(self, before: Mapping[TopicPartition, int]) -> None:
        """Commit what is about to be handed out; what cannot be committed is read again instead."""
        try:
            await self.committer.commit(self.uncommitted())
        except BaseException:
            self.rewind(before)
            raise

    def _auto_commit(self, positions: Mapping[TopicPartition, CommittedOffset]) -> None:
        """One at a time: while the coordinator is away they must not pile up. The newest is not forgotten."""
        self._to_commit = positions
        if not self._is_committing:
            self._is_committing = True
            task = self.loop.create_task(self._commit_newest())
            self._commits.add(task)
            task.add_done_callback(self._commits.discard)

    async def _commit_newest(self) -> None:
        try:
            while positions := self._to_commit:
                self._to_commit = {}
                await self.committer.try_to_commit(positions)
        finally:
            self._is_committing = False

    def commit_in_background(
        self, offsets: Mapping[TopicPartition, CommittedOffset], on_done: Callable[..., object] | None
    ) -> None:
        """`on_done` gets the offsets and an error, or None."""

        async def work() -> None:
            if on_done is None:
                await self.committer.try_to_commit(offsets)
                return
            error: ClientError | None = None
            try:
                await self.committer.commit(offsets)
            except ClientError as failure:
                error = failure
            on_done(offsets, error)

        task = self.loop.create_task(work())
        self._commits.add(task)
        task.add_done_callback(self._commits.discard)

    # Ending

    def check_open(self) -> None:
        if self.is_closed:
            raise ClientClosed("the consumer is closed")

    async def close(self) -> None:
        """After `farewell`."""
        if self._closing is None:
            self.is_closed = True
            self._ring()
            self._closing = self.loop.create_task(self._end())
        await asyncio.shield(self._closing)

    async def _end(self) -> None:
        membership = self._membership
        background = [*self._commits, *self._background]
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await self.fetcher.close()
        await self.keeper.close()
        if membership is not None:
            await membership.close()
        await self.client.close()

    # Between the parts

    def set_bell(self, ring: Callable[[], object]) -> None:
        """Have this called in place of what the core was made with."""
        self._bell = ring

    def _ring(self) -> None:
        self._bell()

    def call_soon(self, call: Callable[[], object]) -> None:
        """On the loop, from whichever thread."""
        self.loop.call_soon_threadsafe(call)

    def _make_room(self) -> None:
        self.call_soon(self.fetcher.kick_soon)

    def _positions_found(self) -> None:
        self.fetcher.kick_soon()

    def _find_positions(self) -> None:
        if not self.is_closed:
            self.keeper.kick()
            self.fetcher.kick_soon()

    def _topics_changed(self) -> None:
        if self._membership is not None:
            self._membership.topics_changed()

    def _tell_in_background(self, error: ClientError) -> None:
        task = self.loop.create_task(self.newsroom.hand_over_error(error))
        self._background.add(task)
        task.add_done_callback(self._background.discard)
