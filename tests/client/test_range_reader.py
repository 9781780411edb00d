import asyncio

import pytest

from distributedlog.client import ClientSettings, ClusterClient, TopicPartition, range_reader
from distributedlog.client.connection_pool import ClusterAccess
from distributedlog.client.errors import BrokerError, ClusterUnreachable
from distributedlog.client.offset_range import OffsetRange, RangeSettings
from distributedlog.client.producer.producer import Producer
from distributedlog.client.range_reader import RangeReader, TopicReplaced
from distributedlog.client.topics import create_topic, delete_topic
from distributedlog.testing import EmbeddedBroker
from fault_proxy import Fault, FaultProxy

FETCH_KEY = 1
QUICK = ClientSettings(retry_backoff_ms=5, retry_backoff_max_ms=50, request_timeout_ms=700)
RECORDS = 5_000


@pytest.fixture(scope="module")
def filled():
    """A broker with one topic of one partition."""
    with EmbeddedBroker({"num.partitions": "1"}) as broker:
        fill(broker.bootstrap_servers, RECORDS)
        yield broker


def fill(bootstrap, count):
    """Batches of about a hundred records."""
    with Producer(bootstrap, batch_size=1_000) as producer:
        for number in range(count):
            producer.send("t", b"%d" % number, partition=0)
        producer.flush()


@pytest.fixture
def access_to():
    """`ClusterAccess` to any broker, closed at the end."""
    made = []

    def make(bootstrap):
        made.append(ClusterAccess(bootstrap, QUICK))
        return made[-1]

    yield make
    for access in made:
        access.close()


@pytest.fixture
def reader_of(access_to):
    def make(bootstrap, start=0, end=RECORDS, *, partition=("t", 0), topic_id=bytes(16), **settings):
        wanted = OffsetRange(TopicPartition(*partition), start, end, topic_id)
        settings = {"columns": ["value"], "patience_ms": 20_000, **settings}
        return RangeReader(access_to(bootstrap), wanted, RangeSettings(**settings))

    return make


def numbers(reader):
    return [int(value) for batch in reader for value in batch["value"].to_pylist()]


def test_a_range_is_read_to_the_record(filled, reader_of):
    for start, end in ((0, RECORDS), (1, 2), (1234, 4321), (7, 7)):
        reader = reader_of(filled.bootstrap_servers, start, end, fetch_bytes=5_000)
        assert numbers(reader) == list(range(start, end))
        assert reader.position == end


@pytest.mark.parametrize("seed", range(3))
def test_breaks_on_the_way_cost_no_record_and_double_none(seed, reader_of):
    faults = (Fault.LOSE_REQUEST, Fault.LOSE_RESPONSE, Fault.HALF_RESPONSE, Fault.SILENCE, Fault.DELAY)
    with FaultProxy(
        seed=seed, faults=faults, share=0.5, faults_max=10, api_keys=(FETCH_KEY,), delay=0.02
    ) as proxy:
        with EmbeddedBroker({"advertised.listeners": f"127.0.0.1:{proxy.port}"}) as broker:
            proxy.target_port = int(broker.bootstrap_servers.rpartition(":")[2])
            fill(f"127.0.0.1:{proxy.port}", 10_000)
            reader = reader_of(f"127.0.0.1:{proxy.port}", end=10_000, fetch_bytes=2_000)
            assert numbers(reader) == list(range(10_000))
        assert len(proxy.met) == 10


def test_a_broker_that_was_away_is_waited_for(tmp_path, reader_of):
    with EmbeddedBroker(directory=tmp_path) as broker:
        fill(broker.bootstrap_servers, 2_000)
        reader = reader_of(broker.bootstrap_servers, end=2_000, fetch_bytes=2_000)
        batches = iter(reader)
        first = next(batches)
        broker.stop()
        broker.start()
        rest = [int(value) for batch in batches for value in batch["value"].to_pylist()]
        assert [int(value) for value in first["value"].to_pylist()] + rest == list(range(2_000))


def test_a_broker_that_stays_away_ends_the_patience(tmp_path, reader_of):
    with EmbeddedBroker(directory=tmp_path) as broker:
        fill(broker.bootstrap_servers, 1)
        bootstrap = broker.bootstrap_servers
    with pytest.raises(ClusterUnreachable, match="connection refused"):
        numbers(reader_of(bootstrap, end=1, patience_ms=100))


def test_what_is_gone_is_told(filled, reader_of, monkeypatch):
    monkeypatch.setattr(range_reader, "_GONE_PATIENCE_MS", 50)
    with pytest.raises(BrokerError, match="OFFSET_OUT_OF_RANGE"):
        numbers(reader_of(filled.bootstrap_servers, RECORDS + 5, RECORDS + 9))
    with pytest.raises(TopicReplaced, match="made anew"):
        numbers(reader_of(filled.bootstrap_servers, topic_id=b"\1" * 16))
    with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
        numbers(reader_of(filled.bootstrap_servers, partition=("nowhere", 0)))


def test_a_topic_made_anew_is_known_by_its_id(access_to):
    """A worker that has read the old topic is asked for the new one."""

    async def make_anew(bootstrap):
        async with ClusterClient(bootstrap, QUICK) as client:
            await delete_topic(client, "t")
            return (await create_topic(client, "t", partitions=1)).topic_id

    with EmbeddedBroker({"num.partitions": "1"}) as broker:
        bootstrap = broker.bootstrap_servers
        fill(bootstrap, 10)
        access = access_to(bootstrap)
        place, settings = TopicPartition("t", 0), RangeSettings(columns=["value"])
        assert numbers(RangeReader(access, OffsetRange(place, 0, 10), settings)) == list(range(10))
        topic_id = asyncio.run(make_anew(bootstrap))
        fill(bootstrap, 3)
        wanted = OffsetRange(place, 0, 3, topic_id)
        assert numbers(RangeReader(access, wanted, settings)) == [0, 1, 2]


def test_an_end_behind_the_log_is_waited_for_and_told(filled, reader_of):
    reader = reader_of(filled.bootstrap_servers, RECORDS - 1, RECORDS + 1, patience_ms=1)
    with pytest.raises(BrokerError, match=f"can be read up to {RECORDS} only"):
        numbers(reader)
    assert reader.position == RECORDS


def test_connections_are_used_again_and_an_abandoned_one_is_not(filled, access_to):
    access = access_to(filled.bootstrap_servers)
    settings = RangeSettings(columns=["value"], fetch_bytes=2_000)

    def reader():
        return RangeReader(access, OffsetRange(TopicPartition("t", 0), 0, RECORDS), settings)

    numbers(reader())
    node, _ = access.leader_of(TopicPartition("t", 0))
    connection = access.take(node.address)
    access.put_back(connection)
    abandoned = iter(reader())
    next(abandoned)
    abandoned.close()  # its next response is on its way and nobody will take it
    another = access.take(node.address)
    assert another is not connection
    access.put_back(another)
    assert numbers(reader()) == list(range(RECORDS))
