"""[io] A client of a whole cluster: which broker to ask, and asking again when that has changed."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from distributedlog.client.addresses import Address, parse_bootstrap
from distributedlog.client.connection import Connection
from distributedlog.client.errors import (
    BrokerError,
    ClientClosed,
    ClientError,
    ClusterUnreachable,
    ConnectFailed,
    RequestTimedOut,
    check,
)
from distributedlog.client.metadata import BrokerNode, ClusterMetadata, TopicMetadata, TopicPartition
from distributedlog.client.retry import Backoff
from distributedlog.client.settings import ClientSettings
from distributedlog.wire import APIS, ErrorCode
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

Result = TypeVar("Result")

ANYTHING: Final = ""
COORDINATION: Final = "coordination"
GROUP: Final = 0
TRANSACTION: Final = 1
_COORDINATOR_OF: Final = {GROUP: "group", TRANSACTION: "transactional id"}
_FIND_COORDINATOR: Final = 10
_MANY_COORDINATORS_FROM: Final = 4


class ClusterClient:
    """An async context manager: entering it finds a broker of the bootstrap list.

    Connections are made when first needed and shared by all tasks: one to each broker, and one more for
    each purpose whose requests wait at the broker, since it answers a connection's requests in order.
    Errors that may pass are retried within ``default_api_timeout_ms``, and before each try the metadata is
    fetched anew.
    """

    def __init__(self, bootstrap: str | Sequence[Address], settings: ClientSettings | None = None) -> None:
        self.settings = settings or ClientSettings()
        self.metadata = ClusterMetadata()
        self._bootstrap = parse_bootstrap(bootstrap) if isinstance(bootstrap, str) else tuple(bootstrap)
        self._connections: dict[tuple[Address, str], Connection] = {}
        self._opening: dict[tuple[Address, str], asyncio.Lock] = {}
        self._coordinators: dict[tuple[int, str], BrokerNode] = {}
        self._is_stale = True
        self._is_closed = False

    async def __aenter__(self) -> "ClusterClient":
        try:
            await self.refresh(())
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections; what is on its way fails with ConnectionLost. None is made any more."""
        self._is_closed = True
        connections = list(self._connections.values())
        self._connections.clear()
        await asyncio.gather(*(connection.close() for connection in connections))

    # Asking

    async def ask_any(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        """The response of whichever broker answers."""
        connection = await self._any_connection()
        return await connection.request(request, timeout_ms=timeout_ms)

    async def ask_node(
        self, node_id: int, request: Any, *, purpose: str = ANYTHING, timeout_ms: int | None = None
    ) -> Any:
        """The response of one broker."""
        connection = await self.connection_to(node_id, purpose)
        return await connection.request(request, timeout_ms=timeout_ms)

    async def ask_controller(self, request: Any, *, timeout_ms: int | None = None) -> Any:
        """The response of the broker that the cluster names as its controller."""
        if self._is_stale:
            await self.refresh(())
        if self.metadata.controller_id not in self.metadata.brokers:
            raise BrokerError(ErrorCode.NOT_CONTROLLER, "find the controller")
        return await self.ask_node(self.metadata.controller_id, request, timeout_ms=timeout_ms)

    async def ask_coordinator(
        self,
        key: str,
        request: Any,
        *,
        purpose: str = COORDINATION,
        key_type: int = GROUP,
        timeout_ms: int | None = None,
        version_max: int | None = None,
    ) -> Any:
        """The response of the broker that coordinates this group, or this transactional id."""
        connection = await self.coordinator_connection(key, purpose, key_type)
        return await connection.request(request, timeout_ms=timeout_ms, version_max=version_max)

    async def retrying(self, attempt: Callable[[], Awaitable[Result]]) -> Result:
        """Do it until it succeeds, fails for good, or the time for one operation is up."""
        loop = asyncio.get_running_loop()
        settings = self.settings
        deadline = loop.time() + settings.default_api_timeout_ms / 1000
        backoff = Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)
        while True:
            try:
                return await attempt()
            except ClientError as error:
                delay = backoff.next_ms() / 1000
                if not error.is_retriable or loop.time() + delay > deadline:
                    raise
            self.forget_places()
            await asyncio.sleep(delay)

    def forget_places(self) -> None:
        """Whoever was asked was the wrong one: look up leaders and coordinators anew."""
        self._is_stale = True
        self._coordinators.clear()

    # Knowing

    async def refresh(self, topics: Iterable[str] | None, *, may_create: bool = False) -> MetadataResponse:
        """Ask for these topics, for all with None, and for the brokers alone with none."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(wanted, allow_auto_topic_creation=may_create)
        response: MetadataResponse = await self.ask_any(request)
        check(response.error_code, "read the cluster's metadata")
        self.metadata = self.metadata.updated(response, is_complete=wanted is None)
        self._is_stale = False
        return response

    async def topics(self, names: Iterable[str], *, may_create: bool = False) -> list[TopicMetadata]:
        """These topics, fresh from the cluster.

        A topic that does not exist raises BrokerError at once; one that is just being created, or whose
        leader is just being elected, is waited for.
        """
        wanted = list(names)

        async def attempt() -> list[TopicMetadata]:
            await self.refresh(wanted, may_create=may_create)
            found = []
            for name in wanted:
                topic = self.metadata.topics.get(name) or TopicMetadata(
                    name, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    message = "there is no topic of this name"
                    raise BrokerError(topic.error_code, f"look up {name!r}", message, is_retriable=may_create)
                check(topic.error_code, f"look up topic {name}")
                found.append(topic)
            return found

        return await self.retrying(attempt)

    async def all_topics(self) -> list[TopicMetadata]:
        """Every topic that this client may see, in the order of their names."""
        await self.retrying(lambda: self.refresh(None))
        return [topic for _, topic in sorted(self.metadata.topics.items())]

    async def by_leader(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """The partitions, gathered by the broker that leads them."""
        wanted = list(partitions)
        if self._is_stale or any(self.metadata.leader_of(partition) is None for partition in wanted):
            await self.refresh({partition.topic for partition in wanted})
        gathered: dict[int, list[TopicPartition]] = {}
        for partition in wanted:
            leader = self.metadata.leader_of(partition)
            if leader is None:
                raise self._no_leader(partition)
            gathered.setdefault(leader, []).append(partition)
        return gathered

    def _no_leader(self, partition: TopicPartition) -> BrokerError:
        topic = self.metadata.topics.get(partition.topic)
        what = f"find the leader of {partition}"
        if topic is not None and topic.error_code:
            return BrokerError(topic.error_code, what)
        if topic is None or partition.partition not in {found.index for found in topic.partitions}:
            count = len(topic.partitions) if topic is not None else 0
            message = f"topic {partition.topic!r} has {count} partitions, numbered from 0"
            return BrokerError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"find partition {partition}",
                message,
                is_retriable=False,
            )
        return BrokerError(ErrorCode.LEADER_NOT_AVAILABLE, what)

    async def coordinator_of(self, key: str, key_type: int = GROUP) -> BrokerNode:
        """The broker that keeps the state of this group, or of this transactional id."""
        known = self._coordinators.get((key_type, key))
        if known is not None:
            return known
        connection = await self._any_connection()
        version = connection.versions.version_for(APIS[_FIND_COORDINATOR])
        if version >= _MANY_COORDINATORS_FROM:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        elif key_type != GROUP:
            request = FindCoordinatorRequest(key=key, key_type=key_type)
        else:
            request = FindCoordinatorRequest(key=key)
        response: FindCoordinatorResponse = await connection.request(request)
        found = response.coordinators[0] if response.coordinators else response
        what = f"find the coordinator of {_COORDINATOR_OF[key_type]} {key}"
        check(found.error_code, what, found.error_message)
        node = BrokerNode(found.node_id, Address(found.host, found.port))
        self._coordinators[key_type, key] = node
        return node

    # Connecting

    async def connection_to(self, node_id: int, purpose: str = ANYTHING) -> Connection:
        """The connection to a broker that the metadata knows."""
        if node_id not in self.metadata.brokers:
            await self.refresh(())
        node = self.metadata.brokers.get(node_id)
        if node is None:
            raise BrokerError(ErrorCode.BROKER_NOT_AVAILABLE, f"find broker {node_id}", is_retriable=True)
        return await self._connect(node.address, purpose)

    async def coordinator_connection(
        self, key: str, purpose: str = COORDINATION, key_type: int = GROUP
    ) -> Connection:
        """A connection to a coordinator on which no long poll stands in the way."""
        return await self._connect((await self.coordinator_of(key, key_type)).address, purpose)

    async def _any_connection(self) -> Connection:
        for (_, purpose), connection in self._connections.items():
            if purpose == ANYTHING and not connection.is_closed:
                return connection
        known = [node.address for node in self.metadata.brokers.values()]
        failures: list[ClientError] = []
        for address in dict.fromkeys((*known, *self._bootstrap)):
            try:
                return await self._connect(address)
            except (ConnectFailed, RequestTimedOut) as error:
                failures.append(error)
        unreachable = ClusterUnreachable("no broker answers: " + "; ".join(map(str, failures)))
        unreachable.is_retriable = bool(known)  # it was there before, so it may come back
        raise unreachable

    async def _connect(self, address: Address, purpose: str = ANYTHING) -> Connection:
        place = address, purpose
        async with self._opening.setdefault(place, asyncio.Lock()):
            connection = self._connections.get(place)
            if connection is None or connection.is_closed:
                self._check_open()
                connection = await Connection.open(address, self.settings)
                if self._is_closed:
                    await connection.close()
                    self._check_open()
                self._connections[place] = connection
            return connection

    def _check_open(self) -> None:
        if self._is_closed:
            raise ClientClosed("the client is closed")
