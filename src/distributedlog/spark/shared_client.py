"""[io] One client of each cluster for each worker process: Spark uses a worker again, and so its connections.

The client lives in a thread of its own, so that encoding and sending overlap.
"""

import asyncio
import atexit
import os
import random
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from distributedlog.client.background import LoopThread
from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import BrokerError, ClientError, ClusterUnreachable
from distributedlog.client.retry import Backoff
from distributedlog.spark.errors import SparkSourceError
from distributedlog.spark.kafka_options import ClientOptions
from distributedlog.wire import ErrorCode

Result = TypeVar("Result")

#: How long a topic that the broker may just be creating is waited for.
CREATION_MS_MAX: Final = 10_000
RETRY_MS_MAX: Final = 500
_NOT_THERE: Final = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_ID}
)


class ClusterAway(SparkSourceError):
    """No broker answered for as long as the options allow."""


class TopicMissing(SparkSourceError):
    """A topic that rows are for does not exist."""


class SharedClient:
    """`run` does its work in the client's thread and waits for it."""

    def __init__(self, options: ClientOptions) -> None:
        self._thread = LoopThread("distributedlog-spark")
        self._options = options
        #: What belongs to this client and is kept as long: senders, sessions.
        self.kept: dict[object, Any] = {}
        self.cluster: ClusterClient = self.run(self._make())

    async def _make(self) -> ClusterClient:
        return ClusterClient(self._options.bootstrap, self._options.client_settings())

    def run(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._thread.run(work)

    def keep(self, key: object, make: Callable[[], Any]) -> Any:
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    async def partition_counts(self, topics: list[str], patience_ms: int) -> dict[str, int]:
        """How many partitions each topic has now; a broker that creates topics by itself may do so."""
        patience = Patience(
            patience_ms, f"look up the topics {', '.join(topics)} at {self._options.bootstrap}"
        )
        creation = Patience(CREATION_MS_MAX, "")
        while True:
            try:
                await self.cluster.refresh(topics, may_create=True)
            except ClientError as error:
                await patience.after(error)
                continue
            found = {name: self.cluster.metadata.topics.get(name) for name in topics}
            missing = [
                name for name, topic in found.items() if topic is None or topic.error_code in _NOT_THERE
            ]
            for name, topic in found.items():
                if topic is not None and topic.error_code and name not in missing:
                    raise BrokerError(topic.error_code, f"look up topic {name!r}")
            if not missing:
                return {name: len(topic.partitions) for name, topic in found.items() if topic is not None}
            if creation.is_over:
                raise TopicMissing(
                    f"there is no topic {missing[0]!r} at {self._options.bootstrap}, and the broker creates "
                    f"none by itself: dlog topic create {missing[0]}"
                )
            await creation.rest()

    def close(self) -> None:
        self.run(self.cluster.close())
        self._thread.close()


class Patience:
    """Waiting between tries of one thing, for so long at most."""

    def __init__(self, milliseconds: int, what: str) -> None:
        self._loop = asyncio.get_running_loop()
        self._milliseconds = milliseconds
        self._what = what
        self.progressed()

    def progressed(self) -> None:
        """Something has worked: the time begins anew."""
        self._deadline = self._loop.time() + self._milliseconds / 1000
        self._backoff = Backoff(10, RETRY_MS_MAX, random.random)

    @property
    def is_over(self) -> bool:
        return self._loop.time() > self._deadline

    async def rest(self) -> None:
        await asyncio.sleep(self._backoff.next_ms() / 1000)

    async def after(self, error: ClientError) -> None:
        """Rest after an error that may pass; raise one that will not, or when the time is over."""
        if not may_pass(error):
            raise error
        if self.is_over:
            raise ClusterAway(
                f"could not {self._what} for {self._milliseconds / 1000:g} s: {error}. Once the cluster is "
                "back, start the query again: it goes on with this batch"
            ) from error
        await self.rest()


def may_pass(error: ClientError) -> bool:
    """Whether waiting may cure it. A cluster that is not there may come."""
    return error.is_retriable or isinstance(error, ClusterUnreachable)


_clients: dict[tuple[int, ClientOptions], SharedClient] = {}


def shared_client(options: ClientOptions) -> SharedClient:
    """This process's client for these options."""
    key = os.getpid(), options  # a forked worker's parent has left a thread behind, but not the thread itself
    client = _clients.get(key)
    if client is None:
        client = _clients[key] = SharedClient(options)
    return client


@atexit.register
def close_all() -> None:
    """End the clients' threads and connections, in order."""
    for (process, _), client in list(_clients.items()):
        if process == os.getpid():
            client.close()
    _clients.clear()
