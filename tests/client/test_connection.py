"""One connection, with a broker that does what it should and with one that does not."""

import asyncio
import socket

import pytest
from tests.client.scripted_broker import ALL_APIS, Close, Hang, scripted_broker

from distributedlog.client import (
    Address,
    BrokerError,
    ClientSettings,
    ConnectFailed,
    Connection,
    ConnectionLost,
    RequestTimedOut,
    UnexpectedResponse,
    UnsupportedByBroker,
)
from distributedlog.wire.k00_produce import ProduceRequest
from distributedlog.wire.k03_metadata import MetadataRequest
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
from distributedlog.wire.k18_api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

PATIENT = ClientSettings()
IMPATIENT = ClientSettings(request_timeout_ms=50)


def test_versions_are_agreed_before_the_first_request():
    async def main():
        async with scripted_broker() as broker:
            connection = await Connection.open(broker.address, PATIENT)
            response = await connection.request(MetadataRequest())
            await connection.close()
            assert response.cluster_id == "scripted"
            assert [type(request) for request in broker.requests] == [ApiVersionsRequest, MetadataRequest]
            assert broker.requests[0].client_software_name == "distributedlog"
            assert broker.versions == [4, 13]

    asyncio.run(main())


def test_an_older_broker_is_asked_again_in_its_version():
    def answer(_):
        if len(broker_versions) == 1:
            return ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 2)])
        return ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 2), ApiVersion(3, 0, 5)])

    async def main():
        nonlocal broker_versions
        async with scripted_broker({ApiVersionsRequest: answer}) as broker:
            broker_versions = broker.versions
            connection = await Connection.open(broker.address, PATIENT)
            await connection.request(MetadataRequest())
            await connection.close()
            assert broker.versions == [4, 2, 5]

    broker_versions = []
    asyncio.run(main())


def test_a_broker_that_lists_nothing_is_asked_in_version_0():
    def answer(_):
        is_first = len(versions) == 1
        return ApiVersionsResponse(error_code=35) if is_first else ApiVersionsResponse(api_keys=ALL_APIS)

    async def main():
        nonlocal versions
        async with scripted_broker({ApiVersionsRequest: answer}) as broker:
            versions = broker.versions
            await (await Connection.open(broker.address, PATIENT)).close()
            assert versions == [4, 0]

    versions = []
    asyncio.run(main())


def test_a_broker_that_refuses_every_version_is_an_error_and_no_endless_loop():
    async def main():
        refusal = ApiVersionsResponse(error_code=35, api_keys=[ApiVersion(18, 0, 4)])
        async with scripted_broker({ApiVersionsRequest: lambda _: refusal}) as broker:
            with pytest.raises(BrokerError, match="UNSUPPORTED_VERSION"):
                await Connection.open(broker.address, PATIENT)
            assert broker.versions == [4, 3, 2, 1, 0]

    asyncio.run(main())


