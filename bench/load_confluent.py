"""Load through confluent-kafka: `python -m bench.load_confluent ACTION …` prints JSON."""

import argparse
import json
import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

SECONDS_MAX = 120.0


def produce(bootstrap: str, topic: str, records: int, size: int, acks: str) -> dict[str, Any]:
    """As fast as it goes, until all are acknowledged."""
    failures: list[KafkaError] = []
    settings = {
        "bootstrap.servers": bootstrap,
        "acks": acks,
        "queue.buffering.max.messages": 500_000,
        "on_delivery": lambda error, _: failures.append(error) if error else None,
    }
    producer = Producer(settings)
    value = bytes(size)
    producer.list_topics(topic, timeout=30)
    begun = time.perf_counter()
    for _ in range(records):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
        producer.poll(0)
    left = producer.flush(SECONDS_MAX)
    seconds = time.perf_counter() - begun
    if left or failures:
        raise RuntimeError(f"{left} records are not acknowledged, {len(failures)} failed: {failures[:3]}")
    return {"records_per_second": records / seconds}


def consume(bootstrap: str, topic: str, records: int) -> dict[str, Any]:
    """From the beginning of partition 0, counted from the first record on.

    librdkafka stops fetching for a whole second, as a default, whenever 100,000 records wait for the
    application: then the rate says how often that happened to happen, and the faster the broker the oftener.
    """
    settings = {"group.id": "bench", "enable.auto.commit": False, "fetch.queue.backoff.ms": 1}
    consumer = Consumer({"bootstrap.servers": bootstrap, **settings})
    consumer.assign([TopicPartition(topic, 0, 0)])
    deadline = time.perf_counter() + SECONDS_MAX
    received, begun = 0, 0.0
    while received < records:
        messages = consumer.consume(10_000, timeout=1.0)
        begun = begun or (time.perf_counter() if messages else 0.0)
        received += len(messages)
        if time.perf_counter() > deadline:
            raise RuntimeError(f"{received} of {records} records in {SECONDS_MAX} s")
    seconds = time.perf_counter() - begun
    consumer.close()
    return {"records_per_second": records / seconds}


def latency(bootstrap: str, topic: str, records: int, per_second: int) -> dict[str, Any]:
    """From `produce` to its call-back, linger 0, one record after another at a steady rate."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    producer.list_topics(topic, timeout=30)
    taken: list[float] = []
    clock = time.perf_counter

    def send() -> None:
        sent = clock()

        def acknowledged(error: KafkaError | None, _: Any) -> None:
            if error is not None:
                raise RuntimeError(f"not acknowledged: {error}")
            taken.append(clock() - sent)

        producer.produce(topic, bytes(100), on_delivery=acknowledged)

    for _ in range(200):  # connections, JIT compilers
        send()
        producer.poll(0.005)
    producer.flush(SECONDS_MAX)
    taken.clear()
    begun = clock()
    for number in range(records):
        due = begun + number / per_second
        while (left := due - clock()) > 0:
            producer.poll(left)
        send()
    producer.flush(SECONDS_MAX)
    taken.sort()
    assert len(taken) == records
    return {"p50_ms": taken[records // 2] * 1e3, "p99_ms": taken[records * 99 // 100] * 1e3}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("produce", "consume", "latency"))
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("records", type=int)
    parser.add_argument("--size", type=int, default=100)
    parser.add_argument("--acks", default="1")
    parser.add_argument("--per-second", type=int, default=1000)
    arguments = parser.parse_args()
    where = (arguments.bootstrap, arguments.topic, arguments.records)
    if arguments.action == "produce":
        result = produce(*where, arguments.size, arguments.acks)
    elif arguments.action == "consume":
        result = consume(*where)
    else:
        result = latency(*where, arguments.per_second)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
