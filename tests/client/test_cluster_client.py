"""Whom to ask, and asking again."""

import asyncio

import pytest
from tests.client.scripted_broker import Close, Hang, scripted_broker

from distributedlog.client import (
    BrokerError,
    ClientSettings,
    ClusterClient,
    ClusterUnreachable,
    InvalidBootstrap,
    TopicPartition,
)
from distributedlog.wire.k03_metadata import (
    MetadataRequest,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from distributedlog.wire.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

QUICK = ClientSettings(retry_backoff_ms=1, retry_backoff_max_ms=2)


def topic(name, error_code=0, leaders=(1,)):
    partitions = [MetadataResponsePartition(0, index, leader) for index, leader in enumerate(leaders)]
    return MetadataResponseTopic(error_code, name, partitions=partitions)


def test_the_first_bootstrap_address_that_answers_is_taken():
    async def main():
        async with (
            scripted_broker() as broker,
            ClusterClient(f"127.0.0.1:1,{broker.address}", QUICK) as client,
        ):
            assert client.metadata.cluster_id == "scripted"

    asyncio.run(main())


def test_a_cluster_that_cannot_be_reached_is_said_at_once_with_every_address():
    async def main():
        async with ClusterClient("127.0.0.1:1,127.0.0.1:2", QUICK):
            pytest.fail("there is nobody")

    with pytest.raises(ClusterUnreachable, match=r"127\.0\.0\.1:1: connection refused; .*127\.0\.0\.1:2"):
        asyncio.run(main())


def test_a_bad_bootstrap_list_is_refused():
    async def main():
        ClusterClient("host:port")

    with pytest.raises(InvalidBootstrap):
        asyncio.run(main())


def test_what_may_pass_is_tried_again_with_fresh_metadata():
    async def main():
        codes = [6, 5, 0]

        async def attempt():
            await client.by_leader([TopicPartition("t", 0)])
            code = codes.pop(0)
            if code:
                raise BrokerError(code, "work")
            return "done"

        async with scripted_broker() as broker:
            broker.on(MetadataRequest, lambda _: broker.metadata(topics=[topic("t")]))
            async with ClusterClient(str(broker.address), QUICK) as client:
                asked = len(broker.requests)
                assert await client.retrying(attempt) == "done"
                assert len(broker.requests) - asked == 2  # once before each further try

    asyncio.run(main())


def test_what_will_not_pass_is_raised_at_once():
    async def main():
        tries = 0

        async def attempt():
            nonlocal tries
            tries += 1
            raise BrokerError(29, "work")

        async with scripted_broker() as broker, ClusterClient(str(broker.address), QUICK) as client:
            with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
                await client.retrying(attempt)
            assert tries == 1

    asyncio.run(main())


def test_trying_again_ends_with_the_time_for_the_whole_operation():
    async def main():
        async def attempt():
            raise BrokerError(5, "work")

        hasty = ClientSettings(retry_backoff_ms=1, retry_backoff_max_ms=2, default_api_timeout_ms=20)
        async with scripted_broker() as broker, ClusterClient(str(broker.address), hasty) as client:
            with pytest.raises(BrokerError, match=r"work: .*LEADER_NOT_AVAILABLE"):
                await client.retrying(attempt)

    asyncio.run(main())


def test_a_broken_connection_is_made_anew():
    async def main():
        answers = [Close, HeartbeatResponse(error_code=0)]
        async with (
            scripted_broker({HeartbeatRequest: lambda _: answers.pop(0)}) as broker,
            ClusterClient(str(broker.address), QUICK) as client,
        ):
            await client.retrying(lambda: client.ask_node(1, HeartbeatRequest()))
            assert answers == []
            assert broker.connections == 2

    asyncio.run(main())


def test_a_topic_that_does_not_exist_is_an_error_at_once():
    async def main():
        async with scripted_broker() as broker:
            broker.on(MetadataRequest, lambda _: broker.metadata(topics=[topic("t", 3, ())]))
            async with ClusterClient(str(broker.address), QUICK) as client:
                with pytest.raises(BrokerError, match="look up 't': there is no topic of this name"):
                    await client.topics(["t"])

    asyncio.run(main())


def test_a_topic_that_is_being_created_is_waited_for():
    async def main():
        states = [topic("t", 3, ()), topic("t", 5, ()), topic("t")]
        async with scripted_broker() as broker:
            async with ClusterClient(str(broker.address), QUICK) as client:
                broker.on(MetadataRequest, lambda _: broker.metadata(topics=[states.pop(0)]))
                (found,) = await client.topics(["t"], may_create=True)
            assert len(found.partitions) == 1
            asked = [request for request in broker.requests if isinstance(request, MetadataRequest)]
            assert [request.allow_auto_topic_creation for request in asked] == [False, True, True, True]

    asyncio.run(main())


def test_partitions_are_gathered_by_their_leaders_and_one_that_does_not_exist_is_named():
    async def main():
        async with scripted_broker() as broker:
            broker.on(MetadataRequest, lambda _: broker.metadata(topics=[topic("t", leaders=(1, 1))]))
            async with ClusterClient(str(broker.address), QUICK) as client:
                wanted = [TopicPartition("t", 0), TopicPartition("t", 1)]
                assert await client.by_leader(wanted) == {1: wanted}
                with pytest.raises(BrokerError, match="topic 't' has 2 partitions, numbered from 0") as error:
                    await client.by_leader([TopicPartition("t", 2)])
                assert not error.value.is_retriable

    asyncio.run(main())


def test_a_partition_without_a_leader_may_get_one():
    async def main():
        async with scripted_broker() as broker:
            broker.on(MetadataRequest, lambda _: broker.metadata(topics=[topic("t", leaders=(-1,))]))
            async with ClusterClient(str(broker.address), QUICK) as client:
                with pytest.raises(BrokerError, match="LEADER_NOT_AVAILABLE") as error:
                    await client.by_leader([TopicPartition("t", 0)])
                assert error.value.is_retriable

    asyncio.run(main())


def test_a_coordinator_that_moved_is_looked_for_again():
    async def main():
        def coordinator(_):
            found = Coordinator("g", 1, broker.address.host, broker.address.port)
            return FindCoordinatorResponse(coordinators=[found])

        codes = [16, 0]

        async def attempt():
            response = await client.ask_coordinator("g", HeartbeatRequest("g"))
            if response.error_code:
                raise BrokerError(response.error_code, "beat")

        answers = {
            FindCoordinatorRequest: coordinator,
            HeartbeatRequest: lambda _: HeartbeatResponse(error_code=codes.pop(0)),
        }
        async with scripted_broker(answers) as broker, ClusterClient(str(broker.address), QUICK) as client:
            await client.retrying(attempt)
            looked = [request for request in broker.requests if isinstance(request, FindCoordinatorRequest)]
            assert len(looked) == 2

    asyncio.run(main())


def test_what_waits_at_the_broker_has_a_connection_of_its_own():
    async def main():
        async with (
            scripted_broker({HeartbeatRequest: lambda _: Hang}) as broker,
            ClusterClient(str(broker.address), QUICK) as client,
        ):
            poll = asyncio.create_task(client.ask_node(1, HeartbeatRequest(), purpose="fetch"))
            await broker.received(4)  # ApiVersions and Metadata, then ApiVersions and the one that hangs
            await client.ask_node(1, MetadataRequest())
            assert broker.connections == 2
            assert not poll.done()
            poll.cancel()

    asyncio.run(main())
