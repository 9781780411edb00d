"""What our broker and Kafka need to start, and to be there."""

import tempfile
import time
from collections.abc import Iterator

from bench.figure import Figure
from bench.kafka_node import KafkaNode, is_available, producer_performance
from bench.our_node import OurNode
from bench.side_by_side import KAFKA, OURS, against, create_topics, nodes
from bench.start import first_acknowledged

MILLION = 1e6


def collect(quick: bool) -> list[Figure]:
    return list(figures(quick)) if is_available() else []


def figures(quick: bool) -> Iterator[Figure]:
    """As they come."""
    yield from _start(quick)
    yield from _memory(quick)


def _start(quick: bool) -> list[Figure]:
    def ours() -> float:
        with tempfile.TemporaryDirectory() as directory, OurNode(directory, OURS) as node:
            return first_acknowledged(node.bootstrap) - node.started

    def theirs() -> float:
        with tempfile.TemporaryDirectory() as directory, KafkaNode(directory) as node:
            return first_acknowledged(node.bootstrap) - node.started

    times = [(ours(), theirs()) for _ in range(1 if quick else 3)]
    our_seconds, their_seconds = (min(each) for each in zip(*times, strict=True))
    values = [our_seconds * 1e3, their_seconds * 1e3]
    name = "command to first acknowledged record, a tenth of Kafka's"
    return [against(name, "ms", values, 0.1, higher_is_better=False)]


def _memory(quick: bool) -> list[Figure]:
    """Of fresh nodes: idle for a moment, and after ten million records."""
    records = 20_000 if quick else 10 * int(MILLION)
    with nodes() as on:
        for node in on:
            create_topics(node, {"memory": 6})
        time.sleep(0 if quick else 5)
        idle = [node.resident_memory_mb() for node in on]
        for node in on:
            producer_performance(node.bootstrap, "memory", records, 100, "1")
        after = [node.resident_memory_mb() for node in on]
    name = f"memory after {records / MILLION:g} million records"
    return [
        against("idle memory, a sixth of Kafka's", "MB", idle, 1 / 6, higher_is_better=False),
        Figure(name, after[0], "MB", ceiling=after[1], ceiling_is=KAFKA, bar=200, higher_is_better=False),
    ]
