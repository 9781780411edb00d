"""A whole node: the only place where everything is put together.

node = await start_node(settings)     # bound, recovered, serving
node.address                          # HOST:PORT for clients on this machine
await node.close()                    # drains, flushes, marks the directory clean
"""

import asyncio
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.broker import Broker
from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import RequestContext
from distributedlog.broker.dispatch import dispatch
from distributedlog.broker.served_apis import SERVED_VERSIONS
from distributedlog.log import LogDirectory
from distributedlog.server.addresses import Address
from distributedlog.server.asyncio_scheduler import AsyncioScheduler
from distributedlog.server.listener import Listener, SharedAmongListeners
from distributedlog.server.measured_files import MeasuredFiles
from distributedlog.server.request_metrics import RequestMetrics
from distributedlog.server.settings import NodeSettings
from distributedlog.server.sockets import address_of_this_machine

if TYPE_CHECKING:
    from distributedlog.server.monitoring import Monitoring

#: For so long a node that stops waits for requests, and then for threads, that are at work.
DRAIN_SECONDS_MAX: Final = 5.0


class Node:
    """Made by `start_node`. Several may live in one process, each with a directory of its own."""

    def __init__(self, settings: NodeSettings) -> None:
        self.settings = settings
        self.metrics = RequestMetrics()
        self._loop = asyncio.get_running_loop()
        self._broker: Broker | None = None
        self._scheduler = AsyncioScheduler(self._loop)
        self._shared = SharedAmongListeners(self._loop, self._current_config, self.metrics)
        self._listeners: list[Listener] = []
        self._monitoring: Monitoring | None = None
        self._closing: asyncio.Task[None] | None = None

    @property
    def broker(self) -> Broker:
        assert self._broker is not None
        return self._broker

    @property
    def address(self) -> str:
        """HOST:PORT of the first listener, for clients on this machine."""
        return str(_reachable_here(self._listeners[0].address))

    @property
    def ports(self) -> list[int]:
        """The port of each listener, in the order of `listeners`."""
        return [listener.address.port for listener in self._listeners]

    @property
    def metrics_address(self) -> str | None:
        """HOST:PORT of the second port; None when there is none."""
        return None if self._monitoring is None else str(_reachable_here(self._monitoring.address))

    async def start(self) -> None:
        """Take the addresses first, because they fail most often, then the directory, then clients."""
        settings, config = self.settings, self.settings.broker
        for address in settings.listeners:
            listener = Listener(
                address, self._dispatch, SERVED_VERSIONS, self._shared, self._answer_plain_produce
            )
            self._listeners.append(listener)
            listener.bind()
        if settings.metrics_listener is not None:
            from distributedlog.server.monitoring import Monitoring  # noqa: PLC0415  (most nodes have none)

            self._monitoring = Monitoring(settings.metrics_listener, self._loop, self.metrics)
            self._monitoring.bind()
        files = MeasuredFiles(self.metrics.fsync.observe)
        directory = LogDirectory(config.log_dir, files=files, node_id=config.node_id)
        try:
            self._broker = broker = Broker(config, self._scheduler, directory)
            broker.advertised = self._advertised()
            broker.start()
        except BaseException:
            directory.abandon()
            self._broker = None
            raise
        for listener in self._listeners:
            await listener.start()
        if self._monitoring is not None:
            await self._monitoring.start(broker, lambda: self._shared.admission.count)

    async def close(self) -> None:
        """Take no more requests, answer those there are, flush, and mark the directory as cleanly closed."""
        if self._closing is None:
            self._closing = self._loop.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        await asyncio.gather(*(listener.drain(DRAIN_SECONDS_MAX) for listener in self._listeners))
        try:
            if self._broker is not None:
                await self._scheduler.finish(DRAIN_SECONDS_MAX)
                self._broker.close()
        finally:
            if self._monitoring is not None:
                self._monitoring.close()
            self._scheduler.close()

    def _dispatch(self, context: RequestContext, request: Any) -> Any:
        return dispatch(self.broker, context, request)

    def _answer_plain_produce(
        self, frame: bytearray, position: int, version: int, now_ms: int
    ) -> bytes | None:
        return self.broker.single_produce.answer(frame, position, version, now_ms)

    def _current_config(self) -> BrokerConfig:
        return self.settings.broker if self._broker is None else self._broker.config

    def _advertised(self) -> list[tuple[str, str, int]]:
        """What clients are told: what was set, else the address of each listener."""
        told = {address.name: address for address in self.settings.advertised_listeners}
        found = []
        for listener in self._listeners:
            address = told.get(listener.address.name, listener.address)
            host = address_of_this_machine() if address.is_every_address else address.host
            found.append((address.name, host, address.port))
        return found


async def start_node(settings: NodeSettings) -> Node:
    """Start a node in the running loop. What it took is given back when that fails."""
    node = Node(settings)
    try:
        await node.start()
    except BaseException:
        await node.close()
        raise
    return node


def _reachable_here(address: Address) -> Address:
    return Address(address.name, "127.0.0.1", address.port) if address.is_every_address else address
