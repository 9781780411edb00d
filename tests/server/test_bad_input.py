"""What is not Kafka closes its own connection, with one line that says what it was; others are served on."""

import asyncio
import logging

import pytest
from tests.server.harness import client_of, run, serving, until

from distributedlog.wire import encode_request, encode_response
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

METADATA, HEARTBEAT = 3, 12
REQUEST = encode_request(HEARTBEAT, 4, 1, "c", HeartbeatRequest(group_id="g", member_id="m"))
RESPONSE = encode_response(HEARTBEAT, 4, 1, HeartbeatResponse())


@pytest.fixture(autouse=True)
def _log(caplog):
    caplog.set_level(logging.INFO, logger="distributedlog")


def lines(caplog):
    return [record.getMessage() for record in caplog.records if record.name.startswith("distributedlog")]


def send_to_broker(data, **config):
    """Send it, and see that the connection is closed while another one is served."""

    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(), **config) as listener,
            client_of(listener) as good,
            client_of(listener) as bad,
        ):
            bad.write(data)
            assert await bad.closed() in (b"", RESPONSE)
            good.write(REQUEST)
            await good.response(HEARTBEAT, 4)

    run(scenario())


TLS_HELLO = bytes.fromhex("1603010200010001fc0303") + bytes(500)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"GET / HTTP/1.1\r\nHost: localhost:9092\r\n\r\n", "an HTTP request"),
        (b"POST /topics HTTP/1.1\r\n\r\n", "an HTTP request"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "an HTTP response"),
        (TLS_HELLO, "a TLS hello"),
        (TLS_HELLO[:5], "a TLS hello"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", "an SSH client"),
        (b"\x7fELF" + bytes(range(100)), "the bytes 7f 45 4c 46 00 01 02 03"),
        (b"\xff\xff\xff\xff", "size -1"),
        (b"\x80\x00\x00\x00garbage", "size -2147483648"),
        (b"\x7f\xff\xff\xff" + REQUEST[4:], "2147483647 bytes, above socket.request.max.bytes = 104857600"),
        (b"\0\0\0\0\0\0\0\0", "size 0"),
        (b"\0\0\0\7\0\0\0\0\0\0\0", "size 7"),
        (b"\0\0\0\x10\x03\xe7\0\0" + bytes(12), "no request with API key 999"),
        ((2**21).to_bytes(4) + REQUEST[4:], "its first request, with API key 12, would have 2097152 bytes"),
    ],
)
def test_a_stranger_is_told_apart_before_memory_is_spent_on_it(caplog, data, reason):
    send_to_broker(data)
    [line] = lines(caplog)
    assert line.startswith("closed the connection from 127.0.0.1:")
    assert reason in line


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xff\xff\xff", "size -1"),
        (b"\x7f\xff\xff\xff", "2147483647 bytes"),
        (b"\0\0\0\3abc", "size 3"),
        (b"\0\0\0\x0b\0\x0c\0\4\0\0\0\1\0\x09a", "its request is damaged: the client id has length 9"),
        (REQUEST[:-3] + b"\xff\xff\xff", "its request is damaged"),
        (b"\0\0\0\x0c\0\xc8\0\0\0\0\0\1\0\0\0\0", "API key 200 in version 0 is not served"),
    ],
)
def test_a_client_that_goes_astray_later_is_closed_too(caplog, data, reason):
    send_to_broker(REQUEST + data)
    [line] = lines(caplog)
    assert reason in line


def test_random_bytes_close_their_connection_and_nothing_else(caplog, fuzz_cases):
    """Whatever comes, the only outcomes are a response, a closed connection, or waiting for the rest."""
    import random

    chance = random.Random(7)
    frames = [
        chance.randbytes(chance.randrange(1, 200)) if n % 2 else mutated(chance, REQUEST)
        for n in range(fuzz_cases(400))
    ]

    async def scenario():
        async with serving(lambda *_: HeartbeatResponse()) as listener:
            for data in frames:
                async with client_of(listener) as client:
                    client.write(data)
                    client.writer.write_eof()
                    await client.closed()
            await until(lambda: not listener.connections)
            async with client_of(listener) as good:
                good.write(REQUEST)
                await good.response(HEARTBEAT, 4)

    run(scenario())
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def mutated(chance, data):
    data = bytearray(data)
    for _ in range(chance.randrange(1, 4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data)


@pytest.mark.parametrize(
    ("size", "progress"), [(13, f"9 of a request's {len(REQUEST) - 4} bytes"), (6, "6 bytes of a request")]
)
def test_half_a_frame_and_silence_is_closed_when_its_time_is_over(caplog, size, progress):
    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(), connections_max_idle_ms=100) as listener,
            client_of(listener) as client,
        ):
            client.write(REQUEST[:size])
            assert await client.closed() == b""

    run(scenario())
    [line] = lines(caplog)
    assert f"it sent {progress}, and then nothing for 100 ms" in line


