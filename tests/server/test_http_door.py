"""The second port: pages, errors and limits of its HTTP."""

import asyncio
import contextlib

import pytest
from tests.server.harness import run

from distributedlog.server.addresses import Address
from distributedlog.server.http_door import CONNECTIONS_MAX, Answer, HttpDoor


def failing():
    raise ZeroDivisionError


PAGES = {
    "/healthz": lambda: Answer("ok\n"),
    "/json": lambda: Answer('{"a": "ü"}', "application/json"),
    "/sick": lambda: Answer("no\n", status=503),
    "/bug": failing,
}


@contextlib.asynccontextmanager
async def door():
    door = HttpDoor(Address("PLAINTEXT", "127.0.0.1", 0), PAGES, asyncio.get_running_loop())
    door.bind()
    await door.start()
    try:
        yield door
    finally:
        door.close()


async def ask(request):
    async with door() as opened:
        reader, writer = await asyncio.open_connection("127.0.0.1", opened.address.port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        return answer


def get(path, *headers, method="GET", version="HTTP/1.1"):
    lines = [f"{method} {path} {version}", "Host: x", *headers, "", ""]
    return "\r\n".join(lines).encode()


@pytest.mark.parametrize(
    ("request_bytes", "status", "body"),
    [
        (get("/healthz", "Connection: close"), 200, b"ok\n"),
        (get("/healthz?verbose", "Connection: close"), 200, b"ok\n"),
        (get("/healthz", version="HTTP/1.0"), 200, b"ok\n"),
        (get("/json", "Connection: close"), 200, '{"a": "ü"}'.encode()),
        (get("/sick", "Connection: close"), 503, b"no\n"),
        (get("/bug", "Connection: close"), 500, b"this page met a bug; see the log\n"),
        (get("/healthz", "Connection: close", method="HEAD"), 200, b""),
        (get("/healthz", method="POST"), 405, b"only GET and HEAD are answered here\n"),
        (
            get("/x", "Connection: close"),
            404,
            b"there is no such page; there are /bug, /healthz, /json, /sick\n",
        ),
        (b"garbage\r\n\r\n", 400, b"that is no HTTP/1.1 request\n"),
        (bytes(9000), 431, b"the request is too large\n"),
    ],
)
def test_pages(request_bytes, status, body):
    head, _, got = run(ask(request_bytes)).partition(b"\r\n\r\n")
    assert head.startswith(f"HTTP/1.1 {status} ".encode())
    assert got == body
    if body:
        assert f"Content-Length: {len(body)}".encode() in head


def test_a_connection_serves_many_requests():
    answer = run(ask(get("/healthz") * 3 + get("/sick", "Connection: close")))
    assert answer.count(b"HTTP/1.1 200 OK") == 3
    assert answer.count(b"HTTP/1.1 503 ") == 1


def test_connections_are_limited():
    async def scenario():
        async with door() as opened:
            port = opened.address.port
            writers = [(await asyncio.open_connection("127.0.0.1", port))[1] for _ in range(CONNECTIONS_MAX)]
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            for each in (*writers, writer):
                each.close()

    run(scenario())
