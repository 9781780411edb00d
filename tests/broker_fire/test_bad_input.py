"""Bad input at the socket of a real process: it answers as Kafka does, or closes that connection and says why
in one line; all the others are served meanwhile."""

import contextlib
import http.client
import json
import os
import resource
import socket
import ssl

import pytest
from tests.broker_fire.asking import (
    await_leader,
    batch_of,
    create_topic,
    end_offset,
    fetch,
    produce,
    records_of,
)
from tests.server.processes import DEADLINE_SECONDS, Client, dlog_start, eventually

from distributedlog.wire import ErrorCode, decode_response, encode_request
from distributedlog.wire.k00_produce import ProduceRequest
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k18_api_versions import ApiVersionsRequest
from distributedlog.wire.k19_create_topics import CreatableTopic, CreateTopicsRequest
from readiness import is_readable

PRODUCE, METADATA, HEARTBEAT, API_VERSIONS, CREATE_TOPICS = 0, 3, 12, 18, 19
HELLO = encode_request(API_VERSIONS, 0, 1, "stranger", ApiVersionsRequest())
SILENT_CONNECTIONS = 10_000
#: What a connection that says nothing may cost the broker, in memory that it did not have before.
SILENT_CONNECTION_BYTES_MAX = 20_000


class Fire:
    """A broker, the lines of its log, and a good client that must not notice anything."""

    def __init__(self, process):
        self.process = process
        self.port = process.port
        self.good = Client(self.port)
        self._log = b""
        create_topic(self.good, "good")
        self._count = 0
        self.lines()

    def serve_the_good(self):
        """One record in and out by a connection that was there before all that is bad."""
        value = b"%d" % self._count
        answer = produce(self.good, "good", batch_of(value))
        assert (answer.error_code, answer.base_offset) == (0, self._count)
        assert fetch(self.good, "good", 0, self._count).error_code == 0
        self._count += 1

    def lines(self):
        """What was logged since the last call; what was logged before an answer is there with the answer."""
        descriptor = self.process.popen.stderr.fileno()
        while is_readable(descriptor, 0):
            data = os.read(descriptor, 65536)
            assert data, "the broker is gone"
            self._log += data
        whole, newline, self._log = self._log.rpartition(b"\n")
        return [json.loads(line) for line in (whole + newline).splitlines()]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE_SECONDS)

    def memory_bytes(self):
        with open(f"/proc/{self.process.popen.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * resource.getpagesize()


def until_closed(connection):
    """What the broker still sends before it closes."""
    data = b""
    with contextlib.suppress(ConnectionError):
        while received := connection.recv(65536):
            data += received
    return data


@contextlib.contextmanager
def under_fire(path, *settings):
    with dlog_start("--listen", "127.0.0.1:0", *settings, cwd=path) as process:
        fire = Fire(process.wait_ready())
        with fire.good:
            yield fire


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with under_fire(tmp_path_factory.mktemp("bad"), "--set", "log.flush=os") as fire:
        yield fire


@pytest.fixture
def fire(broker):
    """The broker; whatever a test does to it, the good client is served and nothing more is said."""
    broker.serve_the_good()
    broker.lines()
    yield broker
    broker.serve_the_good()
    assert broker.lines() == []


# -- what closes its own connection -----------------------------------------------------------------------


def in_version(version, api_key):
    """A request that is a good one but for its version."""
    message = {PRODUCE: ProduceRequest, HEARTBEAT: HeartbeatRequest}[api_key]()
    frame = encode_request(api_key, 3, 1, "stranger", message)
    return frame[:6] + version.to_bytes(2) + frame[8:]


UNKNOWN_API = bytes.fromhex("0000000e03e700000000000100047465737400")[:18]
CLIENT_ID_TOO_LONG = bytes.fromhex("0000000b000c0004000000010009") + b"a"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"\xde\xad\xbe\xef" * 100, "size -559038737", id="garbage"),
        pytest.param(bytes(range(1, 256)), "it sent the bytes 01 02 03 04", id="other-garbage"),
        pytest.param((2**31 - 1).to_bytes(4) + HELLO[4:], "2147483647 bytes", id="2-GB"),
        pytest.param(HELLO + (2**31 - 1).to_bytes(4), "2147483647 bytes", id="2-GB-later"),
        pytest.param(UNKNOWN_API, "no request with API key 999", id="unknown-api"),
        pytest.param(HELLO + UNKNOWN_API, "API key 999 in version 0 is not served", id="unknown-api-later"),
        pytest.param(in_version(99, HEARTBEAT), "API key 12 in version 99 is not served", id="version"),
        pytest.param(in_version(2, PRODUCE), "API key 0 in version 2 is not served", id="advertised-version"),
        pytest.param(HELLO + CLIENT_ID_TOO_LONG, "its request is damaged", id="damaged-request"),
    ],
)
def test_closes_its_connection_with_one_line(fire, data, reason):
    with fire.connect() as bad:
        bad.sendall(data)
        fire.serve_the_good()
        until_closed(bad)
    [line] = fire.lines()
    assert line["level"] == "warning"
    assert "closed the connection from 127.0.0.1:" in line["message"]
    assert reason in line["message"]


