"""Requests and responses over a real socket, on both loops, with a dispatch function in place of a broker."""

import asyncio
import logging

import pytest
from tests.server.harness import client_of, run, serving, until

from distributedlog.broker.pending import CLOSE_CONNECTION, Pending
from distributedlog.log.files import REAL_FILES, FileRegion, OpenFile
from distributedlog.wire import encode_request, encode_response
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from distributedlog.wire.k01_fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataResponse
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from distributedlog.wire.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

PRODUCE, FETCH, METADATA, HEARTBEAT, API_VERSIONS = 0, 1, 3, 12, 18

both_loops = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


def beat(member):
    return HeartbeatRequest(group_id="g", member_id=member)


def produce(records):
    return ProduceRequest(
        acks=1, topic_data=[TopicProduceData("t", partition_data=[PartitionProduceData(0, records)])]
    )


class Answering:
    """Answers what it can at once; Produce and Fetch wait for the test, which finds them in `waiting`."""

    def __init__(self):
        self.seen = []
        self.waiting = []
        self.error = None

    def __call__(self, context, request):
        self.seen.append((context, request))
        match context.api_key:
            case 18:
                return ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 4), ApiVersion(0, 0, 13)])
            case 12:
                return HeartbeatResponse(error_code=int(request.member_id or 0))
            case 3:
                return MetadataResponse()
        self.waiting.append(Pending())
        return self.waiting[-1]

    @property
    def api_keys(self):
        return [context.api_key for context, _ in self.seen]


@both_loops
def test_a_request_is_answered_with_its_correlation_id(loop):
    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            client.send(HEARTBEAT, 4, 77, beat("5"), client_id="me")
            assert await client.response(HEARTBEAT, 4) == (77, HeartbeatResponse(error_code=5))
        [(context, request)] = dispatch.seen
        assert request == beat("5")
        assert (context.client_id, context.api_key, context.version) == ("me", HEARTBEAT, 4)
        assert context.client.host == "127.0.0.1"

    run(scenario(), loop)


@both_loops
def test_a_thousand_requests_in_one_write_are_answered_in_order(loop):
    async def scenario():
        async with serving(Answering()) as listener, client_of(listener) as client:
            client.write(
                b"".join(encode_request(HEARTBEAT, 4, n, "c", beat(str(n % 100))) for n in range(1000))
            )
            for n in range(1000):
                assert await client.response(HEARTBEAT, 4) == (n, HeartbeatResponse(error_code=n % 100))

    run(scenario(), loop)


@both_loops
def test_a_request_that_comes_byte_by_byte_is_answered(loop):
    async def scenario():
        async with serving(Answering()) as listener, client_of(listener) as client:
            for byte in encode_request(HEARTBEAT, 4, 1, "c", beat("1")) * 2:
                received = listener.metrics.bytes_received
                client.write(bytes([byte]))
                await until(lambda before=received: listener.metrics.bytes_received > before)
            assert await client.response(HEARTBEAT, 4) == (1, HeartbeatResponse(error_code=1))
            assert await client.response(HEARTBEAT, 4) == (1, HeartbeatResponse(error_code=1))

    run(scenario(), loop)


