"""Our producer among the others: its records read by all of them, its partitions theirs, in every codec."""

import pyarrow as pa
import pytest
from tests.client.scenarios.reading import create_topic, records_of
from tests.clients import confluent_client
from tests.clients.clients import CLIENTS
from tests.clients.test_records import CODECS, some_records

from distributedlog import Producer
from distributedlog.client.producer.partitioners import by_murmur2

PATIENCE = 60
#: What the Java client chooses among 7 partitions: of Apache Kafka's own test vectors of the hash.
JAVA_CHOOSES = {
    b"21": 3,
    b"foobar": 0,
    b"a-little-bit-long-string": 1,
    b"a-little-bit-longer-string": 0,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": 3,
    b"abc": 4,
}


@pytest.mark.parametrize("codec", CODECS, ids=str)
@pytest.mark.parametrize("way", ["send", "send_table"])
def test_every_library_reads_what_ours_wrote(codec, way, bootstrap, topic):
    create_topic(bootstrap, topic)
    records = some_records()
    with Producer(bootstrap, compression=codec or "none") as producer:
        if way == "send":
            for record in records:
                producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    headers=record.headers,
                    timestamp=record.timestamp_ms,
                )
        else:
            producer.send_table(topic, table_of(records)).result(PATIENCE)
    for reader in CLIENTS.values():
        found = reader.consume(bootstrap, topic, len(records))
        assert [each.as_record() for each in found] == records


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_ours_reads_what_every_library_wrote(library, codec, bootstrap, topic):
    create_topic(bootstrap, topic)
    records = some_records()
    library.produce(bootstrap, topic, records, codec=codec)
    found = records_of(bootstrap, topic)
    assert [(each.key, each.value, each.headers, each.timestamp) for each in found] == [
        (each.key, each.value, each.headers, each.timestamp_ms) for each in records
    ]


def table_of(records):
    headers = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    return pa.table(
        {
            "value": [record.value for record in records],
            "key": pa.array([record.key for record in records], pa.binary()),
            "headers": pa.array([list(record.headers) for record in records], headers),
            "timestamp": [record.timestamp_ms for record in records],
        }
    )


def test_the_partitions_are_javas():
    assert {key: by_murmur2("t", key, 7) for key in JAVA_CHOOSES} == JAVA_CHOOSES


def test_all_libraries_and_both_ways_of_ours_choose_the_same_partition(bootstrap, topic):
    """librdkafka, aiokafka and kafka-python, whose own tests say that they follow Java."""
    create_topic(bootstrap, topic, 7)
    keys = [*JAVA_CHOOSES, *(b"key-%d" % number for number in range(40)), b"", bytes(range(256))]
    expected = {key: by_murmur2(topic, key, 7) for key in keys}
    assert by_librdkafka(bootstrap, topic, keys) == expected
    assert by_aiokafka(keys) == by_kafka_python(keys) == expected
    with Producer(bootstrap) as producer:
        futures = {key: producer.send(topic, b"", key=key) for key in keys}
        assert {key: future.result(PATIENCE).partition for key, future in futures.items()} == expected
        name = f"{topic}.table"
        create_topic(bootstrap, name, 7)
        producer.send_table(name, pa.table({"value": keys, "key": keys})).result(PATIENCE)
    found = {record.key: index for index in range(7) for record in records_of(bootstrap, name, index)}
    assert found == expected


def by_librdkafka(bootstrap, topic, keys):
    chosen = {}
    producer = confluent_client.producer(bootstrap, partitioner="murmur2_random")
    for key in keys:
        producer.produce(
            topic,
            b"",
            key,
            on_delivery=lambda error, message, key=key: chosen.__setitem__(key, message.partition()),
        )
    assert producer.flush(PATIENCE) == 0
    return chosen


def by_aiokafka(keys):
    from aiokafka.partitioner import DefaultPartitioner

    return {key: DefaultPartitioner()(key, list(range(7)), list(range(7))) for key in keys}


def by_kafka_python(keys):
    from kafka.partitioner.default import DefaultPartitioner

    class Cluster:
        def topics(self):
            return {"t"}

        def partitions_for_topic(self, _):
            return set(range(7))

        available_partitions_for_topic = partitions_for_topic

    choose = DefaultPartitioner().partition
    return {key: choose("t", key, key, b"", b"", Cluster()) for key in keys}
