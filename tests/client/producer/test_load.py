"""Where the leader has least to do: scores, and the choice between two."""

import asyncio
import json
import time

import pytest

from distributedlog import Producer
from distributedlog.client.errors import InvalidOption
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.producer.lane import Lane
from distributedlog.client.producer.load import LoadWatch, scores_of
from distributedlog.client.producer.partitioners import by_murmur2
from distributedlog.client.producer.settings import ProducerSettings
from distributedlog.testing import EmbeddedBroker


def broker(node_id, *, processor=0.0, memory=100, free=100, records=0.0):
    load = {
        "processor_share": processor,
        "memory_bytes": memory,
        "disk_total_bytes": 100,
        "disk_free_bytes": free,
        "records_per_second": records,
    }
    return {"id": node_id, "load": load}


def lanes_of(*leaders):
    return [Lane(None, TopicPartition("t", index), leader) for index, leader in enumerate(leaders)]


def test_each_part_of_the_score_has_its_weight():
    scores = scores_of(
        [
            broker(1, memory=200),
            broker(2, processor=1.0),
            broker(3, free=0),
            broker(4, records=10_000),
        ]
    )
    assert scores == pytest.approx({1: 0.3, 2: 0.4 + 0.15, 3: 0.15 + 0.2, 4: 0.15 + 0.1})
    assert scores_of([]) == {}


def test_of_two_leaders_the_one_with_less_to_do_is_taken():
    watch = LoadWatch("localhost:1", 5)
    watch.scores = {1: 0.9, 2: 0.1}
    lanes = lanes_of(1, 2, 1, None, 2)
    assert {watch.choose(lanes).partition.partition for _ in range(100)} == {1, 4}


def test_of_many_leaders_only_the_busiest_gets_nothing():
    watch = LoadWatch("localhost:1", 5)
    watch.scores = {1: 0.1, 2: 0.5, 3: 0.9}
    chosen = {watch.choose(lanes_of(1, 2, 3)).leader_id for _ in range(300)}
    assert chosen == {1, 2}


def test_without_scores_or_leaders_any_will_do():
    watch = LoadWatch("localhost:1", 5)
    assert {watch.choose(lanes_of(1, 2)).leader_id for _ in range(100)} == {1, 2}
    assert watch.choose(lanes_of(None, None)).leader_id is None


def test_the_brokers_are_asked_and_who_does_not_answer_is_left_out():
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"brokers": [broker(7, processor=1.0)]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        watch = LoadWatch(f"127.0.0.1:{port},127.0.0.1:1", 5)
        await watch.ask()
        server.close()
        await server.wait_closed()
        return watch.scores

    assert asyncio.run(main()) == pytest.approx({7: 0.7})


def test_the_option_and_the_partitioner_need_each_other():
    for options in ({"partitioner": "load_aware"}, {"metadata_api": "localhost:1"}):
        with pytest.raises(InvalidOption, match="need each other"):
            ProducerSettings(**options)
    ProducerSettings(partitioner="load_aware", metadata_api="localhost:1")


def test_our_broker_tells_its_load_and_the_producer_asks_for_it(topic):
    config = {"metrics.listener": "127.0.0.1:0"}
    with (
        EmbeddedBroker(config) as broker,
        Producer(
            broker.bootstrap_servers,
            partitioner="load_aware",
            metadata_api=broker.metrics_address,
            metadata_api_interval_ms=10,
        ) as producer,
    ):
        deadline = time.monotonic() + 60
        while not producer._core._load.scores:
            assert time.monotonic() < deadline
        assert producer.send(topic, b"").result(60).offset == 0
        keyed = producer.send(topic, b"", key=b"k").result(60)
        assert keyed.partition == by_murmur2(topic, b"k", producer.partitions_for(topic))