@both_loops
@pytest.mark.parametrize("size", [1000, 70_000, 300_000, 5_000_000])
def test_records_of_any_size_arrive_unharmed(loop, size):
    records = bytes(n * 7 % 251 for n in range(1000)) * (size // 1000)

    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            for n in range(2):
                client.send(PRODUCE, 9, n, produce(records))
                client.send(PRODUCE, 9, n, produce(b"small"))
            await until(lambda: len(dispatch.seen) == 4)
            for n, (_, request) in enumerate(dispatch.seen):
                data = request.topic_data[0].partition_data[0].records
                assert bytes(data) == (b"small" if n % 2 else records)
                assert not data.readonly  # the log patches offsets in place
            for pending in dispatch.waiting:
                pending.complete(ProduceResponse())
            for n in (0, 0, 1, 1):
                assert (await client.response(PRODUCE, 9))[0] == n

    run(scenario(), loop)


@both_loops
def test_responses_leave_in_the_order_of_the_requests_whichever_is_done_first(loop):
    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            for n in range(5):
                client.send(PRODUCE, 9, n, produce(b"x"))
            await until(lambda: len(dispatch.waiting) == 5)
            for n in (3, 1, 4, 0, 2):
                dispatch.waiting[n].complete(ProduceResponse(throttle_time_ms=0))
            assert [(await client.response(PRODUCE, 9))[0] for _ in range(5)] == list(range(5))

    run(scenario(), loop)


@both_loops
def test_a_plain_produce_is_answered_without_the_dispatcher_but_not_before_its_turn(loop):
    """What the short way leaves goes the long way, and behind what waits nothing goes the short one."""

    async def scenario():
        dispatch = Answering()
        asked = []

        def plain(frame, _position, version, now_ms):
            asked.append(int.from_bytes(frame[4:8]))
            assert (version, now_ms > 0) == (9, True)
            return None if asked[-1] == 2 else encode_response(PRODUCE, 9, asked[-1], ProduceResponse())

        async with serving(dispatch) as listener, client_of(listener) as client:
            listener.answer_plain_produce = plain
            for n in range(4):
                client.send(PRODUCE, 9, n, produce(b"x"))
            assert [(await client.response(PRODUCE, 9))[0] for _ in range(2)] == [0, 1]
            await until(lambda: len(dispatch.waiting) == 2)
            assert asked == [0, 1, 2]
            for waiting in dispatch.waiting:
                waiting.complete(ProduceResponse())
            assert [(await client.response(PRODUCE, 9))[0] for _ in range(2)] == [2, 3]
            client.send(PRODUCE, 9, 4, produce(b"x"))
            assert (await client.response(PRODUCE, 9))[0] == 4
            assert listener.metrics.latency[PRODUCE].count == 5

    run(scenario(), loop)


def test_a_request_waits_for_those_of_another_api_before_it():
    """As in Kafka, so that a client sees what its earlier requests have done."""

    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            client.send(PRODUCE, 9, 0, produce(b"x"))
            client.send(METADATA, 9, 1, MetadataRequest())
            client.send(PRODUCE, 9, 2, produce(b"x"))
            async with client_of(listener) as other:
                other.send(HEARTBEAT, 4, 1, beat("0"))
                await other.response(HEARTBEAT, 4)
            assert dispatch.api_keys == [PRODUCE, HEARTBEAT]
            dispatch.waiting[0].complete(ProduceResponse())
            assert (await client.response(PRODUCE, 9))[0] == 0
            assert (await client.response(METADATA, 9))[0] == 1
            await until(lambda: len(dispatch.waiting) == 2)
            dispatch.waiting[1].complete(ProduceResponse())
            assert (await client.response(PRODUCE, 9))[0] == 2

    run(scenario())


def test_acks_0_gets_no_response_at_all():
    """TRAPS: the next response on the connection belongs to the next request."""

    async def scenario():
        def dispatch(context, _):
            return None if context.api_key == PRODUCE else HeartbeatResponse()

        async with serving(dispatch) as listener, client_of(listener) as client:
            for n in range(10):
                client.send(PRODUCE, 9, n, produce(b"x"))
            client.send(HEARTBEAT, 4, 10, beat("0"))
            assert (await client.response(HEARTBEAT, 4))[0] == 10

    run(scenario())


@pytest.mark.parametrize("later", [False, True])
def test_a_handler_may_have_the_connection_closed(later):
    """The only way to tell a producer with acks=0 of an error; what was answered before still arrives."""

    async def scenario():
        def dispatch(context, _):
            if context.api_key == HEARTBEAT:
                return HeartbeatResponse()
            if not later:
                return CLOSE_CONNECTION
            pending = Pending()
            asyncio.get_running_loop().call_soon(pending.complete, CLOSE_CONNECTION)
            return pending

        async with serving(dispatch) as listener, client_of(listener) as client:
            client.send(HEARTBEAT, 4, 1, beat("0"))
            client.send(PRODUCE, 9, 2, produce(b"x"))
            client.send(HEARTBEAT, 4, 3, beat("0"))
            assert (await client.response(HEARTBEAT, 4))[0] == 1
            assert await client.closed() == b""

    run(scenario())


def test_a_pending_completed_with_none_sends_nothing():
    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            client.send(PRODUCE, 9, 0, produce(b"x"))
            client.send(HEARTBEAT, 4, 1, beat("0"))
            await until(lambda: dispatch.waiting)
            dispatch.waiting[0].complete(None)
            assert (await client.response(HEARTBEAT, 4))[0] == 1

    run(scenario())


@pytest.mark.parametrize("version", [5, 99, -1])
def test_api_versions_of_an_unknown_version_is_answered_by_version_0_with_the_whole_list(version):
    async def scenario():
        async with serving(Answering()) as listener, client_of(listener) as client:
            body = (18).to_bytes(2) + version.to_bytes(2, signed=True) + (9).to_bytes(4) + b"whatever follows"
            client.write(len(body).to_bytes(4) + body)
            correlation_id, response = await client.response(API_VERSIONS, 0)
            assert (correlation_id, response.error_code) == (9, 35)
            assert [key.api_key for key in response.api_keys] == [18, 0]
            client.send(API_VERSIONS, 3, 10, ApiVersionsRequest())
            correlation_id, response = await client.response(API_VERSIONS, 3)
            assert (correlation_id, response.error_code) == (10, 0)

    run(scenario())


@pytest.mark.parametrize(("api_key", "version"), [(PRODUCE, 2), (PRODUCE, 99), (FETCH, 3), (HEARTBEAT, 5)])
def test_an_unsupported_version_of_another_api_closes_the_connection(caplog, api_key, version):
    async def scenario():
        async with serving(Answering()) as listener, client_of(listener) as client:
            client.send(HEARTBEAT, 4, 1, beat("0"))
            await client.response(HEARTBEAT, 4)
            body = api_key.to_bytes(2) + version.to_bytes(2) + (9).to_bytes(4) + b"\0\0"
            client.write(len(body).to_bytes(4) + body)
            assert await client.closed() == b""

    run(scenario())
    assert f"API key {api_key} in version {version} is not served" in caplog.text


def test_a_bug_in_a_handler_closes_that_connection_with_its_traceback_and_no_other(caplog):
    async def scenario():
        def dispatch(_, request):
            if request.member_id == "bad":
                raise ZeroDivisionError("a bug")
            return HeartbeatResponse()

        async with serving(dispatch) as listener, client_of(listener) as good, client_of(listener) as bad:
            bad.send(HEARTBEAT, 4, 1, beat("bad"))
            assert await bad.closed() == b""
            good.send(HEARTBEAT, 4, 1, beat("0"))
            await good.response(HEARTBEAT, 4)

    run(scenario())
    assert caplog.text.count("ZeroDivisionError: a bug") == 1


def test_a_response_that_cannot_be_encoded_closes_the_connection(caplog):
    async def scenario():
        async with (
            serving(lambda *_: HeartbeatResponse(error_code=2**40)) as listener,
            client_of(listener) as client,
        ):
            client.send(HEARTBEAT, 4, 1, beat("0"))
            assert await client.closed() == b""

    run(scenario())
    assert "a response could not be sent" in caplog.text


def test_who_waits_for_an_answer_is_told_when_the_client_is_gone():
    async def scenario():
        dispatch = Answering()
        abandoned = []
        async with serving(dispatch) as listener:
            async with client_of(listener) as client:
                for n in range(3):
                    client.send(PRODUCE, 9, n, produce(b"x"))
                await until(lambda: len(dispatch.waiting) == 3)
                for n, pending in enumerate(dispatch.waiting):
                    pending.on_abandoned = lambda n=n: abandoned.append(n)
            await until(lambda: not listener.connections)
            assert abandoned == [0, 1, 2]
            dispatch.waiting[0].complete(ProduceResponse())  # too late, and nobody minds

    run(scenario())


def test_in_flight_requests_are_limited_and_the_rest_stays_in_the_socket():
    async def scenario():
        dispatch = Answering()
        async with serving(dispatch, max_in_flight_requests=3) as listener, client_of(listener) as client:
            for n in range(20):
                client.send(PRODUCE, 9, n, produce(b"x" * 100_000))
            await until(lambda: len(dispatch.waiting) == 3)
            async with client_of(listener) as other:
                other.send(HEARTBEAT, 4, 1, beat("0"))
                await other.response(HEARTBEAT, 4)
            assert len(dispatch.waiting) == 3
            assert listener.metrics.bytes_received < 1_000_000
            for n in range(20):
                await until(lambda n=n: len(dispatch.waiting) > n)
                assert len(dispatch.waiting) <= n + 3
                dispatch.waiting[n].complete(ProduceResponse())
                assert (await client.response(PRODUCE, 9))[0] == n

    run(scenario())


@both_loops
def test_a_throttled_client_is_answered_and_then_not_heard_for_that_time(loop):
    async def scenario():
        dispatch = Answering()
        dispatch.throttle = 0

        async with serving(dispatch) as listener, client_of(listener) as client:
            client.send(PRODUCE, 9, 0, produce(b"x"))
            await until(lambda: dispatch.waiting)
            client.send(HEARTBEAT, 4, 1, beat("0"))
            start = listener.now()
            dispatch.waiting[0].complete(ProduceResponse(throttle_time_ms=60))
            assert (await client.response(PRODUCE, 9))[1].throttle_time_ms == 60
            assert dispatch.api_keys == [PRODUCE]
            assert (await client.response(HEARTBEAT, 4))[0] == 1
            assert listener.now() - start >= 0.059

    run(scenario(), loop)


def fetched(pieces):
    return FetchResponse(
        responses=[
            FetchableTopicResponse(
                topic="t", partitions=[PartitionData(n, records=piece) for n, piece in enumerate(pieces)]
            )
        ]
    )


@both_loops
@pytest.mark.parametrize("sizes", [[10], [0, 1, 2], [300_000, 5], [7, 3_000_000, 9, 1_000_000]])
def test_file_regions_are_sent_between_the_encoded_parts(loop, tmp_path, sizes):
    content = bytes(n * 31 % 253 for n in range(4099)) * 1000
    path = tmp_path / "0.log"
    path.write_bytes(content)

    async def scenario():
        file = OpenFile.read_only(REAL_FILES, path)
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            for n in range(2):
                client.send(FETCH, 12, n, FetchRequest())
                await until(lambda n=n: len(dispatch.waiting) > n)
                regions = [FileRegion(file, 100 + index, size) for index, size in enumerate(sizes)]
                dispatch.waiting[n].complete(fetched(regions))
                correlation_id, response = await client.response(FETCH, 12)
                assert correlation_id == n
                assert [bytes(partition.records) for partition in response.responses[0].partitions] == [
                    content[100 + index : 100 + index + size] for index, size in enumerate(sizes)
                ]

    run(scenario(), loop)


@both_loops
def test_a_client_that_does_not_read_is_not_served_on_and_costs_little_memory(loop, tmp_path):
    path = tmp_path / "0.log"
    path.write_bytes(bytes(8_000_000))

    async def scenario():
        file = OpenFile.read_only(REAL_FILES, path)
        count = 0

        def dispatch(context, _):
            nonlocal count
            if context.api_key == HEARTBEAT:
                return HeartbeatResponse()
            count += 1
            return fetched([FileRegion(file, 0, 8_000_000)])

        async with serving(dispatch) as listener, client_of(listener) as slow, client_of(listener) as quick:
            for n in range(10):
                slow.send(FETCH, 12, n, FetchRequest())
            await until(lambda: any(each.is_blocked for each in listener.connections))
            for n in range(100):
                quick.send(HEARTBEAT, 4, n, beat("0"))
                await quick.response(HEARTBEAT, 4)
            assert count < 5  # what the kernel's own buffers take
            [connection] = [each for each in listener.connections if each.is_blocked]
            assert connection._transport.get_write_buffer_size() < 1_000_000
            for n in range(10):
                assert (await slow.response(FETCH, 12))[0] == n
            assert count == 10

    run(scenario(), loop)


def test_a_region_whose_file_is_too_short_closes_the_connection(caplog, tmp_path):
    path = tmp_path / "0.log"
    path.write_bytes(bytes(100))

    async def scenario():
        file = OpenFile.read_only(REAL_FILES, path)
        async with (
            serving(lambda *_: fetched([FileRegion(file, 0, 200)])) as listener,
            client_of(listener) as client,
        ):
            client.send(FETCH, 12, 1, FetchRequest())
            await client.closed()

    run(scenario())
    assert "ends after 100 of 200 bytes" in caplog.text


def test_draining_answers_what_was_asked_and_closes_who_only_waits():
    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener:
            async with client_of(listener) as producer, client_of(listener) as consumer:
                producer.send(PRODUCE, 9, 1, produce(b"x"))
                consumer.send(FETCH, 12, 1, FetchRequest())
                await until(lambda: len(dispatch.waiting) == 2)
                draining = asyncio.ensure_future(listener.drain(10))
                assert await consumer.closed() == b""
                producer.send(PRODUCE, 9, 2, produce(b"x"))
                [waiting] = [
                    p for p, (c, _) in zip(dispatch.waiting, dispatch.seen, strict=True) if c.api_key == 0
                ]
                waiting.complete(ProduceResponse())
                assert (await producer.response(PRODUCE, 9))[0] == 1
                assert await producer.closed() == b""
                await draining
            assert len(dispatch.seen) == 2

    run(scenario())


def test_draining_gives_up_in_time():
    async def scenario():
        dispatch = Answering()
        async with serving(dispatch) as listener, client_of(listener) as client:
            client.send(PRODUCE, 9, 1, produce(b"x"))
            await until(lambda: dispatch.waiting)
            await listener.drain(0.01)
            assert await client.closed() == b""

    run(scenario())


@pytest.fixture(autouse=True)
def _log_everything(caplog):
    caplog.set_level(logging.DEBUG, logger="distributedlog")
