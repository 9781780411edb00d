"""The coordinators of one kind in this broker: one per partition of their topic that it leads.

A name (of a group, of a transaction) belongs to the partition that its hash names. The topic is made when a
client first looks for a coordinator. `ask` and `ask_each` bring requests to the coordinators; both work
without one, and then answer what Kafka answers.
"""

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from distributedlog.broker.coordinator_log import partition_for
from distributedlog.broker.pending import Pending
from distributedlog.cluster.image import ClusterImage
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.broker.coordinator_shard import CoordinatorShard
    from distributedlog.broker.partition import Partition
    from distributedlog.coordination import Context

Item = TypeVar("Item")
Row = TypeVar("Row")
ShardT = TypeVar("ShardT", bound="CoordinatorShard[Any, Any]")

logger = logging.getLogger("distributedlog.broker")


class CoordinatorRuntime(ABC, Generic[ShardT]):
    """Everything happens in the thread of the event loop."""

    #: The internal topic that the coordinators keep their state in.
    topic: ClassVar[str]

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._shards: dict[int, ShardT] = {}
        self._topic_id: bytes | None = None
        self._waiting_to_load: deque[ShardT] = deque()
        self._is_loading = False
        self._is_running = False
        broker.on_image_changed.append(self._image_changed)

    @abstractmethod
    def _new_shard(self, partition: "Partition") -> ShardT:
        """The coordinator of a partition, not yet loaded."""

    def _follow(self, old: ClusterImage, new: ClusterImage) -> None:
        """The cluster has changed; the shards are those of its partitions already."""

    def start(self) -> None:
        """Begin to load what there is; requests are put off meanwhile."""
        self._is_running = True
        self._follow_partitions()

    def close(self) -> None:
        """Who waits for something to happen is sent away; who waits for the disk is answered by its last
        flush."""
        self._is_running = False
        self._waiting_to_load.clear()
        for shard in self._shards.values():
            shard.unload()

    # -- the topic ------------------------------------------------------------------------------------

    def prepare(self, done: Callable[[ErrorCode], None]) -> None:
        """See to it that there is a coordinator for any name; told NONE when there is."""
        if self._topic_id is not None:
            done(ErrorCode.NONE)
            return

        def created(code: int) -> None:
            if code:
                logger.error("%s could not be created: error %d", self.topic, code)
            done(ErrorCode.COORDINATOR_NOT_AVAILABLE if code else ErrorCode.NONE)

        self._broker.create_internal_topic(self.topic, created)

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        if self._is_running:
            self._follow_partitions()
            self._follow(old, new)

    def _follow_partitions(self) -> None:
        topic = self._broker.image.topics_by_name.get(self.topic)
        topic_id = None if topic is None else topic.topic_id
        if topic_id != self._topic_id:
            for shard in self._shards.values():
                shard.unload()
            self._shards.clear()
            self._topic_id = topic_id
        if topic is None or len(self._shards) == len(topic.partitions):
            return
        for partition in self._broker.partitions.of_topic(self.topic):
            if partition.index not in self._shards:
                shard = self._shards[partition.index] = self._new_shard(partition)
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

    # -- asking -----------------------------------------------------------------------------------------

    def ask(
        self,
        context: "RequestContext",
        name: str,
        request: Any,
        refuse: Callable[[ErrorCode], Any],
    ) -> Any:
        """The answer of a name's coordinator, as a `Pending`; ``refuse`` makes one where there is none."""
        shard, error = self._shard_of(name)
        if shard is None:
            return refuse(error)
        return self._send(shard, context, request)

    def ask_each(
        self,
        context: "RequestContext",
        items: Sequence[Item],
        name_of: Callable[[Item], str],
        request_of: Callable[[list[Item]], Any],
        rows_of: Callable[[Any], list[Row]],
        refuse: Callable[[Item, ErrorCode], Row],
        response_of: Callable[[list[Row]], Any],
    ) -> Any:
        """Ask the coordinators of several names, each for its own, and put their rows together in the
        order of the items. A coordinator's response has one row per item, in order."""
        rows: list[Row | None] = [None] * len(items)
        positions: dict[int, list[int]] = {}
        for position, item in enumerate(items):
            shard, error = self._shard_of(name_of(item))
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

    def _shard_of(self, name: str) -> tuple[ShardT | None, ErrorCode]:
        topic = self._broker.image.topics_by_name.get(self.topic)
        if topic is None or not self._is_running:
            return None, ErrorCode.NOT_COORDINATOR
        shard = self._shards.get(partition_for(name, len(topic.partitions)))
        if shard is None:
            return None, ErrorCode.NOT_COORDINATOR
        if shard.refusal is not ErrorCode.NONE:
            return None, shard.refusal
        return shard, ErrorCode.NONE

    def _send(self, shard: ShardT, context: "RequestContext", request: Any) -> Pending:
        pending = Pending()
        shard.handle(self._context(context, pending), request)
        return pending

    def _context(self, context: "RequestContext", pending: Pending) -> "Context":
        from distributedlog.coordination import Context  # noqa: PLC0415 - not on the way to the start

        now_ms = self._broker.scheduler.now_ms()
        return Context(pending, context.version, now_ms, context.client_id, f"/{context.client.host}")


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
