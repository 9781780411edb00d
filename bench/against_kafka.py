"""Kafka's own load tools on our broker and on Kafka: ProducerPerformance and ConsumerPerformance.

Batching is at the Java client's defaults. Their rates hold the warming up of a fresh Java machine each
time, for both the same.
"""

from collections.abc import Iterator
from functools import partial

from bench.figure import Figure
from bench.kafka_node import consumer_performance, is_available, producer_performance
from bench.side_by_side import Node, against, best_of, create_topics, nodes

RECORDS_BY_SIZE = {100: 1_000_000, 1000: 250_000}
ROUNDS = 3


def collect(quick: bool) -> list[Figure]:
    if not is_available():
        return []
    with nodes() as on:
        return list(figures(on, quick))


def figures(on: list[Node], quick: bool) -> Iterator[Figure]:
    """As they come."""
    for partitions in (1, 6):
        for size, records in RECORDS_BY_SIZE.items():
            yield from _of(on, partitions, size, 2_000 if quick else records, 1 if quick else ROUNDS)


def _of(on: list[Node], partitions: int, size: int, records: int, rounds: int) -> Iterator[Figure]:
    topic = f"java-{size}-{partitions}"
    for node in on:
        create_topics(node, {topic: partitions})
    what = f"{size} B, {partitions} partition{'s' if partitions > 1 else ''}"
    for acks in ("1", "all"):
        produced = partial(_java_produces, topic, records, size, acks)
        name = f"ProducerPerformance, {what}, acks={acks}"
        yield against(name, "records/s", best_of(rounds, on, produced), 1)
    written = records * 2 * rounds
    values = best_of(rounds, on, lambda node: consumer_performance(node.bootstrap, topic, written))
    yield against(f"ConsumerPerformance, {what}", "records/s", values, 1)


def _java_produces(topic: str, records: int, size: int, acks: str, node: Node) -> float:
    return producer_performance(node.bootstrap, topic, records, size, acks)
