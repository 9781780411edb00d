"""[io] Reading partitions onwards from given positions, one long poll at a time to each leader."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.committed_records import readable_batches
from distributedlog.client.errors import ClientError, UnexpectedResponse, check
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.retry import Backoff
from distributedlog.records import Record, RecordsError
from distributedlog.wire.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)

FETCH: Final = "fetch"
NO_SESSION_EPOCH: Final = -1
READ_UNCOMMITTED: Final = 0
READ_COMMITTED: Final = 1


@dataclass(frozen=True, slots=True)
class FetchSettings:
    """Kafka's consumer settings under their own names."""

    fetch_min_bytes: int = 1
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 50 * 1024 * 1024
    max_partition_fetch_bytes: int = 1024 * 1024
    is_read_committed: bool = False


@dataclass(frozen=True, slots=True)
class FetchedRecords:
    """``records`` may be empty where only markers or deleted offsets were passed."""

    partition: TopicPartition
    records: list[Record]
    next_offset: int


class Fetcher:
    """`positions` says where each partition is read next; partitions may be dropped from it at any time.

    While one response is looked at, the next one is already on its way.
    """

    def __init__(
        self,
        client: ClusterClient,
        positions: Mapping[TopicPartition, int],
        settings: FetchSettings | None = None,
    ) -> None:
        self.positions = dict(positions)
        self._client = client
        self._settings = settings or FetchSettings()
        self._polls: dict[asyncio.Task[FetchResponse], int] = {}
        self._ready: list[FetchedRecords] = []
        self._failing_since: float | None = None
        self._backoff = self._new_backoff()

    async def next(self) -> FetchedRecords:
        """Wait for records of any partition. OFFSET_OUT_OF_RANGE and what will not pass are BrokerErrors."""
        while not self._ready:
            try:
                await self._poll()
            except ClientError as error:
                await self._wait_after(error)
        return self._ready.pop(0)

    def drop(self, partition: TopicPartition) -> None:
        """Read this partition no further, and hand out nothing of it that is here already."""
        self.positions.pop(partition, None)
        self._ready = [fetched for fetched in self._ready if fetched.partition != partition]

    async def close(self) -> None:
        """Stop all long polls."""
        polls = list(self._polls)
        self._polls.clear()
        for poll in polls:
            poll.cancel()
        await asyncio.gather(*polls, return_exceptions=True)

    async def _poll(self) -> None:
        await self._start_polls()
        if not self._polls:
            raise ValueError("there is no partition to read")
        done, _ = await asyncio.wait(self._polls, return_when=asyncio.FIRST_COMPLETED)
        for poll in done:
            del self._polls[poll]
        failures: list[ClientError] = []
        for poll in done:
            try:
                self._take(poll.result(), failures)
            except ClientError as error:
                failures.append(error)
        if failures:
            raise failures[0]
        self._failing_since = None
        self._backoff = self._new_backoff()
        await self._start_polls()

    async def _start_polls(self) -> None:
        busy = set(self._polls.values())
        for leader, partitions in (await self._client.by_leader(self.positions)).items():
            if leader not in busy:
                self._polls[asyncio.create_task(self._fetch(leader, partitions))] = leader

    async def _fetch(self, leader: int, partitions: list[TopicPartition]) -> FetchResponse:
        settings = self._settings
        request = FetchRequest(
            max_wait_ms=settings.fetch_max_wait_ms,
            min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes,
            isolation_level=READ_COMMITTED if settings.is_read_committed else READ_UNCOMMITTED,
            session_epoch=NO_SESSION_EPOCH,
            topics=self._topics(partitions),
        )
        timeout_ms = self._client.settings.request_timeout_ms + settings.fetch_max_wait_ms
        response: FetchResponse = await self._client.ask_node(
            leader, request, purpose=FETCH, timeout_ms=timeout_ms
        )
        check(response.error_code, f"fetch from broker {leader}")
        return response

    def _topics(self, partitions: list[TopicPartition]) -> list[FetchTopic]:
        topics: dict[str, FetchTopic] = {}
        for partition in partitions:
            name = partition.topic
            if name not in topics:
                topics[name] = FetchTopic(name, self._client.metadata.topics[name].topic_id)
            topics[name].partitions.append(
                FetchPartition(
                    partition.partition,
                    fetch_offset=self.positions[partition],
                    partition_max_bytes=self._settings.max_partition_fetch_bytes,
                )
            )
        return list(topics.values())

    def _take(self, response: FetchResponse, failures: list[ClientError]) -> None:
        """Keep what came; one partition's error does not cost another its records."""
        for topic in response.responses:
            name = topic.topic or self._client.metadata.name_of(topic.topic_id)
            for data in topic.partitions:
                partition = TopicPartition(name or "", data.partition_index)
                if partition not in self.positions:
                    continue
                try:
                    self._take_partition(partition, data)
                except ClientError as error:
                    failures.append(error)

    def _take_partition(self, partition: TopicPartition, data: PartitionData) -> None:
        position = self.positions[partition]
        check(data.error_code, f"read {partition} at offset {position}")
        aborted = [(entry.producer_id, entry.first_offset) for entry in data.aborted_transactions or ()]
        if data.records is None or not len(data.records):
            return
        records: list[Record] = []
        start = position
        try:
            for batch, next_offset in readable_batches(bytes(cast(memoryview, data.records)), aborted):
                records += batch if not batch or batch[0].offset >= start else _from(batch, start)
                position = max(position, next_offset)
        except RecordsError as error:
            what = f"what {partition} holds at offset {position} cannot be read"
            raise UnexpectedResponse(f"{what}: {error}") from None
        if position > start:
            self.positions[partition] = position
            self._ready.append(FetchedRecords(partition, records, position))

    async def _wait_after(self, error: ClientError) -> None:
        """Wait before the next try; an error that lasts as long as one operation may take is final."""
        loop = asyncio.get_running_loop()
        if self._failing_since is None:
            self._failing_since = loop.time()
        limit = self._client.settings.default_api_timeout_ms / 1000
        if not error.is_retriable or loop.time() - self._failing_since > limit:
            raise error
        self._client.forget_places()
        await asyncio.sleep(self._backoff.next_ms() / 1000)

    def _new_backoff(self) -> Backoff:
        settings = self._client.settings
        return Backoff(settings.retry_backoff_ms, settings.retry_backoff_max_ms, random.random)


def _from(records: list[Record], offset: int) -> list[Record]:
    """A broker sends whole batches: what lies before the position is dropped here."""
    return [record for record in records if record.offset >= offset]
