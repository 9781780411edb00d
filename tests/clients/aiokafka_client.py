"""aiokafka, each call and each member on an event loop that runs only for it."""

import asyncio

from aiokafka import (
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    OffsetAndMetadata,
    TopicPartition,
)
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.errors import KafkaError
from tests.clients.face import DEADLINE_SECONDS, HEARTBEAT_MS, RETRY_MS, Consumed, Refused, Seen

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}
ACKS = {"0": 0, "1": 1, "all": "all"}
#: Settings of `consume` under which a large batch exceeds every limit.
SMALL_FETCHES = {"fetch_max_bytes": 1000, "max_partition_fetch_bytes": 1000}


def run(coroutine):
    """The result, or `Refused`."""

    async def with_deadline():
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await coroutine

    try:
        return asyncio.run(with_deadline())
    except KafkaError as error:
        raise Refused(error.errno, str(error)) from error


def produce(bootstrap, topic, records, *, partition=0, codec=None, acks="all", request_bytes_max=1_100_000):
    """The offset that was told for each record."""

    async def send():
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap,
            acks=ACKS[acks],
            compression_type=codec,
            linger_ms=20,
            max_request_size=request_bytes_max,
            retry_backoff_ms=RETRY_MS,
        )
        async with producer:
            waiting = [
                await producer.send(
                    topic,
                    record.value,
                    record.key,
                    partition,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )
                for record in records
            ]
            done = await asyncio.gather(*waiting)
            return [-1 if each is None else each.offset for each in done]

    return run(send())


def consume(bootstrap, topic, count, *, partition=0, offset=0, **settings):
    """So many records of a partition, from an offset on."""

    async def read():
        reader = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="none", fetch_max_wait_ms=50, **settings
        )
        async with reader:
            place = TopicPartition(topic, partition)
            reader.assign([place])
            reader.seek(place, offset)
            return [_consumed(await reader.getone()) for _ in range(count)]

    return run(read())


def _consumed(record):
    return Consumed(
        record.offset,
        record.value,
        record.key,
        tuple(record.headers),
        record.timestamp,
        record.timestamp_type == 1,
    )


def offset_for_time(bootstrap, topic, timestamp_ms, partition=0):
    """Of the first record of this time or later; None when there is none."""

    async def ask():
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap) as reader:
            place = TopicPartition(topic, partition)
            found = (await reader.offsets_for_times({place: timestamp_ms}))[place]
            return found and found.offset

    return run(ask())


class _Listener(ConsumerRebalanceListener):
    def __init__(self, member):
        self._member = member

    async def on_partitions_revoked(self, revoked):
        pass

    async def on_partitions_assigned(self, assigned):
        self._member.assignments += 1


class Member(Seen):
    """Its event loop turns only in `turn` and in calls that wait: heartbeats too."""

    def __init__(self, bootstrap, membership):
        super().__init__()
        self._loop = asyncio.new_event_loop()
        self._run(self._start(bootstrap, membership))

    async def _start(self, bootstrap, membership):
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=membership.group,
            group_instance_id=membership.instance_id,
            session_timeout_ms=membership.session_timeout_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            partition_assignment_strategy=(ASSIGNORS[membership.assignor or "range"],),
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            fetch_max_wait_ms=50,
            metadata_max_age_ms=100,
            retry_backoff_ms=RETRY_MS,
        )
        listener = _Listener(self)
        if membership.pattern:
            self._consumer.subscribe(pattern=membership.pattern, listener=listener)
        else:
            self._consumer.subscribe(list(membership.topics), listener=listener)
        self._reading = asyncio.ensure_future(self._consumer.start())

    def _run(self, coroutine):
        return self._loop.run_until_complete(asyncio.wait_for(coroutine, DEADLINE_SECONDS))

    def turn(self):
        self._run(self._turn())

    async def _turn(self):
        """Reading waits for an assignment as long as it takes: it goes on in the next turn."""
        done, _ = await asyncio.wait([self._reading], timeout=0.02)
        if not done:
            return
        for place, records in (self._reading.result() or {}).items():
            for record in records:
                self.records.append((place.topic, place.partition, record.offset, record.value))
        self._reading = asyncio.ensure_future(self._consumer.getmany(timeout_ms=20))

    @property
    def partitions(self):
        return {(each.topic, each.partition) for each in self._consumer.assignment()}

    def commit(self, offsets, metadata=""):
        """``offsets`` by (topic, partition)."""
        places = {
            TopicPartition(*place): OffsetAndMetadata(offset, metadata) for place, offset in offsets.items()
        }
        self._run(self._consumer.commit(places))

    def committed(self, topic, partition):
        """(offset, metadata), or None where nothing was committed."""
        place = TopicPartition(topic, partition)
        # The library's own `committed` leaves the metadata out.
        found = self._run(self._consumer._coordinator.fetch_committed_offsets([place]))
        return (found[place].offset, found[place].metadata) if place in found else None

    def close(self):
        """Twice does no harm."""
        if not self._loop.is_closed():
            self._run(self._stop())
            self._loop.close()

    async def _stop(self):
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._consumer.stop()