def test_a_client_that_never_reads_is_closed_when_its_time_is_over(caplog):
    big = MetadataResponse(topics=[MetadataResponseTopic(name="t" * 200)] * 50_000)

    async def scenario():
        async with (
            serving(lambda *_: big, connections_max_idle_ms=100) as listener,
            client_of(listener) as client,
        ):
            client.send(METADATA, 9, 0, MetadataRequest())
            await until(lambda: any(connection.is_blocked for connection in listener.connections))
            await until(lambda: not listener.connections)

    run(scenario())
    [line] = lines(caplog)
    assert "it has not read its responses for 100 ms" in line


def test_a_silent_connection_is_closed_without_a_line(caplog):
    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(), connections_max_idle_ms=50) as listener,
            client_of(listener) as silent,
        ):
            assert await silent.closed() == b""
            assert listener.metrics.connections_closed_idle == 1

    run(scenario())
    assert lines(caplog) == []


def test_a_client_that_waits_for_its_answer_is_not_idle():
    from distributedlog.broker.pending import Pending

    async def scenario():
        pending = Pending()
        answers = [pending, HeartbeatResponse()]
        async with (
            serving(lambda *_: answers.pop(0), connections_max_idle_ms=50) as listener,
            client_of(listener) as waiting,
            client_of(listener) as silent,
        ):
            waiting.write(REQUEST)
            await silent.closed()
            async with client_of(listener) as silent_too:
                await silent_too.closed()
            pending.complete(HeartbeatResponse())
            assert (await waiting.response(HEARTBEAT, 4))[0] == 1

    run(scenario())


def test_more_connections_than_allowed_are_refused_and_those_there_are_served(caplog):
    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(), max_connections=2) as listener,
            client_of(listener) as first,
            client_of(listener) as second,
        ):
            await until(lambda: len(listener.connections) == 2)
            async with client_of(listener) as third:
                assert await third.closed() == b""
            for client in (first, second):
                client.write(REQUEST)
                await client.response(HEARTBEAT, 4)
            await first.close()
            await until(lambda: len(listener.connections) == 1)
            async with client_of(listener) as fourth:
                fourth.write(REQUEST)
                await fourth.response(HEARTBEAT, 4)
            assert listener.metrics.connections_refused == 1

    run(scenario())
    [line] = lines(caplog)
    assert "there are 2 connections already (max.connections)" in line


def test_one_address_may_not_take_all_connections(caplog):
    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(), max_connections_per_ip=1) as listener,
            client_of(listener) as first,
        ):
            first.write(REQUEST)
            await first.response(HEARTBEAT, 4)
            async with client_of(listener) as second:
                assert await second.closed() == b""

    run(scenario())
    [line] = lines(caplog)
    assert "from 127.0.0.1 already (max.connections.per.ip)" in line


def test_connections_that_come_too_fast_wait_for_their_turn():
    async def scenario():
        async with serving(lambda *_: HeartbeatResponse(), max_connection_creation_rate=50) as listener:
            start = listener.now()
            for _ in range(55):
                async with client_of(listener) as client:
                    client.write(REQUEST)
                    await client.response(HEARTBEAT, 4)
            assert listener.now() - start >= 4 / 50

    run(scenario())


def test_a_thousand_connections_that_say_nothing_are_no_burden():
    """They share one receive buffer: none has memory of its own before it sends."""

    async def scenario():
        async with serving(lambda *_: HeartbeatResponse()) as listener:
            writers = [
                (await asyncio.open_connection("127.0.0.1", listener.address.port))[1] for _ in range(1000)
            ]
            async with client_of(listener) as good:
                good.write(REQUEST)
                await good.response(HEARTBEAT, 4)
            assert len(listener.connections) == 1001
            for writer in writers:
                writer.close()

    run(scenario())


def test_many_large_requests_share_the_memory_there_is():
    """queued.max.request.bytes: while nothing is free, other requests wait in their sockets, in order."""
    size = 3_000_000
    padded = REQUEST[4:] + bytes(size - len(REQUEST) + 4)  # bytes after a request are ignored
    frame = size.to_bytes(4) + padded

    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(), queued_max_request_bytes=size) as listener,
            client_of(listener) as first,
            client_of(listener) as second,
            client_of(listener) as third,
        ):
            clients = (first, second, third)
            for client in clients:
                client.write(REQUEST)
                await client.response(HEARTBEAT, 4)
            first.write(frame[:1_000_000])
            await until(lambda: listener.memory.used == size)
            second.write(frame)
            third.write(frame[:2_000_000])
            await until(lambda: listener.memory.waiting == 2)
            third.writer.transport.abort()  # not noticed while its socket is not read
            first.write(frame[1_000_000:])
            assert (await first.response(HEARTBEAT, 4))[0] == 1
            assert (await second.response(HEARTBEAT, 4))[0] == 1
            await until(lambda: len(listener.connections) == 2)
            assert (listener.memory.used, listener.memory.waiting) == (0, 0)

    run(scenario())


def test_memory_comes_back_when_a_client_leaves_in_the_middle_of_a_request():
    async def scenario():
        async with serving(lambda *_: HeartbeatResponse(), queued_max_request_bytes=1000) as listener:
            for _ in range(3):
                async with client_of(listener) as client:
                    client.write(REQUEST + (3_000_000).to_bytes(4) + REQUEST[4:])
                    await until(lambda: listener.memory.used == 3_000_000)
                await until(lambda: listener.memory.used == 0)

    run(scenario())
