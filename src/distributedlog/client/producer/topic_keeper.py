"""[io] What a producer knows of its topics, looked up when it is needed, wrong or old."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, Final

from distributedlog.client.errors import BrokerError, ClientClosed, ClientError, ClusterUnreachable
from distributedlog.client.metadata import TopicMetadata, TopicPartition
from distributedlog.client.producer.accumulator import TopicLanes, deleted_topic
from distributedlog.client.producer.lane import Lane
from distributedlog.client.retry import Backoff
from distributedlog.wire import ZERO_UUID, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.producer.accumulator import Accumulator
    from distributedlog.client.producer.metrics import ProducerMetrics
    from distributedlog.client.producer.settings import ProducerSettings

MISSED_MAX: Final = 5
"""So often in a row a topic may be missing from the cluster's metadata before it counts as deleted."""

_MISSING: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


class TopicKeeper:
    """``changed`` is called after news, ``gave_up`` with an error that no waiting will cure."""

    def __init__(
        self,
        client: ClusterClient,
        accumulator: Accumulator,
        settings: ProducerSettings,
        metrics: ProducerMetrics,
        choose: Callable[[list[Lane]], Lane],
    ) -> None:
        self.changed: Callable[[], object] = lambda: None
        self.gave_up: Callable[[ClientError, str | None], object] = lambda error, topic: None
        self.last_error: ClientError | None = None
        self._client = client
        self._accumulator = accumulator
        self._settings = settings
        self._metrics = metrics
        self._choose = choose
        self._loop = asyncio.get_running_loop()
        self._backoff: Backoff | None = None
        self._refreshing: asyncio.Task[None] | None = None
        self._aging: asyncio.TimerHandle | None = None
        self._learning: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    async def close(self) -> None:
        """Whoever waits in `learn` gets ClientClosed."""
        self._is_closed = True
        if self._aging is not None:
            self._aging.cancel()
        tasks: list[asyncio.Task[Any]] = list(self._learning.values())
        if self._refreshing is not None:
            tasks.append(self._refreshing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def topic_id(self, topic: str) -> bytes:
        lanes = self._accumulator.topics.get(topic)
        return ZERO_UUID if lanes is None else lanes.topic_id

    async def learn(self, topic: str) -> None:
        """Look the topic up, created where the broker does that, and make its lanes."""
        if self._is_closed:
            raise ClientClosed("the producer is closed")
        task = self._learning.get(topic)
        if task is None:
            task = self._learning[topic] = self._loop.create_task(self._learn(topic))
            task.add_done_callback(lambda _: self._learning.pop(topic, None))
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if waiting is not None and waiting.cancelling():
                raise
            raise ClientClosed("the producer is closed") from None

    async def _learn(self, topic: str) -> None:
        if topic in self._accumulator.topics:
            return
        backoff = self._new_backoff()
        deadline = self._loop.time() + self._settings.max_block_ms / 1000
        while True:
            try:
                await self._client.refresh([topic], may_create=self._settings.allow_auto_create_topics)
                found = self._client.metadata.topics.get(topic)
                if found is not None and not found.error_code and found.partitions:
                    self._add(found)
                    return
                error: ClientError = _not_there(topic, found)
            except ClientError as failure:
                error = failure
            delay = backoff.next_ms() / 1000
            passes = error.is_retriable or isinstance(error, ClusterUnreachable)
            if not passes or self._loop.time() + delay > deadline:
                raise error
            await asyncio.sleep(delay)

    def _add(self, topic: TopicMetadata) -> None:
        accumulator = self._accumulator
        lanes = [
            Lane(accumulator, TopicPartition(topic.name, each.index), _leader(each.leader_id))
            for each in topic.partitions
        ]
        with accumulator.lock:
            accumulator.topics[topic.name] = TopicLanes(
                topic.name, topic.topic_id, lanes, self._choose(lanes)
            )
        self._age()

    def refresh_soon(self) -> None:
        """Something was wrong: ask the cluster again, not too often."""
        if self._refreshing is None and not self._is_closed:
            self._refreshing = self._loop.create_task(self._refresh())

    async def _refresh(self) -> None:
        if self._backoff is None:
            self._backoff = self._new_backoff()
        else:
            await asyncio.sleep(self._backoff.next_ms() / 1000)
        self._metrics.metadata_refreshes += 1
        error: ClientError | None = None
        try:
            await self._client.refresh(list(self._accumulator.topics))
        except ClientError as failure:
            error = failure
        self._refreshing = None
        if error is None:
            self._apply()
        elif error.is_retriable or isinstance(error, ClusterUnreachable):
            self.last_error = error
            if self._accumulator.unfinished:
                self.refresh_soon()
        else:
            self.gave_up(error, None)
        self.changed()

    def _apply(self) -> None:
        known = self._client.metadata.topics
        is_well = True
        for lanes in list(self._accumulator.topics.values()):
            topic = known.get(lanes.name)
            if topic is None or topic.error_code in _MISSING:
                lanes.missed += 1
                is_well = False
                if lanes.missed >= MISSED_MAX:
                    self._forget(lanes)
            elif not topic.error_code:
                lanes.missed = 0
                is_well &= self._update(lanes, topic)
        if is_well:
            self._backoff = None
            self.last_error = None
        elif self._accumulator.unfinished:
            self.refresh_soon()
        self._age()

    def _update(self, lanes: TopicLanes, topic: TopicMetadata) -> bool:
        accumulator = self._accumulator
        with accumulator.lock:
            lanes.topic_id = topic.topic_id
            for each in topic.partitions[len(lanes.lanes) :]:
                place = TopicPartition(topic.name, each.index)
                lanes.lanes.append(Lane(accumulator, place, None))
                lanes.by_key.clear()
            leaders = {each.index: _leader(each.leader_id) for each in topic.partitions}
            for lane in lanes.lanes:
                lane.leader_id = leaders.get(lane.partition.partition)
        return all(lane.leader_id is not None for lane in lanes.lanes)

    def _forget(self, lanes: TopicLanes) -> None:
        with self._accumulator.lock:
            del self._accumulator.topics[lanes.name]
        self.gave_up(deleted_topic(lanes.name), lanes.name)

    def _age(self) -> None:
        """Metadata is looked up anew when it is old, whether or not it turned out wrong."""
        if self._aging is not None:
            self._aging.cancel()
        if self._is_closed:
            return
        age = self._client.settings.metadata_max_age_ms / 1000
        self._aging = self._loop.call_later(age, self.refresh_soon)

    def _new_backoff(self) -> Backoff:
        settings = self._client.settings
        return Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)


def _leader(leader_id: int) -> int | None:
    return leader_id if leader_id >= 0 else None


def _not_there(topic: str, found: TopicMetadata | None) -> BrokerError:
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if found is None or not found.error_code else found.error_code
    if code in _MISSING:
        message = (
            "there is no topic of this name, and the broker does not create it by itself: create it first"
        )
        return BrokerError(code, f"write to topic {topic!r}", message, is_retriable=True)
    return BrokerError(code, f"write to topic {topic!r}")
