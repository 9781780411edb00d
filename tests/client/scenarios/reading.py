"""What scenarios look at a cluster with: not the client that they test, where it can be another's."""

import asyncio

from distributedlog.client import ClientSettings, ClusterClient, TopicPartition, topics
from distributedlog.client.fetcher import Fetcher, FetchSettings
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at

PATIENCE = 60
QUICK = ClientSettings(retry_backoff_ms=5, retry_backoff_max_ms=50)


def on_cluster(servers, work):
    async def main():
        async with ClusterClient(servers, QUICK) as client:
            return await work(client)

    return asyncio.run(main())


def create_topic(servers, name, partitions=1, configs=None):
    async def work(client):
        await topics.create_topic(client, name, partitions=partitions, configs=configs)
        await client.topics([name], may_create=True)
        # A leader that does not know yet that it is one drops what comes with acks=0.
        await list_offsets_at(client, [TopicPartition(name, index) for index in range(partitions)], LATEST)

    on_cluster(servers, work)


def delete_topic(servers, name):
    on_cluster(servers, lambda client: topics.delete_topic(client, name))


def records_of(servers, topic, partition=0, *, is_committed=False, end_least=0):
    """All records of a partition, as it is now, or when it has got as far as `end_least`."""
    place = TopicPartition(topic, partition)

    async def find_end(client):
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await list_offsets_at(client, [place], LATEST, is_read_committed=is_committed)
                if found[place] >= end_least:
                    return found[place]

    async def work(client):
        end = await find_end(client)
        start = await list_offsets_at(client, [place], EARLIEST)
        fetcher = Fetcher(client, start, FetchSettings(is_read_committed=is_committed))
        found = []
        while fetcher.positions[place] < end:
            found += (await fetcher.next()).records
        await fetcher.close()
        return found

    return on_cluster(servers, work)
