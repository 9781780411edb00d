"""What tests of the sink share: batches made by hand, and what a reader of committed data gets."""

import asyncio
from collections import Counter

from distributedlog.client import ClusterClient, TopicPartition
from distributedlog.client.committed_records import readable_batches
from distributedlog.records import encode_batch
from distributedlog.spark.output_batches import OutputBatch
from distributedlog.spark.sending import SenderSettings
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic

SETTINGS = SenderSettings(request_size_max=1 << 20, request_timeout_ms=10_000, delivery_timeout_ms=30_000)


def batch_of(topic, partition, *values):
    data = encode_batch([(1_700_000_000_000, None, value, ()) for value in values])
    return OutputBatch(TopicPartition(topic, partition), memoryview(bytearray(data)))


async def committed_records(client, topic):
    """All records that a reader of committed data gets, of all partitions."""
    (found,) = await client.topics([topic])
    records = []
    for info in found.partitions:
        records += await _of_partition(client, TopicPartition(topic, info.index))
    return records


async def _of_partition(client, partition):
    records, offset = [], 0
    while True:
        (leader,) = await client.by_leader([partition])
        wanted = FetchPartition(partition.partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=0,
            max_bytes=1 << 24,
            isolation_level=1,
            topics=[FetchTopic(partition.topic, partitions=[wanted])],
        )
        connection = await client.connection_to(leader)
        [answer] = (await connection.request(request, version_max=11)).responses[0].partitions
        assert answer.error_code == 0, answer
        aborted = [(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()]
        before = offset
        for found, next_offset in readable_batches(bytes(answer.records or b""), aborted):
            records += [record for record in found if record.offset >= before]
            offset = next_offset
        if offset == before:
            return records


def committed(bootstrap, topic):
    """The same for tests that block."""

    async def read():
        async with ClusterClient(bootstrap) as client:
            return await committed_records(client, topic)

    return asyncio.run(read())


def values(records):
    return Counter(record.value for record in records)
