"""Records that a producer wrote are read again, against the embedded broker."""

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
from distributedlog.client.producer.async_producer import AsyncProducer
from distributedlog.client.topics import create_topic
from distributedlog.records import Compression, Record


def producer_of(client, **options):
    return AsyncProducer(client._bootstrap, **options)


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
        async with producer_of(client, acks=acks, compression=compression.name.lower()) as producer:
            for value, key, headers, timestamp in records:
                await producer.send(topic, value, key=key, headers=headers, timestamp=timestamp)
        found = await read_all(client, topic)
        expected = [
            Record(offset, timestamp, key, value, headers)
            for offset, (value, key, headers, timestamp) in enumerate(records)
        ]
        assert found == {0: expected}

    run_with_client(work)


def test_a_reader_waits_for_records_to_come(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        fetcher = Fetcher(client, {TopicPartition(topic, 0): 0})
        waiting = asyncio.create_task(fetcher.next())
        async with producer_of(client) as producer:
            await producer.send(topic, b"x")
        assert (await waiting).next_offset == 1
        await fetcher.close()

    run_with_client(work)


def test_a_reader_in_the_middle_of_a_batch_gets_no_record_from_before(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        async with producer_of(client, compression="zstd") as producer:
            for number in range(10):
                await producer.send(topic, b"%d" % number)
        fetcher = Fetcher(client, {TopicPartition(topic, 0): 7})
        fetched = await fetcher.next()
        assert [record.offset for record in fetched.records] == [7, 8, 9]
        await fetcher.close()

    run_with_client(work)


def test_a_record_larger_than_all_limits_of_a_fetch_comes_all_the_same(run_with_client, topic):
    """KIP-74, from the reader's side."""

    async def work(client):
        await create_topic(client, topic)
        async with producer_of(client) as producer:
            await producer.send(topic, b"x" * 500_000)
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
        async with producer_of(client, compression="lz4") as producer:
            for timestamp in (1000, 3000, 2000):
                await producer.send(topic, b"x", timestamp=timestamp)
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
            async with producer_of(client) as producer:
                await producer.send(topic, b"before")
                await producer.flush()
                assert (await fetcher.next()).next_offset == 1
                await asyncio.to_thread(broker.restart)
                await producer.send(topic, b"after")
            fetched = await fetcher.next()
            assert [record.value for record in fetched.records] == [b"after"]
            await fetcher.close()

    with EmbeddedBroker() as broker:
        asyncio.run(work(broker))
