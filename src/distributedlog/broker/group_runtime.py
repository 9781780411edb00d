"""The group coordinators of this broker: one per partition of ``__consumer_offsets`` that it leads.

A group belongs to the partition that the hash of its id names. The topic is made when a client first looks
for a coordinator. `ask` and `ask_each` bring requests to the coordinators; both work without one, and then
answer what Kafka answers.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from distributedlog.broker.coordinator_log import partition_for
from distributedlog.broker.pending import Pending
from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC, ClusterImage
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.broker.group_shard import GroupShard
    from distributedlog.groups import GroupConfig, TopicsImage

Item = TypeVar("Item")
Row = TypeVar("Row")

logger = logging.getLogger("distributedlog.broker")


class GroupRuntime:
    """Everything happens in the thread of the event loop."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._shards: dict[int, GroupShard] = {}
        self._topic_id: bytes | None = None
        self._waiting_to_load: deque[GroupShard] = deque()
        self._is_loading = False
        self._topics: TopicsImage | None = None
        self._config: GroupConfig | None = None
        self._is_running = False
        broker.on_image_changed.append(self._image_changed)

    def start(self) -> None:
        """Begin to load the groups that there are; requests for them are put off meanwhile."""
        self._is_running = True
        self._follow_partitions()

    def close(self) -> None:
        """Who waits for a rebalance is sent away; who waits for the disk is answered by its last flush."""
        self._is_running = False
        self._waiting_to_load.clear()
        for shard in self._shards.values():
            shard.unload()

    # -- the topic ------------------------------------------------------------------------------------

    def prepare(self, done: Callable[[ErrorCode], None]) -> None:
        """See to it that there is a coordinator for any group; told NONE when there is."""
        if self._topic_id is not None:
            done(ErrorCode.NONE)
            return

        def created(code: int) -> None:
            if code:
                logger.error("%s could not be created: error %d", CONSUMER_OFFSETS_TOPIC, code)
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE if code else ErrorCode.NONE)

        self._broker.create_internal_topic(CONSUMER_OFFSETS_TOPIC, created)

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        if old.topics_by_id is not new.topics_by_id:
            self._topics = None
        if not self._is_running:
            return
        self._follow_partitions()
        self._follow_config()
        if any(topic_id not in new.topics_by_id for topic_id in old.topics_by_id):
            self._sweep(deque(self._shards.values()))

    def _follow_partitions(self) -> None:
        topic = self._broker.image.topics_by_name.get(CONSUMER_OFFSETS_TOPIC)
        topic_id = None if topic is None else topic.topic_id
        if topic_id != self._topic_id:
            for shard in self._shards.values():
                shard.unload()
            self._shards.clear()
            self._topic_id = topic_id
        if topic is None or len(self._shards) == len(topic.partitions):
            return
        from distributedlog.broker.group_shard import GroupShard  # noqa: PLC0415 - not on the way to the start

        config = self._group_config()
        for partition in self._broker.partitions.of_topic(CONSUMER_OFFSETS_TOPIC):
            if partition.index not in self._shards:
                shard = GroupShard(partition, self._broker.scheduler, config, self._new_id, self.topics_image)
                self._shards[partition.index] = shard
                self._waiting_to_load.append(shard)
        self._load_next()

    def _load_next(self) -> None:
        """One partition after the other, so that much to load leaves the threads to others too."""
        while self._waiting_to_load and not self._is_loading:
            self._is_loading = True
            self._waiting_to_load.popleft().load(self._loaded)

    def _loaded(self) -> None:
        self._is_loading = False
        if self._waiting_to_load:
            self._broker.scheduler.call_soon(self._load_next)

    def _sweep(self, shards: "deque[GroupShard]") -> None:
        """Have deleted topics' offsets deleted, one partition per turn of the loop."""
        if shards and self._is_running:
            try:
                shards.popleft().follow_topics()
            except Exception:
                logger.exception("the offsets of deleted topics could not be deleted")
            self._broker.scheduler.call_soon(lambda: self._sweep(shards))

    # -- what coordinators know of the broker -----------------------------------------------------------

    def topics_image(self) -> "TopicsImage":
        """The cluster's topics as coordinators see them; the same object until topics change."""
        if self._topics is None:
            from distributedlog.groups import Topic, TopicsImage  # noqa: PLC0415 - as above

            image = self._broker.image
            topics = (
                Topic(each.name, each.topic_id, len(each.partitions)) for each in image.topics_by_id.values()
            )
            self._topics = TopicsImage(topics, image.end_offset)
        return self._topics

    def _group_config(self) -> "GroupConfig":
        from distributedlog.broker.group_settings import group_settings  # noqa: PLC0415 - as above

        return group_settings(self._broker.config, self._broker.image)

    def _follow_config(self) -> None:
        if not self._shards:
            return
        config = self._group_config()
        if config != self._config:
            self._config = config
            for shard in self._shards.values():
                shard.configure(config)

    def _new_id(self) -> str:
        return str(UUID(int=self._broker.chance.getrandbits(128), version=4))

    # -- asking -----------------------------------------------------------------------------------------

    def ask(
        self,
        context: "RequestContext",
        group_id: str,
        request: Any,
        refuse: Callable[[ErrorCode], Any],
    ) -> Any:
        """The answer of a group's coordinator, as a `Pending`; ``refuse`` makes one where there is none."""
        shard, error = self._shard_of(group_id)
        if shard is None:
            return refuse(error)
        return self._send(shard, context, request)

    def ask_each(
        self,
        context: "RequestContext",
        items: Sequence[Item],
        group_id_of: Callable[[Item], str],
        request_of: Callable[[list[Item]], Any],
        rows_of: Callable[[Any], list[Row]],
        refuse: Callable[[Item, ErrorCode], Row],
        response_of: Callable[[list[Row]], Any],
    ) -> Any:
        """Ask the coordinators of several groups, each for its own, and put their rows together in the
        order of the items. A coordinator's response has one row per item, in order."""
        rows: list[Row | None] = [None] * len(items)
        positions: dict[int, list[int]] = {}
        for position, item in enumerate(items):
            shard, error = self._shard_of(group_id_of(item))
            if shard is None:
                rows[position] = refuse(item, error)
            else:
                positions.setdefault(shard.partition.index, []).append(position)
        gathering = _Gathering(len(positions), lambda: response_of(rows))  # type: ignore[arg-type]

        def when_answered(places: list[int]) -> Callable[[Any], None]:
            def take(response: Any) -> None:
                for place, row in zip(places, rows_of(response), strict=True):
                    rows[place] = row
                gathering.one_is_there()

            return take

        for index, places in positions.items():
            answer = self._send(self._shards[index], context, request_of([items[place] for place in places]))
            answer.when_done(when_answered(places))
        return gathering.result()

    def ask_all(
        self,
        context: "RequestContext",
        request: Any,
        refuse: Callable[[ErrorCode], Any],
        response_of: Callable[[list[Any]], Any],
    ) -> Any:
        """Ask every coordinator. One that is not ready yet makes all fail, one that is gone has nothing."""
        shards = [shard for shard in self._shards.values() if shard.refusal is not ErrorCode.NOT_COORDINATOR]
        for shard in shards:
            if shard.refusal is not ErrorCode.NONE:
                return refuse(shard.refusal)
        responses: list[Any] = []
        gathering = _Gathering(len(shards), lambda: response_of(responses))

        def take(response: Any) -> None:
            responses.append(response)
            gathering.one_is_there()

        for shard in shards:
            self._send(shard, context, request).when_done(take)
        return gathering.result()

    def _shard_of(self, group_id: str) -> "tuple[GroupShard | None, ErrorCode]":
        topic = self._broker.image.topics_by_name.get(CONSUMER_OFFSETS_TOPIC)
        if topic is None or not self._is_running:
            return None, ErrorCode.NOT_COORDINATOR
        shard = self._shards.get(partition_for(group_id, len(topic.partitions)))
        if shard is None:
            return None, ErrorCode.NOT_COORDINATOR
        if shard.refusal is not ErrorCode.NONE:
            return None, shard.refusal
        return shard, ErrorCode.NONE

    def _send(self, shard: "GroupShard", context: "RequestContext", request: Any) -> Pending:
        from distributedlog.groups import Context  # noqa: PLC0415 - as above

        pending = Pending()
        now_ms = self._broker.scheduler.now_ms()
        client_host = f"/{context.client.host}"
        shard.handle(Context(pending, context.version, now_ms, context.client_id, client_host), request)
        return pending

    # -- for metrics ------------------------------------------------------------------------------------

    def committed_offsets(self) -> Iterator[tuple[str, str, int, int]]:
        """Group, topic, partition and offset of every commit there is."""
        for shard in self._shards.values():
            for group_id, topics in shard.coordinator.state.offsets.committed.items():
                for topic, partitions in topics.items():
                    for index, committed in partitions.items():
                        yield group_id, topic, index, committed.offset


class _Gathering:
    """An answer that is made of several others."""

    def __init__(self, count: int, answer: Callable[[], Any]) -> None:
        self._missing = count
        self._answer = answer
        self._pending: Pending | None = None

    def one_is_there(self) -> None:
        self._missing -= 1
        if not self._missing and self._pending is not None:
            self._pending.complete(self._answer())

    def result(self) -> Any:
        """The answer, or a `Pending` while some of the others are missing."""
        if not self._missing:
            return self._answer()
        self._pending = Pending()
        return self._pending
