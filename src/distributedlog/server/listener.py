"""A door of the broker: accepts connections, holds what they share, and closes the idle ones."""

import logging
import socket
import time
from asyncio import AbstractEventLoop, Server, TimerHandle, Transport
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Final

from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import Client, RequestContext
from distributedlog.server.addresses import Address
from distributedlog.server.admission import Admission
from distributedlog.server.connection import Connection
from distributedlog.server.receiver import SHARED_BUFFER_SIZE
from distributedlog.server.request_memory import RequestMemory
from distributedlog.server.request_metrics import RequestMetrics
from distributedlog.server.sockets import bind

#: Idle connections are looked for this often in their time, and not more often than once in so long.
_IDLE_CHECKS: Final = 4
_IDLE_CHECK_INTERVAL_MS_MIN: Final = 50

logger = logging.getLogger("distributedlog.server")

Dispatch = Callable[[RequestContext, Any], Any]
#: Frame, where the body begins, version, the time: the response to a Produce request that is plain, or None.
AnswerPlainProduce = Callable[[bytearray, int, int, int], bytes | None]


class SharedAmongListeners:
    """What the doors of one node have in common: limits count for all of them together."""

    def __init__(
        self, loop: AbstractEventLoop, get_config: Callable[[], BrokerConfig], metrics: RequestMetrics
    ) -> None:
        self.loop = loop
        self.get_config = get_config
        self.metrics = metrics
        self.admission = Admission()
        self.memory = RequestMemory(get_config().queued_max_request_bytes)
        self.buffer = memoryview(bytearray(SHARED_BUFFER_SIZE))
        self.connection_ids = count(1)


class Listener:
    """Open with `start`. ``dispatch`` is the broker; ``served_versions`` says what it answers."""

    def __init__(
        self,
        address: Address,
        dispatch: Dispatch,
        served_versions: Mapping[int, tuple[int, int]],
        shared: SharedAmongListeners,
        answer_plain_produce: AnswerPlainProduce = lambda *_: None,
    ) -> None:
        self.address = address
        self.answer_plain_produce = answer_plain_produce
        self.dispatch = dispatch
        self.served_versions = dict(served_versions)
        self.known_keys = frozenset(served_versions)
        self.loop = shared.loop
        self.metrics = shared.metrics
        self.memory = shared.memory
        self.shared_buffer = shared.buffer
        self.now = shared.loop.time
        self.connections: set[Connection] = set()
        self._shared = shared
        self.config = shared.get_config()
        self.in_flight_max = self.config.max_in_flight_requests
        self._sockets: list[socket.socket] = []
        self._servers: list[Server] = []
        self._idle_timer: TimerHandle | None = None
        self._on_empty: Callable[[], None] | None = None

    def bind(self) -> Address:
        """Take the address. What it became: with port 0, the port that was free."""
        self._sockets = bind(self.address, self.config.socket_listen_backlog_size)
        for bound in self._sockets:
            # Connections inherit it. Set after they were accepted it would be too late for the TCP window.
            for option, size in (
                (socket.SO_RCVBUF, self.config.socket_receive_buffer_bytes),
                (socket.SO_SNDBUF, self.config.socket_send_buffer_bytes),
            ):
                if size > 0:
                    bound.setsockopt(socket.SOL_SOCKET, option, size)
        self.address = Address(self.address.name, self.address.host, self._sockets[0].getsockname()[1])
        return self.address

    async def start(self) -> None:
        """Accept connections."""
        for bound in self._sockets:
            self._servers.append(
                await self.loop.create_server(
                    lambda: Connection(self), sock=bound, backlog=self.config.socket_listen_backlog_size
                )
            )
        self._plan_idle_check()

    @staticmethod
    def now_ms() -> int:
        return time.time_ns() // 1_000_000

    # -- what connections ask -----------------------------------------------------------------------------

    def new_client(self, transport: Transport) -> Client:
        host, port = (transport.get_extra_info("peername") or ("unknown", 0))[:2]
        return Client(next(self._shared.connection_ids), host, port, self.address.name)

    def admit(self, connection: Connection) -> float:
        """Count the connection, or refuse it; how many milliseconds it has to wait before it is served."""
        config = self._shared.get_config()
        admission = self._shared.admission
        host = connection.client.host
        refusal = admission.refusal(host, config.max_connections, config.max_connections_per_ip)
        admission.enter(host)
        self.connections.add(connection)
        self.metrics.connections_opened += 1
        if refusal is not None:
            self.metrics.connections_refused += 1
            connection.refuse(refusal)
            return 0
        return 1000 * admission.delay_seconds(self.now(), config.max_connection_creation_rate)

    def forget(self, connection: Connection) -> None:
        """The connection is gone."""
        if connection in self.connections:
            self.connections.remove(connection)
            self._shared.admission.leave(connection.client.host)
            if not self.connections and self._on_empty is not None:
                self._on_empty()

    # -- upkeep and the end -------------------------------------------------------------------------------

    def _plan_idle_check(self) -> None:
        idle_ms = self._shared.get_config().connections_max_idle_ms
        interval_ms = max(idle_ms / _IDLE_CHECKS, _IDLE_CHECK_INTERVAL_MS_MIN) if idle_ms > 0 else 60_000
        self._idle_timer = self.loop.call_later(min(interval_ms, 60_000) / 1000, self._check_idle)

    def _check_idle(self) -> None:
        idle_ms = self._shared.get_config().connections_max_idle_ms
        if idle_ms > 0:
            latest = self.now() - idle_ms / 1000
            for connection in list(self.connections):
                if connection.last_active < latest and not connection.is_waiting:
                    self.metrics.connections_closed_idle += 1
                    connection.close_idle(idle_ms)
        self._plan_idle_check()

    def stop_accepting(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        for server in self._servers:
            server.close()
        for bound in self._sockets:
            bound.close()

    async def drain(self, seconds_max: float) -> None:
        """Answer what was asked, then close every connection; after so long, without answers."""
        self.stop_accepting()
        if not self.connections:
            return
        emptied = self.loop.create_future()
        self._on_empty = lambda: None if emptied.done() else emptied.set_result(None)
        for connection in list(self.connections):
            connection.drain()
        timer = self.loop.call_later(seconds_max, self._abort_all)
        await emptied
        timer.cancel()

    def _abort_all(self) -> None:
        for connection in list(self.connections):
            connection.abort()
