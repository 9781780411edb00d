"""[pure] Records that wait to be sent, by partition: what callers' threads and the sender share.

One lock guards all of it. `append` is the path of every record; whatever is rare returns None there and is
dealt with by the producer: a topic that is not known yet, memory that is full.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.errors import BlockedLoop, BrokerError, InvalidOption, RecordTooLarge
from distributedlog.client.producer.batch import RECORD_OVERHEAD, Batch, headers_size
from distributedlog.client.producer.future import RecordFuture
from distributedlog.client.producer.lane import Lane
from distributedlog.client.producer.partitioners import IS_DECIDED_BY_KEY, partitioner_of
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from distributedlog.client.errors import ClientError
    from distributedlog.client.producer.settings import ProducerSettings

_logger = logging.getLogger(__name__)

KEYS_REMEMBERED_MAX: Final = 10_000


class TopicLanes:
    """A topic's lanes in the order of their partitions, and where records without a partition go now."""

    __slots__ = ("by_key", "lanes", "missed", "name", "sticky", "topic_id")

    def __init__(self, name: str, topic_id: bytes, lanes: list[Lane], sticky: Lane) -> None:
        self.name = name
        self.topic_id = topic_id
        self.lanes = lanes
        self.sticky = sticky
        self.by_key: dict[bytes, Lane] = {}
        self.missed = 0