def test_an_api_that_the_broker_does_not_serve_is_never_sent():
    async def main():
        hello = ApiVersionsResponse(api_keys=[ApiVersion(18, 0, 4)])
        async with scripted_broker({ApiVersionsRequest: lambda _: hello}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            with pytest.raises(UnsupportedByBroker, match="does not serve metadata"):
                await connection.request(MetadataRequest())
            await connection.close()
            assert len(broker.requests) == 1

    asyncio.run(main())


def test_requests_are_pipelined_and_each_gets_its_own_response():
    async def main():
        go_on = asyncio.Event()

        async def answer(request):
            await go_on.wait()
            return HeartbeatResponse(error_code=request.generation_id)

        async with scripted_broker({HeartbeatRequest: answer}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            requests = asyncio.gather(
                *(connection.request(HeartbeatRequest("g", number)) for number in range(20))
            )
            await broker.received(2)
            assert connection._conversation.in_flight == 20  # all are sent, and none is answered
            go_on.set()
            assert [response.error_code for response in await requests] == list(range(20))
            await connection.close()

    asyncio.run(main())


def test_a_request_given_up_leaves_the_others_undisturbed():
    async def main():
        go_on = asyncio.Event()

        async def answer(request):
            await go_on.wait()
            return HeartbeatResponse(error_code=request.generation_id)

        async with scripted_broker({HeartbeatRequest: answer}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            first = asyncio.create_task(connection.request(HeartbeatRequest("g", 1)))
            second = asyncio.create_task(connection.request(HeartbeatRequest("g", 2)))
            await broker.received(2)
            first.cancel()
            go_on.set()
            assert (await second).error_code == 2
            assert first.cancelled()
            await connection.close()

    asyncio.run(main())


def test_a_broker_that_does_not_answer_costs_the_connection():
    async def main():
        async with scripted_broker({HeartbeatRequest: lambda _: Hang}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            behind = asyncio.create_task(connection.request(HeartbeatRequest()))
            with pytest.raises(RequestTimedOut, match=r"did not answer heartbeat within 0\.05 s") as caught:
                await connection.request(HeartbeatRequest(), timeout_ms=50)
            assert caught.value.is_retriable
            with pytest.raises(ConnectionLost, match="given up"):
                await behind
            assert connection.is_closed
            with pytest.raises(ConnectionLost):
                await connection.request(HeartbeatRequest())
            await connection.close()

    asyncio.run(main())


def test_a_connection_that_ends_fails_all_who_wait():
    async def main():
        async with scripted_broker({HeartbeatRequest: lambda _: Close}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            waiting = [asyncio.create_task(connection.request(HeartbeatRequest())) for _ in range(3)]
            for task in waiting:
                with pytest.raises(ConnectionLost, match="the broker closed it"):
                    await task

    asyncio.run(main())


def test_closing_fails_all_who_wait_and_may_be_repeated():
    async def main():
        async with scripted_broker({HeartbeatRequest: lambda _: Hang}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            waiting = asyncio.create_task(connection.request(HeartbeatRequest()))
            await broker.received(2)
            await connection.close()
            await connection.close()
            with pytest.raises(ConnectionLost):
                await waiting

    asyncio.run(main())


def test_a_server_of_another_kind_is_recognised():
    async def main():
        page = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        async with scripted_broker({ApiVersionsRequest: lambda _: page}) as broker:
            with pytest.raises(UnexpectedResponse, match=f"{broker.address}.*is there a Kafka broker"):
                await Connection.open(broker.address, PATIENT)

    asyncio.run(main())


def test_nobody_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = Address("127.0.0.1", probe.getsockname()[1])
        with pytest.raises(ConnectFailed, match=f"cannot connect to {address}: connection refused"):
            asyncio.run(Connection.open(address, PATIENT))


def test_a_host_that_does_not_exist_is_named():
    with pytest.raises(ConnectFailed, match=r"cannot connect to no-such-host\.invalid:9092: "):
        asyncio.run(Connection.open(Address("no-such-host.invalid", 9092), PATIENT))


def test_whoever_accepts_and_says_nothing_is_given_up():
    async def main():
        async with scripted_broker({ApiVersionsRequest: lambda _: Hang}) as broker:
            with pytest.raises(RequestTimedOut, match="did not answer api_versions"):
                await Connection.open(broker.address, IMPATIENT)

    asyncio.run(main())


def test_acks_0_waits_for_no_response():
    async def main():
        async with scripted_broker({ProduceRequest: lambda _: Hang}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            await connection.send(ProduceRequest())
            await connection.request(MetadataRequest())
            await connection.close()
            assert [type(request) for request in broker.requests[1:]] == [ProduceRequest, MetadataRequest]

    asyncio.run(main())


def test_a_large_request_waits_for_a_slow_broker_to_read():
    async def main():
        async with scripted_broker({HeartbeatRequest: lambda _: HeartbeatResponse()}) as broker:
            connection = await Connection.open(broker.address, PATIENT)
            requests = [connection.request(HeartbeatRequest("g", 1, "m" * 30_000)) for _ in range(200)]
            assert all(response.error_code == 0 for response in await asyncio.gather(*requests))
            await connection.close()
            assert len(broker.requests) == 201

    asyncio.run(main())
