"""[io] Asking leaders for what comes next in each partition, ahead of whoever polls.

Two requests may be under way to each broker, on a connection each: a long poll for partitions at their ends,
and one for those that became readable meanwhile (after a seek, or when there was room again), which must not
wait for it. A partition is in one of them at most.
"""

from __future__ import annotations

import asyncio
import logging
import random
from typing import TYPE_CHECKING, Any, Final, cast

from distributedlog.client.consumer.chunk import Chunk, Reach
from distributedlog.client.consumer.fetch_session import FetchSession, SessionLost
from distributedlog.client.consumer.places import Places
from distributedlog.client.errors import (
    BrokerError,
    ClientError,
    ClusterUnreachable,
    UnexpectedResponse,
    check,
)
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.retry import Backoff
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import FetchRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.consumer.fetch_buffer import FetchBuffer
    from distributedlog.client.consumer.metrics import ConsumerMetrics
    from distributedlog.client.consumer.partition_state import PartitionState
    from distributedlog.client.consumer.settings import ConsumerSettings
    from distributedlog.client.serialisers import Deserializer
    from distributedlog.wire.k01_fetch import FetchResponse, PartitionData

_logger = logging.getLogger(__name__)

SLOTS: Final = 2
_ELSEWHERE: Final = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_NOT_AVAILABLE,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""What passes when the cluster is asked anew who has what."""


class Fetcher:
    """`find_position` is called when a position turns out to be none, or to need a look at leader epochs."""

    def __init__(
        self,
        client: ClusterClient,
        buffer: FetchBuffer,
        settings: ConsumerSettings,
        metrics: ConsumerMetrics,
        find_position: Callable[[], object],
    ) -> None:
        self._client = client
        self._buffer = buffer
        self._settings = settings
        self._metrics = metrics
        self._find_position = find_position
        self._places = Places(client)
        self._loop = asyncio.get_running_loop()
        self._fetches: dict[tuple[int, int], asyncio.Task[None]] = {}
        self._sessions: dict[tuple[int, int], FetchSession] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._backoff: Backoff | None = None
        self._unknown_since: dict[TopicPartition, float] = {}
        self._is_closed = False
        self._kick_is_due = False
        deserializers = settings.key_deserializer, settings.value_deserializer
        self._deserializers: tuple[Deserializer | None, Deserializer | None] | None = (
            None if deserializers == (None, None) else deserializers
        )

    def kick_soon(self) -> None:
        """Called in the loop's thread: look once at all that happens in this turn of the loop."""
        if not self._kick_is_due and not self._is_closed:
            self._kick_is_due = True
            self._loop.call_soon(self._kick)

    async def close(self) -> None:
        self._is_closed = True
        tasks: list[asyncio.Task[Any]] = list(self._fetches.values())
        if self._refreshing is not None:
            tasks.append(self._refreshing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def refresh_soon(self) -> None:
        """Ask the cluster who leads what, not too often."""
        if self._refreshing is None and not self._is_closed:
            self._refreshing = self._loop.create_task(self._refresh())

    # Asking

    def _kick(self) -> None:
        self._kick_is_due = False
        if self._is_closed:
            return
        by_broker: dict[int, list[PartitionState]] = {}
        for state in self._buffer.all_states():
            if not self._buffer.may_fetch(state):
                continue
            place = self._places.of(state.partition)
            if place is None:
                self.refresh_soon()
            elif 0 <= state.fetch_epoch < place.leader_epoch and state.validated_epoch < place.leader_epoch:
                state.needs_validation = True
                self._find_position()
            else:
                broker = place.leader_id if state.preferred_replica is None else state.preferred_replica
                by_broker.setdefault(broker, []).append(state)
        for broker, states in by_broker.items():
            for slot in range(SLOTS):
                if (broker, slot) not in self._fetches:
                    self._start(broker, slot, states)
                    break

    def _start(self, broker: int, slot: int, states: list[PartitionState]) -> None:
        asked = {state.partition: (state, state.serial, state.fetch_offset) for state in states}
        for state in states:
            state.in_flight_serial = state.serial
        task = self._loop.create_task(self._fetch(broker, slot, asked))
        self._fetches[broker, slot] = task

    async def _fetch(self, broker: int, slot: int, asked: _Asked) -> None:
        begun = self._loop.time()
        try:
            response = await self._ask(broker, slot, asked)
            self._metrics.answered_after(self._loop.time() - begun)
            self._backoff = None
            self._take(broker, response, asked)
        except SessionLost:
            pass
        except ClientError as error:
            self._metrics.fetches_failed += 1
            self._sessions.pop((broker, slot), None)
            if error.is_retriable or isinstance(error, ClusterUnreachable):
                for state, _, _ in asked.values():
                    state.preferred_replica = None
                await asyncio.sleep(self._next_delay())
                self.refresh_soon()
            else:
                for state, serial, _ in asked.values():
                    if state.serial == serial:
                        self._buffer.fail(state, error)
        finally:
            for state, serial, _ in asked.values():
                if state.in_flight_serial == serial:
                    state.in_flight_serial = None
            self._fetches.pop((broker, slot), None)
        self.kick_soon()

    async def _ask(self, broker: int, slot: int, asked: _Asked) -> FetchResponse:
        settings = self._settings
        session = self._sessions.get((broker, slot))
        if session is None:
            session = self._sessions[broker, slot] = FetchSession(settings.max_partition_fetch_bytes)
        request = FetchRequest(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=int(settings.is_read_committed),
            rack_id=settings.client_rack,
        )
        topics = self._client.metadata.topics
        session.fill(
            request,
            {
                partition: (offset, place.leader_epoch if place is not None else -1)
                for partition, (_, _, offset) in asked.items()
                for place in (self._places.of(partition),)
            },
            {name: topic.topic_id for name, topic in topics.items()},
        )
        timeout_ms = self._client.settings.request_timeout_ms + settings.fetch_max_wait_ms
        self._metrics.fetches_sent += 1
        response: FetchResponse = await self._client.ask_node(
            broker, request, purpose=f"fetch {slot}", timeout_ms=timeout_ms
        )
        session.answered(response)
        check(response.error_code, f"fetch from broker {broker}")
        return response

    # Taking

    def _take(self, broker: int, response: FetchResponse, asked: _Asked) -> None:
        for topic in response.responses:
            name = topic.topic or self._client.metadata.name_of(topic.topic_id) or ""
            for data in topic.partitions:
                partition = TopicPartition(name, data.partition_index)
                if partition in asked:
                    state, serial, offset = asked[partition]
                    if state.serial == serial:
                        self._take_partition(broker, state, offset, data)

    def _take_partition(self, broker: int, state: PartitionState, offset: int, data: PartitionData) -> None:
        code = data.error_code
        if code:
            self._refused(broker, state, offset, code)
            return
        if data.diverging_epoch.end_offset >= 0:
            state.needs_validation = True
            self._find_position()
            return
        state.high_watermark = data.high_watermark
        state.last_stable_offset = data.last_stable_offset
        state.log_start_offset = data.log_start_offset
        if data.preferred_read_replica >= 0:
            state.preferred_replica = data.preferred_read_replica
        if data.records is None or not len(data.records):
            return
        records = cast(memoryview, data.records)  # what came over a connection is no region of a file
        reach = Reach(records)
        if reach.next_offset <= offset:
            self._buffer.fail(state, _nothing_whole(state, offset, len(records)))
            return
        self._metrics.bytes_fetched += reach.size
        aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]
        chunk = Chunk(
            state,
            state.serial,
            records[: reach.size],
            offset,
            aborted,
            reach,
            check_crcs=self._settings.check_crcs,
            deserializers=self._deserializers,
        )
        self._buffer.put(chunk)

    def _refused(self, broker: int, state: PartitionState, offset: int, code: int) -> None:
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            if state.preferred_replica is not None:
                state.preferred_replica = None  # a follower may be behind
                return
            _logger.info("%s holds no offset %d any more, or not yet", state.partition, offset)
            self._buffer.jump(state, None)
            state.committed = None
            state.position_is_gone_at = offset
            self._find_position()
        elif code in _ELSEWHERE:
            state.preferred_replica = None
            state.is_misplaced = True
            self.refresh_soon()
        else:
            self._buffer.fail(state, BrokerError(code, f"read {state.partition} at offset {offset}"))

    async def _refresh(self) -> None:
        error: ClientError | None = None
        try:
            await asyncio.sleep(self._next_delay())
            topics = {state.partition.topic for state in self._buffer.all_states()}
            await self._client.refresh(topics, may_create=False)
        except ClientError as failure:
            error = failure
        finally:
            self._refreshing = None
        for state in self._buffer.all_states():
            state.is_misplaced = False
        if error is not None and not error.is_retriable and not isinstance(error, ClusterUnreachable):
            for state in self._buffer.all_states():
                self._buffer.fail(state, error)
        self.look_for_unknown()
        self.kick_soon()

    def look_for_unknown(self) -> None:
        """A partition that stays unknown is told about: its topic may be gone, or its name wrong."""
        now = self._loop.time()
        patience = self._client.settings.default_api_timeout_ms / 1000
        topics = self._client.metadata.topics
        for state in self._buffer.all_states():
            partition = state.partition
            topic = topics.get(partition.topic)
            is_known = topic is not None and any(
                each.index == partition.partition for each in topic.partitions
            )
            if is_known:
                self._unknown_since.pop(partition, None)
            elif now - self._unknown_since.setdefault(partition, now) > patience and state.error is None:
                self._unknown_since.pop(partition)
                self._buffer.fail(state, unknown_partition(partition, len(topic.partitions) if topic else 0))

    def _next_delay(self) -> float:
        if self._backoff is None:
            settings = self._client.settings
            self._backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
        return self._backoff.next_ms() / 1000


_Asked = dict[TopicPartition, "tuple[PartitionState, int, int]"]
"""What a request asks for: state, serial and offset as they were when it was sent."""


def unknown_partition(partition: TopicPartition, count: int) -> BrokerError:
    topic, index = partition
    if count:
        message = f"topic {topic!r} has {count} partitions, numbered from 0"
    else:
        message = f"there is no topic {topic!r}, or no right to see it: create it, or subscribe to another"
    what = f"read partition {index} of {topic!r}"
    return BrokerError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, what, message, is_retriable=False)


def _nothing_whole(state: PartitionState, offset: int, size: int) -> ClientError:
    return UnexpectedResponse(
        f"the {size} bytes that came of {state.partition} at offset {offset} hold no whole batch: "
        "raise max_partition_fetch_bytes, or seek behind it"
    )
