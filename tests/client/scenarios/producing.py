"""What a producer promises, on any Kafka cluster: `servers` is a fixture of the module that imports this."""

import asyncio
import threading

import pytest
from tests.client.scenarios.reading import create_topic, delete_topic, records_of

from distributedlog.client.errors import (
    BrokerError,
    BufferFull,
    ClientClosed,
    InvalidOption,
    RecordTooLarge,
    SerialisationFailed,
)
from distributedlog.client.producer.async_producer import AsyncProducer
from distributedlog.client.producer.circuit_breaker import CircuitBreaker
from distributedlog.client.producer.partitioners import by_md5, by_murmur2, by_murmur3
from distributedlog.client.producer.producer import Producer
from distributedlog.client.serialisers import to_json, to_text

PATIENCE = 60


def test_a_record_comes_back_as_it_was(servers, topic):
    with Producer(servers) as producer:
        headers = [("trace", b"1"), ("empty", None)]
        first = producer.send(topic, b"a hat", key=b"ann", headers=headers, timestamp=1_700_000_000_000)
        second = producer.send(topic, None, key=b"ann", timestamp=1_700_000_000_001)
        assert first.result(PATIENCE) == (topic, 0, 0, 1_700_000_000_000)
        assert second.result(PATIENCE) == (topic, 0, 1, 1_700_000_000_001)
    one, other = records_of(servers, topic)
    assert (one.key, one.value, one.timestamp) == (b"ann", b"a hat", 1_700_000_000_000)
    assert one.headers == (("trace", b"1"), ("empty", None))
    assert (other.key, other.value, other.headers) == (b"ann", None, ())


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["all", 1, 0])
def test_many_records_in_order(servers, topic, compression, acks):
    create_topic(servers, topic, 2)
    values = [b"%06d" % number + b"x" * 100 for number in range(2000)]
    with Producer(servers, compression=compression, acks=acks, batch_size=5000) as producer:
        futures = [producer.send(topic, value, partition=number % 2) for number, value in enumerate(values)]
        producer.flush()
        assert all(future.done() for future in futures)
    for partition in range(2):
        records = records_of(servers, topic, partition, end_least=1000)
        assert [record.value for record in records] == values[partition::2]
        if acks != 0:
            told = [future.result().offset for future in futures[partition::2]]
            assert told == [record.offset for record in records]
        else:
            assert futures[0].result().offset == -1


@pytest.mark.parametrize(
    ("name", "choose"), [("default", by_murmur2), ("murmur3", by_murmur3), ("md5", by_md5)]
)
def test_keys_choose_partitions(servers, topic, name, choose):
    create_topic(servers, topic, 5)
    with Producer(servers, partitioner=name) as producer:
        keys = [b"key-%d" % number for number in range(50)] * 2
        futures = [producer.send(topic, b"", key=key) for key in keys]
        assert [future.result(PATIENCE).partition for future in futures] == [
            choose(topic, key, 5) for key in keys
        ]


def test_partitioners_that_do_not_look_at_keys(servers, topic):
    create_topic(servers, topic, 3)
    with Producer(servers, partitioner="round_robin") as producer:
        futures = [producer.send(topic, b"", key=b"same") for _ in range(6)]
        assert [future.result(PATIENCE).partition for future in futures] == [0, 1, 2, 0, 1, 2]
    with Producer(servers, partitioner=lambda topic, key, count: count - 1) as producer:
        assert producer.send(topic, b"").result(PATIENCE).partition == 2
    with Producer(servers, partitioner="sticky", batch_size=500, linger_ms=50) as producer:
        futures = [producer.send(topic, b"x" * 50, key=b"same") for _ in range(300)]
        assert {future.result(PATIENCE).partition for future in futures} == {0, 1, 2}


def test_serialisers_are_plain_callables(servers, topic):
    with Producer(servers, key_serializer=to_text, value_serializer=to_json) as producer:
        producer.send(topic, {"n": 1, "t": "ä"}, key="ann").result(PATIENCE)
        producer.send(topic, None).result(PATIENCE)
        with pytest.raises(SerialisationFailed, match="a value of type set cannot be serialised"):
            producer.send(topic, {1, 2})
    assert [(record.key, record.value) for record in records_of(servers, topic)] == [
        (b"ann", '{"n":1,"t":"ä"}'.encode()),
        (None, None),
    ]


def test_call_backs_come_in_order_and_before_flush_returns(servers, topic):
    told = []
    with Producer(servers) as producer:
        for number in range(100):
            producer.send(
                topic,
                b"",
                on_delivery=lambda metadata, error, number=number: told.append(
                    (number, metadata.offset, error)
                ),
            )
        producer.flush()
        assert told == [(number, number, None) for number in range(100)]


def test_close_delivers_what_was_sent_and_refuses_what_comes_after(servers, topic):
    producer = Producer(servers, linger_ms=60_000)
    future = producer.send(topic, b"last")
    producer.close()
    producer.close()
    assert future.result(0).offset == 0
    with pytest.raises(ClientClosed, match="the producer is closed"):
        producer.send(topic, b"too late")
    with pytest.raises(ClientClosed):
        producer.flush()


def test_a_wait_ends_the_linger(servers, topic):
    with Producer(servers, linger_ms=3_600_000) as producer:
        assert producer.send(topic, b"now").result(PATIENCE).offset == 0


