"""The demo's dealings with its broker: topics, clicks in chunks, and what came out."""

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from distributedlog.client import ClusterClient, TopicPartition
from distributedlog.client.fetcher import Fetcher, FetchSettings
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at
from distributedlog.client.producer.producer import Producer
from distributedlog.client.topics import create_topic
from distributedlog.demo.scenes.click_stream_events import NOWHERE, Click, user_table
from distributedlog.demo.scenes.click_stream_spec import CLICKS, COUNTS, USERS

if TYPE_CHECKING:
    from collections.abc import Mapping

PARTITIONS: Final = 2
POLL_SECONDS: Final = 0.1
#: (window's start in milliseconds, country, clicks, cents), with how often it was read.
Results = Counter[tuple[int, str, int, int]]


def make_topics(bootstrap: str) -> None:
    """With the users in their table."""

    async def make() -> None:
        async with ClusterClient(bootstrap) as client:
            await create_topic(client, CLICKS, partitions=PARTITIONS)
            await create_topic(client, USERS, partitions=1, configs={"cleanup.policy": "compact"})
            await create_topic(client, COUNTS, partitions=PARTITIONS)

    asyncio.run(make())
    with Producer(bootstrap) as producer:
        for key, value in user_table():
            producer.send(USERS, value, key=key)
        producer.flush()


class ClickSender:
    """Sends clicks in chunks; a chunk is acknowledged before the next one begins, whatever dies meanwhile.

    So an event is never further behind the newest one than the generator meant it to be.
    """

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(bootstrap, delivery_timeout_ms=120_000)
        self.sent_count = 0

    def send(self, clicks: Iterable[Click]) -> None:
        futures = [self._producer.send(CLICKS, click.value, key=click.user.encode()) for click in clicks]
        for future in futures:
            future.result()
        self.sent_count += len(futures)

    def close(self) -> None:
        self._producer.close()


def read_results(bootstrap: str, count: int, seconds: float) -> Results:
    """What read_committed readers see of the results, once there are at least `count`, or time is up."""
    return asyncio.run(_read_results(bootstrap, count, seconds))


async def _read_results(bootstrap: str, count: int, seconds: float) -> Results:
    partitions = [TopicPartition(COUNTS, index) for index in range(PARTITIONS)]
    deadline = time.monotonic() + seconds
    async with ClusterClient(bootstrap) as client:
        positions = await list_offsets_at(client, partitions, EARLIEST)
        fetcher = Fetcher(client, positions, FetchSettings(is_read_committed=True, fetch_max_wait_ms=100))
        results: Results = Counter()
        try:
            while True:
                ends = await list_offsets_at(client, partitions, LATEST, is_read_committed=True)
                while any(positions[partition] < end for partition, end in ends.items()):
                    fetched = await fetcher.next()
                    positions[fetched.partition] = fetched.next_offset
                    results.update(result_of(json.loads(record.value or b"{}")) for record in fetched.records)
                if results.total() >= count or time.monotonic() > deadline:
                    return results
                await asyncio.sleep(POLL_SECONDS)
        finally:
            await fetcher.close()


def result_of(content: "Mapping[str, object]") -> tuple[int, str, int, int]:
    """One counted window, from its JSON."""
    moment = datetime.fromisoformat(str(content["window_start"]).replace("Z", "+00:00"))
    country = str(content.get("country") or NOWHERE)
    clicks, cents = content["clicks"], content["cents"]
    assert isinstance(clicks, int)
    assert isinstance(cents, int)
    return round(moment.timestamp() * 1000), country, clicks, cents
