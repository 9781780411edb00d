"""Idempotent producers of real client libraries over a network that loses, delays, doubles and cuts: every
record is there once, in the order in which it was sent, at the offset that its producer was told."""

import asyncio
import contextlib
import logging

import pytest
from tests.broker_fire.asking import create_topic, records_of
from tests.server.processes import Client, dlog_start

from fault_proxy import ALL_FAULTS, DEADLINE_SECONDS, Fault, FaultProxy

PARTITIONS = 2
RECORDS = 500  # of each partition
TOPIC = "orders"
#: Too small for all that is sent, so that many requests are on their way at once.
BATCH_SIZE = 1000
#: So long a client waits for a response that never comes.
REQUEST_TIMEOUT_MS = 300


@contextlib.contextmanager
def disturbed_broker(path, seed, faults=ALL_FAULTS):
    """A proxy that is the only address of the broker that clients are told."""
    with FaultProxy(seed=seed, faults=faults, share=0.3, faults_max=20) as proxy:
        advertised = f"advertised.listeners=127.0.0.1:{proxy.port}"
        arguments = ("--listen", "127.0.0.1:0", "--set", advertised, "--set", "log.flush=os")
        with dlog_start(*arguments, cwd=path) as process:
            proxy.target_port = process.wait_ready().port
            with Client(process.port) as client:
                create_topic(client, TOPIC, PARTITIONS)
                try:
                    yield proxy, client
                except BaseException as error:
                    process.popen.kill()
                    error.add_note(process.end()[2][-3000:])
                    raise


def value_of(partition, number):
    return b"%d-%06d-" % (partition, number) + b"x" * 100


def sent():
    """(partition, number) in the order of sending."""
    return [(partition, number) for number in range(RECORDS) for partition in range(PARTITIONS)]


def check(proxy, client, told):
    """What the broker has against what was sent and what the producer was told."""
    assert len(proxy.met) > 5, f"hardly anything was disturbed: {proxy.met}"
    for partition in range(PARTITIONS):
        found = records_of(client, TOPIC, partition)
        assert [value for _, value in found] == [value_of(partition, n) for n in range(RECORDS)]
        assert [told[partition, n] for n in range(RECORDS)] == [offset for offset, _ in found]
    for first, second in proxy.doubled:
        assert first == second, "a request that came twice was answered in two ways"


@pytest.mark.parametrize("seed", [1, 2])
def test_confluent_kafka(tmp_path, seed):
    from confluent_kafka import Producer

    told = {}

    def on_delivery(partition, number):
        def delivered(error, message):
            assert error is None, (partition, number, error)
            assert (partition, number) not in told
            told[partition, number] = message.offset()

        return delivered

    with disturbed_broker(tmp_path, seed) as (proxy, client):
        producer = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{proxy.port}",
                "enable.idempotence": True,
                "linger.ms": 0,
                "batch.size": BATCH_SIZE,
                "socket.timeout.ms": REQUEST_TIMEOUT_MS,
                "request.timeout.ms": REQUEST_TIMEOUT_MS,
                "retry.backoff.ms": 10,
                "retry.backoff.max.ms": 50,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 50,
                "log_level": 0,
            },
            logger=logging.getLogger("librdkafka"),
        )
        for partition, number in sent():
            producer.produce(
                TOPIC,
                value_of(partition, number),
                partition=partition,
                on_delivery=on_delivery(partition, number),
            )
        assert producer.flush(DEADLINE_SECONDS) == 0
        check(proxy, client, told)


def test_aiokafka(tmp_path):
    from aiokafka import AIOKafkaProducer

    async def produce(port):
        producer = AIOKafkaProducer(
            bootstrap_servers=f"127.0.0.1:{port}",
            enable_idempotence=True,
            max_batch_size=BATCH_SIZE,
            retry_backoff_ms=10,
        )
        async with asyncio.timeout(DEADLINE_SECONDS), producer:
            waiting = [await producer.send(TOPIC, value_of(*each), partition=each[0]) for each in sent()]
            results = await asyncio.gather(*waiting)
        return {each: result.offset for each, result in zip(sent(), results, strict=True)}

    # Its time for a request is also that for a record's whole delivery: silence would be a lost record.
    faults = [fault for fault in ALL_FAULTS if fault is not Fault.SILENCE]
    with disturbed_broker(tmp_path, seed=3, faults=faults) as (proxy, client):
        check(proxy, client, asyncio.run(produce(proxy.port)))


def test_kafka_python(tmp_path):
    from kafka import KafkaProducer

    with disturbed_broker(tmp_path, seed=4) as (proxy, client):
        producer = KafkaProducer(
            bootstrap_servers=f"127.0.0.1:{proxy.port}",
            enable_idempotence=True,
            linger_ms=0,
            batch_size=BATCH_SIZE,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            retry_backoff_ms=10,
            reconnect_backoff_ms=10,
            reconnect_backoff_max_ms=50,
        )
        try:
            waiting = {each: producer.send(TOPIC, value_of(*each), partition=each[0]) for each in sent()}
            told = {each: future.get(DEADLINE_SECONDS).offset for each, future in waiting.items()}
        finally:
            producer.close(DEADLINE_SECONDS)
        check(proxy, client, told)


def test_every_request_arrives_twice(tmp_path):
    """The proxy repeats each produce request: the broker recognises all of them, and none is stored again."""
    from confluent_kafka import Producer

    with disturbed_broker(tmp_path, seed=5, faults=[Fault.DOUBLE_REQUEST]) as (proxy, client):
        producer = Producer(
            {
                "bootstrap.servers": f"127.0.0.1:{proxy.port}",
                "enable.idempotence": True,
                "linger.ms": 0,
                "batch.size": BATCH_SIZE,
            }
        )
        told = {}
        for each in sent():
            producer.produce(
                TOPIC,
                value_of(*each),
                partition=each[0],
                on_delivery=lambda _, message, each=each: told.setdefault(each, message.offset()),
            )
        assert producer.flush(DEADLINE_SECONDS) == 0
        check(proxy, client, told)
        assert len(proxy.doubled) == len(proxy.met)