def test_a_tls_client_is_told_apart(fire):
    context = ssl.create_default_context()
    with fire.connect() as plain, pytest.raises((ssl.SSLError, ConnectionError)):
        context.wrap_socket(plain, server_hostname="localhost")
    [line] = fire.lines()
    assert "a TLS hello" in line["message"]


def test_an_http_client_is_told_apart(fire):
    browser = http.client.HTTPConnection("127.0.0.1", fire.port, timeout=DEADLINE_SECONDS)
    browser.request("GET", "/metrics")
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        browser.getresponse()
    browser.close()
    [line] = fire.lines()
    assert "an HTTP request" in line["message"]


def test_half_a_frame_and_silence(tmp_path):
    """The good client has to be heard from all the time here: silence is what ends a connection."""
    with under_fire(tmp_path, "--set", "connections.max.idle.ms=300") as fire, fire.connect() as bad:
        bad.sendall(HELLO[: len(HELLO) // 2])

        def ended():
            fire.serve_the_good()
            return is_readable(bad, 0)

        eventually(ended)
        assert until_closed(bad) == b""
        [line] = fire.lines()
        assert "and then nothing for 300 ms" in line["message"]


def test_a_client_that_goes_away_in_the_middle_of_a_frame(fire):
    with fire.connect() as bad:
        bad.sendall(HELLO + HELLO[: len(HELLO) // 2])
        bad.shutdown(socket.SHUT_WR)
        assert until_closed(bad)
    [line] = eventually(fire.lines)
    assert f"went away after {len(HELLO) // 2 - 4} of a request's {len(HELLO) - 4} bytes" in line["message"]


def test_ten_thousand_connections_that_say_nothing(fire):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        before = fire.memory_bytes()
        with contextlib.ExitStack() as connections:
            for number in range(SILENT_CONNECTIONS):
                connections.enter_context(fire.connect())
                if number % 100 == 0:
                    fire.serve_the_good()
            fire.serve_the_good()
            with Client(fire.port) as newcomer:
                assert end_offset(newcomer, "good", 0) > 0
            assert fire.memory_bytes() - before < SILENT_CONNECTIONS * SILENT_CONNECTION_BYTES_MAX
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# -- what is answered -------------------------------------------------------------------------------------


def test_api_versions_of_an_unknown_version_is_answered_by_version_0_with_the_list(fire):
    """Its header is always that of version 0: only the correlation id."""
    with fire.connect() as client:
        client.sendall(HELLO[:6] + b"\x03\xe7" + HELLO[8:])
        size = int.from_bytes(client.recv(4, socket.MSG_WAITALL))
        frame = client.recv(size, socket.MSG_WAITALL)
        assert frame[:6] == b"\0\0\0\1" + int(ErrorCode.UNSUPPORTED_VERSION).to_bytes(2)
        _, response = decode_response(API_VERSIONS, 0, frame)
        told = {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}
        assert told[PRODUCE][0] == 0
        assert told[API_VERSIONS][0] == 0
        # The connection goes on, in the version that the client now knows.
        client.sendall(HELLO)
        assert int.from_bytes(client.recv(4, socket.MSG_WAITALL)) > 0


def damaged(batch):
    return batch[:-1] + bytes([batch[-1] ^ 1])


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        pytest.param(damaged(batch_of(b"v")), ErrorCode.CORRUPT_MESSAGE, id="wrong-crc"),
        pytest.param(
            batch_of(b"v")[:16] + b"\0" + batch_of(b"v")[17:], ErrorCode.INVALID_RECORD, id="magic-0"
        ),
        pytest.param(
            batch_of(b"v")[:16] + b"\1" + batch_of(b"v")[17:], ErrorCode.INVALID_RECORD, id="magic-1"
        ),
        pytest.param(batch_of(b"v")[:-1], ErrorCode.INVALID_RECORD, id="half-a-batch"),
        pytest.param(batch_of(bytes(1_100_000)), ErrorCode.MESSAGE_TOO_LARGE, id="too-large"),
    ],
)
def test_a_bad_batch_is_refused_and_the_connection_goes_on(fire, batch, code):
    with Client(fire.port) as client:
        await_leader(client, "bad")
        end = end_offset(client, "bad", 0)
        assert produce(client, "bad", batch).error_code == code
        assert produce(client, "bad", batch_of(b"good")).base_offset == end
        assert [value for _, value in records_of(client, "bad", 0)][end:] == [b"good"]


@pytest.mark.parametrize("name", ["a/b", "../up", "/etc/passwd", ".", "..", "a\0b", "a" * 250, "ü", " ", ""])
def test_a_topic_name_that_cannot_be_is_refused_everywhere(fire, name):
    with Client(fire.port) as client:
        request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=True)
        assert client.ask(METADATA, 9, request).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        request = CreateTopicsRequest([CreatableTopic(name, 1, 1)], timeout_ms=30_000)
        assert client.ask(CREATE_TOPICS, 7, request).topics[0].error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert produce(client, name, batch_of(b"v")).error_code in (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        )
        everything = client.ask(METADATA, 9, MetadataRequest(None)).topics
        assert name not in [topic.name for topic in everything]