class Accumulator:
    """`wake` has the sender look at once; `clock` counts seconds; `choose` picks the next sticky lane."""

    def __init__(
        self,
        settings: ProducerSettings,
        clock: Callable[[], float],
        wake: Callable[[], object],
        choose: Callable[[Sequence[Lane]], Lane],
    ) -> None:
        self.lock = threading.Lock()
        self.topics: dict[str, TopicLanes] = {}
        self.active: dict[Lane, None] = {}
        self.unfinished: dict[Batch, None] = {}
        self.buffered_bytes = 0
        self.refusal: Exception | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.loop_thread_id = 0
        self.is_awake = False
        self.waiting_for_room: deque[Callable[[], object]] = deque()
        self._clock = clock
        self._wake = wake
        self.choose = choose
        self._serial = 0
        self._batch_size = settings.batch_size
        self._record_size_max = min(settings.max_request_size, settings.buffer_memory)
        self._buffer_memory = settings.buffer_memory
        self._max_request_size = settings.max_request_size
        self._linger_seconds = settings.linger_ms / 1000
        self._delivery_seconds = settings.delivery_timeout_ms / 1000
        self.partitioner = partitioner_of(settings.partitioner)
        self._is_decided_by_key = self.partitioner in IS_DECIDED_BY_KEY

    # What callers' threads do

    def append(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: Any,
        partition: int | None,
        timestamp: int | None,
        on_delivery: Callable[..., object] | None,
    ) -> RecordFuture | None:
        """Take a record. None when the topic is not known, or there is no room: see `has_room_for`."""
        size = RECORD_OVERHEAD
        if value is not None:
            if value.__class__ is not bytes:
                value = as_bytes("value", value)
            size += len(value)
        if key is not None:
            if key.__class__ is not bytes:
                key = as_bytes("key", key)
            size += len(key)
        if timestamp is None:
            timestamp = time_ns() // 1_000_000
        elif timestamp.__class__ is not int or timestamp < 0:
            raise InvalidOption(f"timestamp is {timestamp!r}; it must be milliseconds since 1970")
        if headers:
            headers = as_headers(headers)
            size += headers_size(headers)
        else:
            headers = ()
        with self.lock:
            if self.refusal is not None:
                raise self.refusal
            lanes = self.topics.get(topic)
            if lanes is None:
                return None
            if size > self._record_size_max:
                raise self._too_large(topic, size)
            if self.buffered_bytes + size > self._buffer_memory:
                return None
            if partition is not None:
                lane = self._lane_of(lanes, partition)
            elif key is None and self._is_decided_by_key:
                lane = lanes.sticky
            else:
                lane = lanes.by_key.get(key) or self._partitioned(lanes, key)  # type: ignore[arg-type]
            batch = lane.open
            if batch is None or batch.size + size > self._batch_size:
                batch = self._begin_batch(lanes, lane, partition is None and lane is lanes.sticky)
            records = batch.records
            index = len(records)
            records.append((timestamp, key, value, headers))
            batch.size += size
            self.buffered_bytes += size
            future = RecordFuture(batch, index, timestamp)
            if on_delivery is not None:
                batch.deliveries.append((future, on_delivery))
            return future

    def _begin_batch(self, lanes: TopicLanes, lane: Lane, is_free: bool) -> Batch:
        """Close the lane's batch when it is full; a record that may go anywhere goes to another lane."""
        if lane.open is not None:
            self.close_open(lane)
            if is_free:
                lane = lanes.sticky
                if lane.open is not None:
                    return lane.open
        now = self._clock()
        self._serial += 1
        batch = lane.open = Batch(lane, (self._serial,), now, now + self._delivery_seconds)
        self.active[lane] = None
        self.unfinished[batch] = None
        self._wake_sender()
        return batch

    def _wake_sender(self) -> None:
        if not self.is_awake:
            self.is_awake = True
            self._wake()

    def _lane_of(self, lanes: TopicLanes, partition: int) -> Lane:
        if partition.__class__ is int and 0 <= partition < len(lanes.lanes):
            return lanes.lanes[partition]
        raise InvalidOption(
            f"there is no partition {partition!r} of topic {lanes.name!r}: "
            f"it has {len(lanes.lanes)}, numbered from 0"
        )

    def _partitioned(self, lanes: TopicLanes, key: bytes | None) -> Lane:
        partition = self.partitioner(lanes.name, key, len(lanes.lanes))
        if partition is None:
            return lanes.sticky
        lane = self._lane_of(lanes, partition)
        if self._is_decided_by_key and key is not None:
            if len(lanes.by_key) >= KEYS_REMEMBERED_MAX:
                lanes.by_key.clear()
            lanes.by_key[key] = lane
        return lane

    def _too_large(self, topic: str, size: int) -> RecordTooLarge:
        name = "max_request_size" if self._record_size_max == self._max_request_size else "buffer_memory"
        return RecordTooLarge(
            f"a record for {topic!r} takes up to {size} bytes, more than {name}={self._record_size_max}: "
            f"raise {name}, and max.message.bytes of the topic where it is smaller"
        )

    def wait_for_room(self, when: Callable[[], object]) -> None:
        """`when` is called once that there is room again: try `append` before and after."""
        with self.lock:
            self.waiting_for_room.append(when)
            self._wake_sender()

    def hurry(self, batch: Batch) -> None:
        """Somebody waits: the batch's linger is over."""
        with self.lock:
            if not batch.is_hurried:
                batch.is_hurried = True
                if batch.lane.open is batch:
                    self.close_open(batch.lane)
                    self._wake_sender()

    def close_all_open(self) -> list[Batch]:
        """End every linger; all batches that are not done."""
        with self.lock:
            for lane in self.active:
                if lane.open is not None:
                    self.close_open(lane)
            self._wake_sender()
            return list(self.unfinished)

    def add_callback(self, batch: Batch, callback: Callable[[], object]) -> None:
        """Call it when the batch is done; at once when it is."""
        with self.lock:
            if not batch.is_done:
                batch.callbacks.append(callback)
                return
        callback()

    def check_may_block(self) -> None:
        if threading.get_ident() == self.loop_thread_id:
            raise BlockedLoop(
                "waiting in the thread that sends the records would wait for ever: "
                "await the future, or use a call-back"
            )

    def refuse(self, error: Exception | None) -> None:
        """Every `append` from now on raises it; None takes that back."""
        with self.lock:
            self.refusal = error
        self.make_room()

    # What the sender does

    def close_open(self, lane: Lane) -> None:
        """The open batch waits to be sent. With the lock held."""
        batch = lane.open
        if batch is None:
            return
        batch.close()
        lane.open = None
        lane.waiting.append(batch)
        lanes = self.topics.get(lane.partition.topic)
        if lanes is not None and lanes.sticky is lane:
            lanes.sticky = self.choose(lanes.lanes)

    def ripe_at(self, batch: Batch) -> float:
        """When an open batch has lingered long enough: at once where somebody waits for memory."""
        return 0.0 if self.waiting_for_room else batch.created_at + self._linger_seconds

    def add_waiting(self, lanes: TopicLanes, batches: Sequence[Batch]) -> bool:
        """Take whole batches that somebody else has built, all or none: they wait behind what lanes have.

        False when there is no room: see `wait_for_room`.
        """
        size = sum(batch.size for batch in batches)
        with self.lock:
            if self.refusal is not None:
                raise self.refusal
            if self.topics.get(lanes.name) is not lanes:
                raise deleted_topic(lanes.name)
            if self.buffered_bytes and self.buffered_bytes + size > self._buffer_memory:
                return False
            now = self._clock()
            for batch in batches:
                self._serial += 1
                batch.serial = (self._serial,)
                batch.created_at, batch.deadline = now, now + self._delivery_seconds
                lane = batch.lane
                self.close_open(lane)
                lane.waiting.append(batch)
                self.active[lane] = None
                self.unfinished[batch] = None
            self.buffered_bytes += size
            self._wake_sender()
            return True

    def finish(
        self, batch: Batch, base_offset: int, log_append_time_ms: int, error: ClientError | None
    ) -> None:
        """A batch is done, and with its last part the batch that it was cut from."""
        with self.lock:
            if batch.is_done:
                return
            batch.finish(base_offset, log_append_time_ms, error)
            self.unfinished.pop(batch, None)
            callbacks, batch.callbacks = batch.callbacks, []
            deliveries, batch.deliveries = batch.deliveries, []
            self.buffered_bytes -= batch.size
        self.make_room()
        for callback in callbacks:
            callback()
        for future, on_delivery in deliveries:
            failure = future.failure()
            try:
                on_delivery(None if failure else future.metadata(), failure)
            except Exception:
                _logger.exception("on_delivery of a record for %s failed", batch.lane.partition)

    def make_room(self) -> None:
        """Have those try again who wait for room, once that half of the memory is free.

        Not sooner: a sender whose callers are not in its way frees memory faster.
        """
        while self.waiting_for_room and (
            self.refusal is not None or self.buffered_bytes <= self._buffer_memory // 2
        ):
            try:
                self.waiting_for_room.popleft()()
            except IndexError:
                return


def deleted_topic(topic: str) -> BrokerError:
    message = "the topic has been deleted"
    return BrokerError(
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"write to topic {topic!r}", message, is_retriable=False
    )


def as_bytes(what: str, given: object) -> bytes:
    if isinstance(given, bytes | bytearray | memoryview):
        return bytes(given)
    kind = type(given).__name__
    raise InvalidOption(
        f"a record's {what} must be bytes, not {kind}: encode it, or give the producer a serializer"
    )


def as_headers(given: Any) -> tuple[tuple[str, bytes | None], ...]:
    """Pairs of name and value, from a mapping or a sequence of pairs."""
    pairs = given.items() if hasattr(given, "items") else given
    headers = []
    for pair in pairs:
        name, value = pair
        if not isinstance(name, str):
            raise InvalidOption(f"a header's name must be a text, not {name!r}")
        headers.append((name, None if value is None else as_bytes("header", value)))
    return tuple(headers)
