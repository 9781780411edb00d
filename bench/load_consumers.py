"""Reading through a client library.

`python -m bench.load_consumers CLIENT BOOTSTRAP TOPIC RECORDS` prints JSON.

Each from the beginning of partition 0, outside of any group, as its documentation says it goes fast. The
clock starts with the first records, which are not counted.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Callable

SECONDS_MAX = 120.0
AT_ONCE = 10_000


class Counter:
    """Counts records until there are enough."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted
        self._first = self._received = 0
        self._made = time.perf_counter()
        self._begun = self._now = 0.0
        self._deadline = time.perf_counter() + SECONDS_MAX

    def add(self, count: int) -> bool:
        """Whether that is all."""
        self._now = time.perf_counter()
        if count and not self._begun:
            self._begun, self._first = self._now, count
        self._received += count
        if self._now > self._deadline:
            raise RuntimeError(f"{self._received} of {self._wanted} records in {SECONDS_MAX} s")
        return self._received >= self._wanted

    def rate(self) -> float:
        """Of what came after the first; of everything where the first was all, as in a quick run."""
        if self._received == self._first:
            return self._received / (self._now - self._made)
        return (self._received - self._first) / (self._now - self._begun)


def ours_poll(bootstrap: str, topic: str, records: int) -> float:
    from distributedlog import Consumer

    counter = Counter(records)
    with Consumer(bootstrap, auto_offset_reset="earliest", max_poll_records=AT_ONCE) as consumer:
        consumer.assign([(topic, 0)])
        while not counter.add(len(consumer.poll(1.0))):
            pass
    return counter.rate()


def ours_iteration(bootstrap: str, topic: str, records: int) -> float:
    from distributedlog import Consumer

    counter = Counter(records)
    with Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        counter.add(1 if next(consumer) else 0)
        for number, _ in enumerate(consumer, 2):
            if number == records:
                break
        counter.add(records - 1)
    return counter.rate()


def ours_async(bootstrap: str, topic: str, records: int) -> float:
    from distributedlog import AsyncConsumer

    async def main() -> float:
        counter = Counter(records)
        options = {"auto_offset_reset": "earliest", "max_poll_records": AT_ONCE}
        async with AsyncConsumer(bootstrap, **options) as consumer:
            await consumer.assign([(topic, 0)])
            while not counter.add(len(await consumer.poll(1.0))):
                pass
        return counter.rate()

    return run_async(main)


def ours_table(bootstrap: str, topic: str, records: int) -> float:
    from distributedlog import Consumer

    counter = Counter(records)
    with Consumer(bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([(topic, 0)])
        while not counter.add(consumer.poll_table(1.0).num_rows):
            pass
    return counter.rate()


def confluent(bootstrap: str, topic: str, records: int) -> float:
    from confluent_kafka import Consumer, TopicPartition

    counter = Counter(records)
    # As a default it stops fetching for a second whenever 100,000 records wait: that would be measured.
    settings = {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 1}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.assign([TopicPartition(topic, 0, 0)])
    while not counter.add(len(consumer.consume(AT_ONCE, timeout=1.0))):
        pass
    consumer.close()
    return counter.rate()


def aiokafka(bootstrap: str, topic: str, records: int) -> float:
    from aiokafka import AIOKafkaConsumer, TopicPartition

    async def main() -> float:
        counter = Counter(records)
        consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
        async with consumer:
            consumer.assign([TopicPartition(topic, 0)])
            while True:
                found = await consumer.getmany(timeout_ms=1000, max_records=AT_ONCE)
                if counter.add(sum(map(len, found.values()))):
                    return counter.rate()

    return run_async(main)


def kafka_python(bootstrap: str, topic: str, records: int) -> float:
    from kafka import KafkaConsumer, TopicPartition

    counter = Counter(records)
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    while True:
        found = consumer.poll(timeout_ms=1000, max_records=AT_ONCE)
        if counter.add(sum(map(len, found.values()))):
            break
    consumer.close()
    return counter.rate()


def run_async(main: Callable[[], "asyncio.Future[float]"]) -> float:
    """On uvloop, as whoever wants speed does."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main())  # type: ignore[arg-type]


CLIENTS = {
    run.__name__: run
    for run in (ours_poll, ours_iteration, ours_async, ours_table, confluent, aiokafka, kafka_python)
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("client", choices=tuple(CLIENTS))
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("records", type=int)
    arguments = parser.parse_args()
    rate = CLIENTS[arguments.client](arguments.bootstrap, arguments.topic, arguments.records)
    print(json.dumps({"records_per_second": rate}))


if __name__ == "__main__":
    main()
