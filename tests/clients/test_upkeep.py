"""Compaction and retention at work while clients write and read."""

import pytest
from tests.broker_fire.asking import create_topic, end_offset, whole_records_of
from tests.clients import confluent_client
from tests.clients.conftest import SETTINGS
from tests.clients.face import Record
from tests.server.processes import Client, eventually

from distributedlog.testing import EmbeddedBroker
from distributedlog.wire.k02_list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

EARLIEST = -2
#: The smallest that Kafka allows.
SEGMENT = {"segment.bytes": str(1024 * 1024)}
KEYS = 50


@pytest.fixture(scope="module")
def busy_broker():
    """One that looks after its logs all the time."""
    settings = {"log.cleaner.backoff.ms": "50", "log.retention.check.interval.ms": "50"}
    with EmbeddedBroker({**SETTINGS, **settings}) as running:
        yield running


@pytest.fixture
def bootstrap(busy_broker):
    return busy_broker.bootstrap_servers


@pytest.fixture
def ask(bootstrap):
    with Client(int(bootstrap.rpartition(":")[2])) as client:
        yield client


def log_start(ask, topic):
    wanted = ListOffsetsTopic(topic, [ListOffsetsPartition(0, -1, EARLIEST)])
    [answer] = ask.ask(2, 7, ListOffsetsRequest(topics=[wanted])).topics[0].partitions
    return answer.offset


def written(bootstrap, topic, first, count, size=5_000):
    """Records of fifty keys in turn; what was written last of each key."""
    records = [
        Record(b"%d-" % number + bytes(size), b"key-%d" % (number % KEYS))
        for number in range(first, first + count)
    ]
    assert confluent_client.produce(bootstrap, topic, records)[0] == first
    return {record.key: record.value for record in records}


def read_to(bootstrap, topic, last_offset):
    """(offset, key, value) of what a new member of a group reads, from the beginning to this offset."""
    reader = confluent_client.consumer(bootstrap, topic)
    reader.subscribe([topic])
    found = []

    def is_read():
        found.extend(
            (message.offset(), message.key(), message.value())
            for message in reader.consume(500, 0.2)
            if not message.error()
        )
        return found and found[-1][0] >= last_offset

    eventually(is_read)
    reader.close()
    return found


def test_the_cleaner_leaves_the_last_of_each_key_while_a_client_writes(bootstrap, ask, topic):
    create_topic(ask, topic, configs={"cleanup.policy": "compact", **SEGMENT})
    total = 1_200
    written(bootstrap, topic, 0, total // 2)
    last = written(bootstrap, topic, total // 2, total // 2)
    eventually(lambda: len(whole_records_of(ask, topic, 0)) < total * 2 / 3)
    # Its successor finds what it left.
    last |= written(bootstrap, topic, total, KEYS)
    total += KEYS
    left = read_to(bootstrap, topic, total - 1)
    # The cleaner is still at work: what it has not come to is there yet, and the last of each key always is.
    assert {key: value for _, key, value in left} == last
    offsets = [offset for offset, _, _ in left]
    assert offsets == sorted(set(offsets))
    # Offsets do not change: each record is where it was written, and the end where it was.
    assert all(value.startswith(b"%d-" % offset) for offset, _, value in left)
    assert end_offset(ask, topic, 0) == total


def test_tombstones_take_their_keys_away_and_go_themselves(bootstrap, ask, topic):
    configs = {"cleanup.policy": "compact", "delete.retention.ms": "0", **SEGMENT}
    create_topic(ask, topic, configs={**configs, "min.cleanable.dirty.ratio": "0.01"})
    confluent_client.produce(bootstrap, topic, [Record(b"v", b"gone"), Record(None, b"gone")])

    def is_gone():
        """The time to live of a tombstone begins with the first compaction: there has to be a second."""
        confluent_client.produce(bootstrap, topic, [Record(bytes(5_000), b"other")] * 250)
        return all(record.key != b"gone" for record in whole_records_of(ask, topic, 0))

    eventually(is_gone)


def test_retention_takes_old_segments_while_clients_write_and_read(bootstrap, ask, topic):
    """A reader behind the start is sent to where it is now, as it asked for; what is left has no holes."""
    create_topic(ask, topic, configs={"retention.bytes": str(2 * 1024 * 1024), **SEGMENT})
    total = 0

    def has_lost_its_beginning():
        nonlocal total
        written(bootstrap, topic, total, 300)
        total += 300
        return log_start(ask, topic) > 0

    eventually(has_lost_its_beginning)
    found = [offset for offset, _, _ in read_to(bootstrap, topic, total - 1)]
    assert found == list(range(found[0], total))
    assert found[0] >= 1


def test_retention_by_time_empties_a_topic_that_nobody_writes_to(bootstrap, ask, topic):
    create_topic(ask, topic, configs={"retention.ms": "100"})
    confluent_client.produce(bootstrap, topic, [Record(b"v")] * 10)
    eventually(lambda: log_start(ask, topic) == 10)
    assert confluent_client.produce(bootstrap, topic, [Record(b"v")]) == [10]
