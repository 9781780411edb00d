"""Idempotent sends over a network that cuts, delays, loses, doubles, garbles: all once, in order."""

import asyncio
import contextlib

import pyarrow as pa
import pytest
from tests.client.scenarios.reading import create_topic, records_of

from distributedlog.client.errors import DeliveryTimedOut
from distributedlog.client.producer.async_producer import AsyncProducer
from distributedlog.client.producer.producer import Producer
from distributedlog.testing import EmbeddedBroker
from fault_proxy import DEADLINE_SECONDS, Fault, FaultProxy

PARTITIONS = 3
RECORDS = 400  # of each partition
QUICK = {"retry_backoff_ms": 5, "retry_backoff_max_ms": 50, "request_timeout_ms": 300, "batch_size": 1000}


@contextlib.contextmanager
def disturbed_broker(topic, seed, faults=tuple(Fault), share=0.3, faults_max=30):
    """(the proxy, which is all that clients see of the broker; the broker)."""
    with FaultProxy(seed=seed, faults=faults, share=share, faults_max=faults_max, delay=0.02) as proxy:
        config = {"advertised.listeners": f"127.0.0.1:{proxy.port}"}
        with EmbeddedBroker(config) as broker:
            proxy.target_port = port_of(broker)
            create_topic(f"127.0.0.1:{proxy.port}", topic, PARTITIONS)
            yield proxy, broker


def port_of(broker):
    return int(broker.bootstrap_servers.rpartition(":")[2])


def producer_for(proxy, **options):
    return Producer(f"127.0.0.1:{proxy.port}", **{**QUICK, **options})


def value_of(partition, number):
    return b"%d-%06d-" % (partition, number) + b"x" * 100


def check(proxy, topic, told):
    """What the broker has against what was sent and what the producer was told."""
    assert len(proxy.met) > 10, f"hardly anything was disturbed: {proxy.met}"
    for partition in range(PARTITIONS):
        found = records_of(f"127.0.0.1:{proxy.port}", topic, partition)
        assert [record.value for record in found] == [value_of(partition, n) for n in range(RECORDS)]
        assert [told[partition, n] for n in range(RECORDS)] == [record.offset for record in found]


@pytest.mark.parametrize("seed", range(6))
def test_every_record_is_there_once_and_in_order(topic, seed):
    with disturbed_broker(topic, seed) as (proxy, _):
        with Producer(f"127.0.0.1:{proxy.port}", **QUICK) as producer:
            futures = {
                (partition, number): producer.send(topic, value_of(partition, number), partition=partition)
                for number in range(RECORDS)
                for partition in range(PARTITIONS)
            }
            told = {place: future.result(DEADLINE_SECONDS).offset for place, future in futures.items()}
        check(proxy, topic, told)


def test_the_async_producer_stands_it_too(topic):
    async def produce(port):
        async with asyncio.timeout(DEADLINE_SECONDS), AsyncProducer(f"127.0.0.1:{port}", **QUICK) as producer:
            futures = {}
            for number in range(RECORDS):
                for partition in range(PARTITIONS):
                    value = value_of(partition, number)
                    futures[partition, number] = await producer.send(topic, value, partition=partition)
            return {place: (await future).offset for place, future in futures.items()}

    with disturbed_broker(topic, 77) as (proxy, _):
        check(proxy, topic, asyncio.run(produce(proxy.port)))


def test_a_broker_that_goes_away_and_comes_back(topic):
    with disturbed_broker(topic, 1, faults=()) as (proxy, broker), producer_for(proxy) as producer:
        futures = []
        for number in range(300):
            futures.append(producer.send(topic, b"%d" % number, partition=0))
            if number % 100 == 50:
                futures[-1].result(DEADLINE_SECONDS)
                broker.stop()
            if number % 100 == 80:
                broker.start()
                proxy.target_port = port_of(broker)
        assert [future.result(DEADLINE_SECONDS).offset for future in futures] == list(range(300))


def test_futures_end_when_no_broker_comes_back(topic):
    with disturbed_broker(topic, 1, faults=()) as (proxy, broker):
        impatient = producer_for(proxy, delivery_timeout_ms=400)
        with impatient as producer:
            producer.send(topic, b"").result(DEADLINE_SECONDS)
            broker.stop()
            futures = [producer.send(topic, b"%d" % number) for number in range(50)]
            for future in futures:
                error = future.exception(DEADLINE_SECONDS)
                assert isinstance(error, DeliveryTimedOut)
                assert "not acknowledged within delivery_timeout_ms=400; the last error was" in str(error)


def test_after_a_time_out_the_next_records_arrive_once(topic):
    """What was given up leaves a gap in the sequence, or none: the broker's word decides."""
    with disturbed_broker(topic, 3, faults=[Fault.SILENCE], share=1, faults_max=2) as (proxy, _):
        with Producer(f"127.0.0.1:{proxy.port}", **{**QUICK, "delivery_timeout_ms": 100}) as producer:
            lost = [producer.send(topic, b"lost-%d" % number, partition=0) for number in range(5)]
            assert all(future.exception(DEADLINE_SECONDS) for future in lost)
        with Producer(f"127.0.0.1:{proxy.port}", **QUICK) as producer:
            kept = [producer.send(topic, b"kept-%d" % number, partition=0) for number in range(5)]
            for future in kept:
                future.result(DEADLINE_SECONDS)
        values = [record.value for record in records_of(f"127.0.0.1:{proxy.port}", topic)]
        assert [value for value in values if value.startswith(b"kept")] == [b"kept-%d" % n for n in range(5)]
        assert len(values) == len(set(values))


def test_tables_arrive_once_and_in_order_too(topic):
    """Three partitions, a batch of some rows for each chunk: a retry sends the same bytes again."""
    with disturbed_broker(topic, 21) as (proxy, _):
        values = [value_of(place % PARTITIONS, place // PARTITIONS) for place in range(RECORDS * PARTITIONS)]
        places = [place % PARTITIONS for place in range(RECORDS * PARTITIONS)]
        with producer_for(proxy, table_batch_size=1500) as producer:
            table = pa.table({"value": values, "partition": places})
            metadata = producer.send_table(topic, table).result(DEADLINE_SECONDS)
        assert {got.rows for got in metadata.partitions.values()} == {RECORDS}
        check(proxy, topic, {(partition, n): n for partition in range(PARTITIONS) for n in range(RECORDS)})
