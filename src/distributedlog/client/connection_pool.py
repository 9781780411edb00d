"""[io] Blocking connections and leaders of one cluster, kept for as long as the process lives.

Who reads partitions one after another (a Spark worker does, task after task) finds its connection and its
knowledge of the cluster where the last one left them. A forked child starts with nothing.
"""

import os
import threading
from collections.abc import Callable, Hashable
from typing import Final

from distributedlog.client.addresses import Address, parse_bootstrap
from distributedlog.client.blocking_connection import BlockingConnection
from distributedlog.client.errors import ClientError, ClusterUnreachable, check
from distributedlog.client.metadata import BrokerNode, ClusterMetadata, TopicPartition
from distributedlog.client.settings import ClientSettings
from distributedlog.wire import ErrorCode
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

IDLE_MAX: Final = 4
"""How many idle connections to one broker are kept."""


class ClusterAccess:
    """What one process knows of one cluster. Threads may share it; a connection is one thread's at a time."""

    def __init__(self, bootstrap: str, settings: ClientSettings) -> None:
        self.settings = settings
        self._bootstrap = parse_bootstrap(bootstrap)
        self._metadata = ClusterMetadata()
        self._idle: dict[Address, list[BlockingConnection]] = {}
        self._lock = threading.Lock()

    def leader_of(self, partition: TopicPartition) -> tuple[BrokerNode, bytes]:
        """The broker that leads the partition, and the topic's id; BrokerError where there is none."""
        leader = self._metadata.leader_of(partition)
        if leader is None:
            self.refresh(partition.topic)
            leader = self._metadata.leader_of(partition)
        topic = self._metadata.topics.get(partition.topic)
        if leader is None or topic is None:
            code = topic.error_code if topic is not None else 0
            check(code or ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {partition}")
            raise AssertionError
        return self._metadata.brokers[leader], topic.topic_id

    def refresh(self, topic: str) -> None:
        """Ask anew who leads this topic's partitions."""
        connection = self._any_connection()
        try:
            request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
            response: MetadataResponse = connection.ask(request)
        except BaseException:
            connection.close()
            raise
        self.put_back(connection)
        self._metadata = self._metadata.updated(response, is_complete=False)

    def take(self, address: Address) -> BlockingConnection:
        """A connection to this broker for the caller alone, who puts it back or closes it."""
        while True:
            with self._lock:
                idle = self._idle.get(address)
                connection = idle.pop() if idle else None
            if connection is None:
                return BlockingConnection.open(address, self.settings)
            if connection.is_usable:
                return connection
            connection.close()

    def put_back(self, connection: BlockingConnection) -> None:
        with self._lock:
            idle = self._idle.setdefault(connection.address, [])
            if len(idle) < IDLE_MAX and connection.is_usable:
                idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            connections = [connection for idle in self._idle.values() for connection in idle]
            self._idle.clear()
        for connection in connections:
            connection.close()

    def _any_connection(self) -> BlockingConnection:
        known = [node.address for node in self._metadata.brokers.values()]
        failures: list[ClientError] = []
        for address in dict.fromkeys((*known, *self._bootstrap)):
            try:
                return self.take(address)
            except ClientError as error:
                if not error.is_retriable:
                    raise
                failures.append(error)
        unreachable = ClusterUnreachable("no broker answers: " + "; ".join(map(str, failures)))
        unreachable.is_retriable = True
        raise unreachable


_shared: dict[Hashable, ClusterAccess] = {}
_shared_lock = threading.Lock()


def shared_access(key: Hashable, make: Callable[[], ClusterAccess]) -> ClusterAccess:
    """The process's one `ClusterAccess` for this key, made when first asked for."""
    with _shared_lock:
        access = _shared.get(key)
        if access is None:
            access = _shared[key] = make()
        return access


def _after_fork_in_child() -> None:
    """The parent's connections are the parent's: both would read the same answers."""
    global _shared_lock  # noqa: PLW0603  (the parent may have held it)
    _shared_lock = threading.Lock()
    _shared.clear()


os.register_at_fork(after_in_child=_after_fork_in_child)
