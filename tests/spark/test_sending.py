"""Batches come to lie in the log once and in order, whatever happens to requests and answers."""

import asyncio

import pytest
from tests.spark.sink_tools import SETTINGS, batch_of, committed_records

from distributedlog.client import BrokerError, ClientSettings, ClusterClient, TopicPartition
from distributedlog.client.producer.identity import Identity
from distributedlog.client.topics import create_topic
from distributedlog.spark.sending import Sender, SenderSettings, _Lane, _Sent
from distributedlog.spark.shared_client import ClusterAway
from distributedlog.testing import EmbeddedBroker
from fault_proxy import ALL_FAULTS, FaultProxy


def batches(count, partitions=2):
    return [batch_of("t", number % partitions, b"%d" % number, b"%d'" % number) for number in range(count)]


def by_partition(records):
    """Values as they must lie in each partition one after the other."""
    return [record.value for record in records]


def expected(count, partitions=2):
    return [
        value
        for partition in range(partitions)
        for number in range(partition, count, partitions)
        for value in (b"%d" % number, b"%d'" % number)
    ]


@pytest.mark.parametrize("seed", range(3))
def test_in_order_and_once_through_faults(seed):
    async def send():
        settings = ClientSettings(retry_backoff_ms=1, request_timeout_ms=1_000)
        async with ClusterClient(f"127.0.0.1:{proxy.port}", settings) as client:
            await create_topic(client, "t", partitions=2)
            sender = Sender(client, SenderSettings(400, 1_000, 60_000))
            for start in range(0, 60, 20):
                await sender.put(batches(60)[start : start + 20])
            await sender.flush()
            return await committed_records(client, "t")

    with FaultProxy(seed=seed, faults=ALL_FAULTS, share=0.2, faults_max=20) as proxy:
        config = {"advertised.listeners": f"127.0.0.1:{proxy.port}"}
        with EmbeddedBroker(config) as broker:
            proxy.target_port = int(broker.bootstrap_servers.rpartition(":")[2])
            assert by_partition(asyncio.run(send())) == expected(60)
        assert proxy.met


def test_the_first_batch_goes_alone_until_the_leader_knows_the_producer():
    lane = _Lane(TopicPartition("t", 0))
    lane.waiting.extend([_Sent(memoryview(b""), 1), _Sent(memoryview(b""), 1)])
    assert lane.may_send(Identity(7, 0))
    lane.in_flight.append(lane.waiting.popleft())
    assert not lane.may_send(Identity(7, 0))
    lane.known_producer_id = 7
    assert lane.may_send(Identity(7, 1))
    assert not lane.may_send(Identity(8, 0))


def test_what_the_broker_refuses_is_told_and_what_to_do(bootstrap):
    async def send():
        async with ClusterClient(bootstrap) as client:
            await create_topic(client, "small", configs={"max.message.bytes": "200"})
            sender = Sender(client, SETTINGS)
            await sender.put([batch_of("small", 0, b"x" * 1000)])
            await sender.flush()

    with pytest.raises(BrokerError, match=r"kafka\.batch\.size"):
        asyncio.run(send())


def test_a_broker_that_stays_away_is_told():
    async def send():
        with EmbeddedBroker() as broker:
            client = ClusterClient(broker.bootstrap_servers, ClientSettings(retry_backoff_ms=1))
            await client.refresh(["t"], may_create=True)
        sender = Sender(client, SenderSettings(1 << 20, 1_000, 300))
        await sender.put([batch_of("t", 0, b"1")])
        await sender.flush()

    with pytest.raises(ClusterAway, match="start the query again"):
        asyncio.run(send())


def test_an_identity_that_the_broker_has_lost_is_asked_for_anew(bootstrap):
    """A broker that does not know what came before says so; then a new producer id begins at 0."""

    async def send():
        async with ClusterClient(bootstrap) as client:
            await create_topic(client, "lost")
            sender = Sender(client, SETTINGS)
            await sender.put([batch_of("lost", 0, b"1")])
            await sender.flush()
            for lane in sender._lanes.values():
                lane.sequence += 7  # as if the broker had missed something
            await sender.put([batch_of("lost", 0, b"2"), batch_of("lost", 0, b"3")])
            await sender.flush()
            return await committed_records(client, "lost")

    assert [record.value for record in asyncio.run(send())] == [b"1", b"2", b"3"]
