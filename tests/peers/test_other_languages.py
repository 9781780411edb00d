"""Kafka clients of other languages against our broker: Java, Go, Node."""

import itertools
import time

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from tests.clients import confluent_client
from tests.clients.face import Record
from tests.peers.programs import JAVA_CLIENT, PROGRAMS

from distributedlog.testing import EmbeddedBroker

NOW_MS = time.time_ns() // 1_000_000 - 60_000


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture
def bootstrap(broker):
    return broker.bootstrap_servers


def make_topic(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)


def some_records(count=30):
    """Keys and headers on some, a null value and an empty one, more than a batch's worth of text."""
    return [
        {
            "partition": 0,
            "timestamp": NOW_MS + number,
            "key": f"key-{number}" if number % 3 else None,
            "value": None if number == 7 else "" if number == 8 else f"välue-{number} " * 20,
            "headers": [["number", str(number)], ["empty", ""]] if number % 2 else [],
        }
        for number in range(count)
    ]


def numbered(records):
    return [{**record, "offset": offset} for offset, record in enumerate(records)]


@pytest.mark.parametrize(
    ("writer", "codec"),
    [pytest.param(each, codec, id=f"{each}-{codec}") for each in PROGRAMS for codec in each.codecs],
)
def test_confluent_kafka_reads_what_another_wrote(writer, codec, bootstrap, topic):
    make_topic(bootstrap, topic)
    records = some_records()
    told = writer.run("produce", bootstrap, topic, codec, records=records)
    assert [(each["partition"], each["offset"]) for each in told] == [(0, n) for n in range(len(records))]
    found = confluent_client.consume(bootstrap, topic, len(records))
    assert [
        {
            "partition": 0,
            "offset": each.offset,
            "timestamp": each.timestamp_ms,
            "key": each.key and each.key.decode(),
            "value": None if each.value is None else each.value.decode(),
            "headers": [[name, value.decode()] for name, value in each.headers],
        }
        for each in found
    ] == numbered(records)


@pytest.mark.parametrize("reader", PROGRAMS, ids=str)
def test_another_reads_what_confluent_kafka_wrote(reader, bootstrap, topic):
    """One batch of each of its codecs."""
    make_topic(bootstrap, topic)
    records = some_records()
    for codec in reader.codecs:
        made = [
            Record(
                None if each["value"] is None else each["value"].encode(),
                each["key"] and each["key"].encode(),
                tuple((name, value.encode()) for name, value in each["headers"]),
                each["timestamp"],
            )
            for each in records
        ]
        confluent_client.produce(bootstrap, topic, made, codec=codec)
    expected = numbered(records * len(reader.codecs))
    assert reader.run("consume", bootstrap, topic, len(expected)) == expected


GROUP_KINDS = [(program, "group") for program in PROGRAMS] + [
    (JAVA_CLIENT, "cooperative-group"),
    (JAVA_CLIENT, "new-group"),
]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(one, other, id=f"{one[0]}-{one[1]}-then-{other[0]}-{other[1]}")
        for one, other in itertools.pairwise([*GROUP_KINDS, GROUP_KINDS[0]])
    ],
)
def test_a_group_goes_on_where_a_member_of_another_language_stopped(first, second, bootstrap, topic):
    """Also over the change to the new protocol and back."""
    make_topic(bootstrap, topic)
    (one, its_action), (other, others_action) = first, second
    one.run("produce", bootstrap, topic, "none", records=some_records(12))
    assert [each["offset"] for each in one.run(its_action, bootstrap, topic, topic, 12)] == list(range(12))
    confluent_client.produce(bootstrap, topic, [Record(b"later")] * 3)
    assert [each["offset"] for each in other.run(others_action, bootstrap, topic, topic, 3)] == [12, 13, 14]
    consumer = confluent_client.consumer(bootstrap, topic)
    [committed] = consumer.committed([TopicPartition(topic, 0)], 30)
    consumer.close()
    assert committed.offset == 15


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_topics_are_administered(program, bootstrap, topic):
    [told] = program.run("admin", bootstrap, topic)
    expected = {"created": 3, "retention": "3600000", "altered": "7200000", "grown": 5, "deleted": True}
    assert {name: told[name] for name in expected} == expected
    if program is JAVA_CLIENT:
        assert (told["appended"], told["subtracted"]) == ("delete,compact", "compact")
        assert (told["nodes"], told["log_dirs"]) == (1, 1)


def test_javas_admin_client_sees_offsets_groups_and_producers(bootstrap, topic):
    make_topic(bootstrap, topic)
    JAVA_CLIENT.run("produce", bootstrap, topic, "lz4", records=some_records(10))
    JAVA_CLIENT.run("group", bootstrap, topic, topic, 10)
    [told] = JAVA_CLIENT.run("offsets", bootstrap, topic, topic)
    assert told == {
        "earliest": 0, "latest": 10, "max_timestamp": 9, "committed": 10, "metadata": "by Java",
        "state": "Empty", "low_watermark": 4, "producers": True, "groups": False,
    }  # fmt: skip


def test_java_reads_committed_transactions_only(bootstrap, topic):
    make_topic(bootstrap, topic)
    found = JAVA_CLIENT.run("transact", bootstrap, topic)
    assert [(each["offset"], each["value"]) for each in found] == [(2, "committed")]
