"""Records out and in again, against the embedded broker."""

import asyncio

import pytest

from distributedlog.client import BrokerError, TopicPartition
from distributedlog.client.fetcher import Fetcher, FetchSettings
from distributedlog.client.offsets import (
    EARLIEST,
    LATEST,
    MAX_TIMESTAMP,
    OffsetAndTimestamp,
    list_offsets,
    list_offsets_at,
)
from distributedlog.client.partitioner import partition_for_key
from distributedlog.client.sender import ACKS_NONE, SenderSettings, TopicSender
from distributedlog.client.topics import create_topic
from distributedlog.records import Compression, Record


async def read_all(client, topic, partitions=1, settings=None):
    """All records by partition, up to the ends as they are now."""
    places = [TopicPartition(topic, index) for index in range(partitions)]
    ends = await list_offsets_at(client, places, LATEST)
    fetcher = Fetcher(client, await list_offsets_at(client, places, EARLIEST), settings)
    found = {place.partition: [] for place in places}
    for place in places:
        if not ends[place]:
            fetcher.drop(place)
    while fetcher.positions:
        fetched = await fetcher.next()
        found[fetched.partition.partition] += fetched.records
        if fetched.next_offset >= ends[fetched.partition]:
            fetcher.drop(fetched.partition)
    await fetcher.close()
    return found


@pytest.mark.parametrize("compression", list(Compression))
@pytest.mark.parametrize("acks", [-1, 1])
def test_records_come_back_as_they_were(run_with_client, topic, compression, acks):
    async def work(client):
        await create_topic(client, topic)
        records = [
            (b"value", b"key", (("h", b"1"), ("h", None)), 1000),
            (None, b"deleted", (), 1001),
            (b"", None, (), 999),
            (b"x" * 100_000, b"", (), 2000),
        ]
        async with TopicSender(client, topic, SenderSettings(acks, compression)) as sender:
            for record in records:
                await sender.send(*record)
        assert sender.acknowledged_records == 4
        assert sender.acknowledged_bytes == len(b"value" + b"key" + b"deleted") + 100_000
        found = await read_all(client, topic)
        expected = [
            Record(offset, timestamp, key, value, headers)
            for offset, (value, key, headers, timestamp) in enumerate(records)
        ]
        assert found == {0: expected}

    run_with_client(work)


def test_keys_decide_the_partition_and_records_without_one_are_spread(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, partitions=4)
        async with TopicSender(client, topic, SenderSettings(batch_size=500)) as sender:
            for number in range(200):
                await sender.send(b"%d" % number, b"key-%d" % (number % 20))
                await sender.send(b"%d" % number)
        found = await read_all(client, topic, 4)
        assert sum(map(len, found.values())) == 400
        for index, records in found.items():
            assert all(partition_for_key(record.key, 4) == index for record in records if record.key)
            assert any(record.key is None for record in records)
            for key in {record.key for record in records}:
                of_key = [int(record.value) for record in records if record.key == key]
                assert of_key == sorted(of_key)

    run_with_client(work)