def test_many_threads_send_through_one_producer(servers, topic):
    create_topic(servers, topic, 1)
    with Producer(servers, batch_size=2000, buffer_memory=20_000) as producer:

        def work(name):
            for number in range(500):
                producer.send(topic, b"%d-%d" % (name, number))

        threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        producer.flush()
        assert producer.metrics().records_sent == producer.metrics().records_acknowledged == 2000
        assert producer.metrics().buffered_bytes == 0
    values = [record.value for record in records_of(servers, topic)]
    for name in range(4):
        of_thread = [value for value in values if value.startswith(b"%d-" % name)]
        assert of_thread == [b"%d-%d" % (name, number) for number in range(500)]


def test_the_async_producer_does_the_same(servers, topic):
    async def main():
        async with AsyncProducer(servers, linger_ms=0, compression="zstd") as producer:
            futures = [await producer.send(topic, b"%d" % number) for number in range(500)]
            placed = await asyncio.gather(*futures)
            many = await producer.send_many(topic, [b"a", b"b"], key=b"k", partition=0, timestamp=5)
            assert (await many[1]).timestamp == 5
            await producer.flush()
            assert all(future.done() for future in many)
            return [metadata.offset for metadata in placed]

    assert asyncio.run(main()) == list(range(500))
    assert len(records_of(servers, topic)) == 502


def test_full_memory_blocks_and_then_says_so(servers, topic):
    with Producer(servers, buffer_memory=50_000, batch_size=1000) as producer:
        futures = [producer.send(topic, b"x" * 500) for _ in range(1000)]  # ten times the memory
        producer.flush()
        assert all(future.exception(0) is None for future in futures)
    with Producer(servers, buffer_memory=1000, linger_ms=0, max_block_ms=20) as producer:
        producer.send(topic, b"x").result(PATIENCE)
        with producer._core._accumulator.lock:
            producer._core._accumulator.buffered_bytes += 900
        with pytest.raises(BufferFull, match=r"none were for max_block_ms=20.*raise buffer_memory=1000"):
            producer.send(topic, b"x" * 200)
        producer._core._accumulator.buffered_bytes -= 900


def test_a_record_too_large_for_the_request_or_for_the_topic(servers, topic):
    create_topic(servers, topic, 1, {"max.message.bytes": "2000"})
    with Producer(servers) as producer:
        with pytest.raises(RecordTooLarge, match="raise max_request_size"):
            producer.send(topic, b"x" * 2_000_000)
        with pytest.raises(BrokerError, match=r"max\.message\.bytes is smaller|MESSAGE_TOO_LARGE") as caught:
            producer.send(topic, b"x" * 5000).result(PATIENCE)
        assert caught.value.name == "MESSAGE_TOO_LARGE"


def test_a_batch_too_large_for_the_topic_is_cut(servers, topic):
    create_topic(servers, topic, 1, {"max.message.bytes": "2000"})
    with Producer(servers, linger_ms=50) as producer:
        futures = [producer.send(topic, b"%03d" % number + b"x" * 300) for number in range(100)]
        assert [future.result(PATIENCE).offset for future in futures] == list(range(100))
        assert producer.metrics().batches_split > 0
    assert [int(record.value[:3]) for record in records_of(servers, topic)] == list(range(100))


def test_a_topic_that_nobody_creates(servers, topic):
    with (
        Producer(servers, allow_auto_create_topics=False, max_block_ms=100) as producer,
        pytest.raises(BrokerError, match=r"there is no topic of this name.*create it first"),
    ):
        producer.send(topic, b"")


def test_a_partition_that_is_not_there(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers) as producer:
        with pytest.raises(InvalidOption, match=r"there is no partition 2 of topic .*: it has 2"):
            producer.send(topic, b"", partition=2)
        assert producer.partitions_for(topic) == 2


def test_a_topic_deleted_under_a_producer(servers, topic):
    create_topic(servers, topic, 1)
    with Producer(
        servers, retry_backoff_max_ms=100, allow_auto_create_topics=False, max_block_ms=1000
    ) as producer:
        producer.send(topic, b"").result(PATIENCE)
        delete_topic(servers, topic)
        with pytest.raises(BrokerError, match="the topic has been deleted"):
            producer.send(topic, b"").result(PATIENCE)
        with pytest.raises(BrokerError, match="there is no topic of this name"):
            producer.send(topic, b"")


def test_a_call_back_may_send_but_not_wait(servers, topic):
    seen = []

    def delivered(metadata, error):
        try:
            seen.append(producer.send(topic, b"second"))
            seen[0].result()
        except Exception as failure:  # noqa: BLE001
            seen.append(failure)

    with Producer(servers) as producer:
        producer.send(topic, b"first", on_delivery=delivered).result(PATIENCE)
        producer.flush()
        assert seen[0].result(PATIENCE).offset == 1
        assert "await the future, or use a call-back" in str(seen[1])


def test_a_circuit_breaker_watches_over_sends(servers, topic):
    breaker = CircuitBreaker(failures_max=1)
    with Producer(servers, circuit_breaker=breaker) as producer:
        producer.send(topic, b"").result(PATIENCE)
        breaker.failed()
        with pytest.raises(Exception, match="1 requests failed one after another"):
            producer.send(topic, b"")
