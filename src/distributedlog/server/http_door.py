"""The second port: a few pages over HTTP/1.1 for Prometheus, load balancers and people.

Only GET and HEAD of known paths, one small request at a time; everything else is an error page and the end
of the connection.
"""

import logging
from asyncio import AbstractEventLoop, BaseTransport, Protocol, Server, TimerHandle, Transport
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, cast

from distributedlog.server.addresses import Address
from distributedlog.server.sockets import bind

REQUEST_SIZE_MAX: Final = 8192
CONNECTIONS_MAX: Final = 100
IDLE_SECONDS_MAX: Final = 30.0
_BACKLOG: Final = 20
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    503: "Service Unavailable",
}

logger = logging.getLogger("distributedlog.server")


@dataclass(frozen=True, slots=True)
class Answer:
    """One page."""

    body: str
    content_type: str = "text/plain; charset=utf-8"
    status: int = 200


Pages = Mapping[str, Callable[[], Answer]]


class HttpDoor:
    """Open with `bind` and `start`; ``pages`` are functions by path."""

    def __init__(self, address: Address, pages: Pages, loop: AbstractEventLoop) -> None:
        self.address = address
        self.pages = pages
        self.loop = loop
        self.connections: set[HttpConnection] = set()
        self._servers: list[Server] = []

    def bind(self) -> Address:
        self._sockets = bind(self.address, _BACKLOG)
        port = self._sockets[0].getsockname()[1]
        self.address = Address(self.address.name, self.address.host, port)
        return self.address

    async def start(self) -> None:
        for bound in self._sockets:
            self._servers.append(await self.loop.create_server(lambda: HttpConnection(self), sock=bound))

    def close(self) -> None:
        for server in self._servers:
            server.close()
        for bound in self._sockets:
            bound.close()
        for connection in list(self.connections):
            connection.close()


class HttpConnection(Protocol):
    """Kept open between requests, but not for long."""

    def __init__(self, door: HttpDoor) -> None:
        self._door = door
        self._received = bytearray()
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        self._transport = cast(Transport, transport)
        self._door.connections.add(self)
        self._wait()
        if len(self._door.connections) > CONNECTIONS_MAX:
            self.close()

    def connection_lost(self, _error: Exception | None) -> None:
        self._door.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def close(self) -> None:
        self._transport.abort()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._door.loop.call_later(IDLE_SECONDS_MAX, self.close)

    def data_received(self, data: bytes) -> None:
        self._received += data
        while not self._transport.is_closing():
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                if len(self._received) > REQUEST_SIZE_MAX:
                    self._send(Answer("the request is too large\n", status=431), "GET", is_last=True)
                return
            head = bytes(self._received[:end])
            del self._received[: end + 4]
            self._wait()
            self._answer(head)

    def _answer(self, head: bytes) -> None:
        first, *fields = head.decode("latin-1").split("\r\n")
        parts = first.split(" ")
        if len(parts) != 3 or not parts[2].startswith("HTTP/1."):
            self._send(Answer("that is no HTTP/1.1 request\n", status=400), "GET", is_last=True)
            return
        method, target, version = parts
        headers = {
            name.strip().lower(): value.strip().lower()
            for name, _, value in (line.partition(":") for line in fields)
        }
        has_body = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        is_last = version == "HTTP/1.0" or headers.get("connection") == "close" or has_body
        if method not in ("GET", "HEAD"):
            self._send(Answer("only GET and HEAD are answered here\n", status=405), method, is_last=True)
            return
        page = self._door.pages.get(target.partition("?")[0])
        if page is None:
            known = ", ".join(sorted(self._door.pages))
            self._send(Answer(f"there is no such page; there are {known}\n", status=404), method, is_last)
            return
        try:
            answer = page()
        except Exception:
            logger.exception("the page %s met a bug", target)
            answer = Answer("this page met a bug; see the log\n", status=500)
        self._send(answer, method, is_last)

    def _send(self, answer: Answer, method: str, is_last: bool) -> None:
        body = answer.body.encode()
        head = (
            f"HTTP/1.1 {answer.status} {_REASONS[answer.status]}\r\n"
            f"Content-Type: {answer.content_type}\r\n"
            f"Content-Length: {len(body)}\r\n"
            "Cache-Control: no-store\r\n"
            f"Connection: {'close' if is_last else 'keep-alive'}\r\n\r\n"
        ).encode("latin-1")
        self._transport.write(head if method == "HEAD" else head + body)
        if is_last:
            self._transport.close()