def test_more_than_fits_in_memory_is_held_back_and_all_of_it_arrives(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        settings = SenderSettings(batch_size=2_000, buffer_memory=10_000)
        async with TopicSender(client, topic, settings) as sender:
            for number in range(2_000):
                await sender.send(b"%06d" % number)
                assert sender._buffered_bytes < 10_000 + 2_100
        found = await read_all(client, topic)
        assert [int(record.value) for record in found[0]] == list(range(2_000))

    run_with_client(work)


def test_whoever_sends_without_a_pause_leaves_time_for_the_sending(run_with_client, topic):
    """What is buffered stays far below the limit, which nobody waits for here."""

    async def work(client):
        await create_topic(client, topic)
        async with TopicSender(client, topic, SenderSettings(batch_size=2_000)) as sender:
            acknowledged = set()
            for number in range(5_000):
                await sender.send(b"%06d" % number)
                acknowledged.add(sender.acknowledged_records)
            assert len(acknowledged) > 3
        assert sender.acknowledged_records == 5_000

    run_with_client(work)


def test_acks_0_arrives_too(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        async with TopicSender(client, topic, SenderSettings(acks=ACKS_NONE)) as sender:
            await sender.send(b"x")
        fetcher = Fetcher(client, {TopicPartition(topic, 0): 0})
        assert [record.value for record in (await fetcher.next()).records] == [b"x"]
        await fetcher.close()

    run_with_client(work)


def test_hurry_sends_what_is_no_whole_batch(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        async with TopicSender(client, topic) as sender:
            await sender.send(b"x")
            sender.hurry()
            fetcher = Fetcher(client, {TopicPartition(topic, 0): 0})
            assert [record.value for record in (await fetcher.next()).records] == [b"x"]
            await fetcher.close()

    run_with_client(work)


def test_a_batch_that_is_refused_fails_the_sender(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, configs={"max.message.bytes": "1000"})
        sender = await TopicSender(client, topic).__aenter__()
        told = []
        sender.on_failure = told.append
        await sender.send(b"x" * 2000)
        with pytest.raises(BrokerError, match=f"write to {topic}-0: .*MESSAGE_TOO_LARGE"):
            await sender.flush()
        with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
            await sender.send(b"later")
        assert sender.acknowledged_records == 0
        assert [error.name for error in told] == ["MESSAGE_TOO_LARGE"]

    run_with_client(work)


def test_a_topic_is_made_by_writing_to_it_where_that_is_wanted(run_with_client, topic):
    async def work(client):
        with pytest.raises(BrokerError, match="there is no topic of this name"):
            async with TopicSender(client, topic):
                pytest.fail("it must not be made")
        async with TopicSender(client, topic, SenderSettings(may_create_topic=True)) as sender:
            await sender.send(b"x")
        assert len((await read_all(client, topic))[0]) == 1

    run_with_client(work)


def test_a_reader_waits_for_records_to_come(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        fetcher = Fetcher(client, {TopicPartition(topic, 0): 0})
        waiting = asyncio.create_task(fetcher.next())
        async with TopicSender(client, topic) as sender:
            await sender.send(b"x")
        assert (await waiting).next_offset == 1
        await fetcher.close()

    run_with_client(work)


def test_a_reader_in_the_middle_of_a_batch_gets_no_record_from_before(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        async with TopicSender(client, topic, SenderSettings(compression=Compression.ZSTD)) as sender:
            for number in range(10):
                await sender.send(b"%d" % number)
        fetcher = Fetcher(client, {TopicPartition(topic, 0): 7})
        fetched = await fetcher.next()
        assert [record.offset for record in fetched.records] == [7, 8, 9]
        await fetcher.close()

    run_with_client(work)


def test_a_record_larger_than_all_limits_of_a_fetch_comes_all_the_same(run_with_client, topic):
    """KIP-74, from the reader's side."""

    async def work(client):
        await create_topic(client, topic)
        async with TopicSender(client, topic) as sender:
            await sender.send(b"x" * 500_000)
        small = FetchSettings(fetch_max_bytes=1000, max_partition_fetch_bytes=1000)
        assert len((await read_all(client, topic, settings=small))[0][0].value) == 500_000

    run_with_client(work)


def test_an_offset_that_does_not_exist_is_an_error_of_its_own(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        fetcher = Fetcher(client, {TopicPartition(topic, 0): 5})
        with pytest.raises(BrokerError, match=f"read {topic}-0 at offset 5: .*OFFSET_OUT_OF_RANGE"):
            await fetcher.next()
        await fetcher.close()

    run_with_client(work)


def test_offsets_of_moments(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        place = TopicPartition(topic, 0)
        assert await list_offsets(client, {place: LATEST}) == {place: OffsetAndTimestamp(0, -1)}
        async with TopicSender(client, topic, SenderSettings(compression=Compression.LZ4)) as sender:
            for timestamp in (1000, 3000, 2000):
                await sender.send(b"x", timestamp=timestamp)
        for moment, expected in (
            (0, OffsetAndTimestamp(0, 1000)),
            (1000, OffsetAndTimestamp(0, 1000)),
            (1001, OffsetAndTimestamp(1, 3000)),
            (3001, OffsetAndTimestamp(-1, -1)),
            (MAX_TIMESTAMP, OffsetAndTimestamp(1, 3000)),
        ):
            found = await list_offsets(client, {place: moment})
            assert (found[place].offset, found[place].timestamp) == (expected.offset, expected.timestamp)
        assert await list_offsets_at(client, [place], 3001) == {place: 3}
        assert await list_offsets_at(client, [place], EARLIEST) == {place: 0}

    run_with_client(work)


def test_reading_goes_on_after_the_broker_was_restarted(topic):
    from tests.client.conftest import QUICK, ClusterClient

    from distributedlog.testing import EmbeddedBroker

    async def work(broker):
        async with ClusterClient(broker.bootstrap_servers, QUICK) as client:
            await create_topic(client, topic)
            fetcher = Fetcher(client, {TopicPartition(topic, 0): 0})
            async with TopicSender(client, topic) as sender:
                await sender.send(b"before")
                await sender.flush()
                assert (await fetcher.next()).next_offset == 1
                await asyncio.to_thread(broker.restart)
                await sender.send(b"after")
            fetched = await fetcher.next()
            assert [record.value for record in fetched.records] == [b"after"]
            await fetcher.close()

    with EmbeddedBroker() as broker:
        asyncio.run(work(broker))
