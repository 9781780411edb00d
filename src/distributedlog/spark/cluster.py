"""[io] What the driver asks of the cluster: topics, where partitions begin and end, offsets of a moment.

Spark calls from a process that lives as long as the query and has no event loop; one loop in the background
serves all sources of the process, and each cluster has one client on it.
"""

import re
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TypeVar

from distributedlog.client import ClusterClient, TopicMetadata, TopicPartition
from distributedlog.client.background import LoopThread
from distributedlog.client.committed import CommittedOffset, commit_offsets
from distributedlog.client.configs import ResourceType, describe_config
from distributedlog.client.errors import ForkedClient, check
from distributedlog.client.offsets import EARLIEST, LATEST, NO_OFFSET, list_offsets
from distributedlog.spark.errors import SparkSourceError
from distributedlog.spark.kafka_options import ClientOptions
from distributedlog.spark.read_options import Subscription
from distributedlog.wire import ErrorCode

Result = TypeVar("Result")


class TopicMissing(SparkSourceError):
    """A topic or partition that was named does not exist."""


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """A topic as it is now: another one of the same name has another id."""

    topic_id: str
    partitions: int


class Cluster:
    """Blocking calls; made by `cluster_of`."""

    def __init__(self, options: ClientOptions, thread: LoopThread) -> None:
        self._options = options
        self._thread = thread
        self._client: ClusterClient | None = None

    def topics(self, subscription: Subscription, *, missing_ok: bool = False) -> dict[str, TopicInfo]:
        """The topics subscribed to, of those that exist; TopicMissing unless all that are named do."""
        if subscription.pattern is not None:
            pattern = re.compile(subscription.pattern)
            found = self._all()
            return {
                name: info(topic)
                for name, topic in found.items()
                if pattern.fullmatch(name) and not topic.is_internal
            }
        names = subscription.topics or tuple({partition.topic for partition in subscription.assigned})
        named = self._named(names)
        missing = [name for name in names if name not in named]
        if missing and not missing_ok:
            raise TopicMissing(self._missing(missing))
        return {name: info(topic) for name, topic in named.items()}

    def earliest(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        return self._offsets(dict.fromkeys(partitions, EARLIEST), is_read_committed=False)

    def latest(
        self, partitions: Iterable[TopicPartition], *, is_read_committed: bool
    ) -> dict[TopicPartition, int]:
        """Where reading ends now: before the first open transaction, or behind the last replicated record."""
        return self._offsets(dict.fromkeys(partitions, LATEST), is_read_committed=is_read_committed)

    def at(
        self, moments: Mapping[TopicPartition, int], *, is_read_committed: bool
    ) -> dict[TopicPartition, int | None]:
        """The first offset whose record is as late as the moment; None where none is."""
        found = self._offsets(moments, is_read_committed=is_read_committed)
        return {partition: None if offset == NO_OFFSET else offset for partition, offset in found.items()}

    def appends_in_order(self, topic: str) -> bool:
        """Whether the broker sets the timestamps, so that they never go back."""

        async def ask(client: ClusterClient) -> bool:
            keys = ["message.timestamp.type"]
            entries = await describe_config(client, ResourceType.TOPIC, topic, keys=keys)
            return any(entry.value == "LogAppendTime" for entry in entries)

        return self._run(ask)

    def commit(self, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
        """Tell a group's offsets, as somebody who is no member of it."""

        async def work(client: ClusterClient) -> None:
            committed = {partition: CommittedOffset(offset) for partition, offset in offsets.items()}
            await commit_offsets(client, group_id, committed)

        self._run(work)

    def _offsets(
        self, moments: Mapping[TopicPartition, int], *, is_read_committed: bool
    ) -> dict[TopicPartition, int]:
        if not moments:
            return {}

        async def ask(client: ClusterClient) -> dict[TopicPartition, int]:
            found = await list_offsets(client, moments, is_read_committed=is_read_committed)
            return {partition: entry.offset for partition, entry in found.items()}

        return self._run(ask)

    def _all(self) -> dict[str, TopicMetadata]:
        async def ask(client: ClusterClient) -> dict[str, TopicMetadata]:
            return {topic.name: topic for topic in await client.all_topics()}

        return self._run(ask)

    def _named(self, names: Sequence[str]) -> dict[str, TopicMetadata]:
        async def ask(client: ClusterClient) -> dict[str, TopicMetadata]:
            async def attempt() -> dict[str, TopicMetadata]:
                await client.refresh(names)
                found = {}
                for name in names:
                    topic = client.metadata.topics.get(name)
                    if topic is None or topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                        continue
                    check(topic.error_code, f"look up topic {name!r}")
                    found[name] = topic
                return found

            return await client.retrying(attempt)

        return self._run(ask)

    def _missing(self, names: list[str]) -> str:
        there = [name for name, topic in self._all().items() if not topic.is_internal]
        near = get_close_matches(names[0], there, n=1)
        if near:
            hint = f"did you mean {near[0]!r}?"
        else:
            hint = f"there are {', '.join(sorted(there)[:10])}" if there else "the cluster has no topics"
        return f"there is no topic {names[0]!r} on {self._options.bootstrap}: {hint}"

    def _run(self, work: Callable[[ClusterClient], Awaitable[Result]]) -> Result:
        async def with_client() -> Result:
            if self._client is None:
                client = ClusterClient(self._options.bootstrap, self._options.client_settings())
                await client.__aenter__()
                self._client = client
            return await work(self._client)

        return self._thread.run(with_client())


def info(topic: TopicMetadata) -> TopicInfo:
    return TopicInfo(topic.topic_id.hex(), len(topic.partitions))


_clusters: dict[ClientOptions, Cluster] = {}
_thread: LoopThread | None = None
_lock = threading.Lock()


def cluster_of(options: ClientOptions) -> Cluster:
    """The process's one client of this cluster, made when first asked for and again after a fork."""
    global _thread  # noqa: PLW0603  (one per process)
    with _lock:
        if _thread is not None:
            try:
                _thread.check()
            except ForkedClient:
                _thread = None
                _clusters.clear()
        if _thread is None:
            _thread = LoopThread("distributedlog-spark")
        if options not in _clusters:
            _clusters[options] = Cluster(options, _thread)
        return _clusters[options]
