"""The same load on our broker and on Apache Kafka, in turns, with the same clients, equally durable.

Equal durability is the page cache: Kafka's default, and our ``log.flush=os``. Everything else is at its
default. Each load runs in turns on both, and of the rounds the best of each counts. Where there is no Java,
or `make peers` has not fetched Kafka, ours is measured alone.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from bench.figure import Figure
from bench.kafka_node import KafkaNode, consumer_performance, is_available, producer_performance
from bench.loads import run_load
from bench.our_node import OurNode
from bench.raw_client import RawClient
from bench.start import first_acknowledged

OURS = {"log.flush": "os", "group.initial.rebalance.delay.ms": "0"}
KAFKA = "Apache Kafka, the same load from the same client, in the same run"
MILLION = 1e6

Node = OurNode | KafkaNode


@contextmanager
def nodes() -> Iterator[list[Node]]:
    """Ours and, where it can be had, Kafka."""
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        on: list[Node] = [stack.enter_context(OurNode(directory, OURS))]
        if is_available():
            directory = stack.enter_context(tempfile.TemporaryDirectory())
            on.append(stack.enter_context(KafkaNode(directory)))
        yield on


def create_topics(node: Node, partitions_by_name: dict[str, int]) -> None:
    client = RawClient(node.bootstrap)
    client.create_topics(partitions_by_name)
    client.close()


def best_of(rounds: int, on: list[Node], measure: Callable[[Node], float]) -> list[float]:
    """The highest of several rounds for each node, measured in turns."""
    results = [[measure(node) for node in on] for _ in range(rounds)]
    return [max(each) for each in zip(*results, strict=True)]


def against(
    name: str, unit: str, values: list[float], bar: float, *, higher_is_better: bool = True
) -> Figure:
    """Ours by Kafka's; without Kafka there is nothing to judge."""
    if len(values) == 1:
        return Figure(name, values[0], unit, higher_is_better=higher_is_better)
    return Figure(
        name, values[0], unit, ceiling=values[1], ceiling_is=KAFKA, ratio_bar=bar,
        higher_is_better=higher_is_better,
    )  # fmt: skip


def collect(quick: bool) -> list[Figure]:
    figures: list[Figure] = []
    with nodes() as on:
        if len(on) > 1:
            figures += _javas_tools(on, quick)
        figures += _confluent(on, quick)
        figures += _latency(on, quick)
        figures += _single_requests(on, quick)
    if is_available():
        figures += _start(quick)
        figures += _memory(quick)
    return figures


def _javas_tools(on: list[Node], quick: bool) -> list[Figure]:
    figures = []
    for partitions in (1, 6):
        for size, records in ((100, 2_000_000), (1000, 400_000)):
            figures += _javas_tools_on(on, partitions, size, 2_000 if quick else records, 1 if quick else 2)
    return figures


def _javas_tools_on(
    on: list[Node], partitions: int, size: int, records: int, rounds: int
) -> Iterator[Figure]:
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


def _confluent(on: list[Node], quick: bool) -> list[Figure]:
    figures = []
    for size, records in ((100, 600_000), (1000, 200_000)):
        figures += _confluent_on(on, size, 2_000 if quick else records, 1 if quick else 3)
    return figures


def _confluent_on(on: list[Node], size: int, records: int, rounds: int) -> Iterator[Figure]:
    topic = f"confluent-{size}"
    for node in on:
        create_topics(node, {topic: 1})
    for acks in ("1", "all"):
        options = ("--size", size, "--acks", acks)
        values = best_of(rounds, on, partial(_confluent_rate, "produce", topic, records, options))
        yield against(f"confluent-kafka produces, {size} B, acks={acks}", "records/s", values, 1)
    values = best_of(rounds, on, partial(_confluent_rate, "consume", topic, records * 2 * rounds, ()))
    yield against(f"confluent-kafka consumes, {size} B", "records/s", values, 1)


def _confluent_rate(action: str, topic: str, records: int, options: tuple[object, ...], node: Node) -> float:
    load = run_load("load_confluent", action, node.bootstrap, topic, records, *options)
    return float(load["records_per_second"])


def _latency(on: list[Node], quick: bool) -> list[Figure]:
    records = 200 if quick else 8_000
    for node in on:
        create_topics(node, {"latency": 1})

    def measure(node: Node) -> dict[str, Any]:
        return run_load("load_confluent", "latency", node.bootstrap, "latency", records)

    results = [[measure(node) for node in on] for _ in range(1 if quick else 3)]
    return [
        against(
            f"latency at 1,000 records/s, linger 0, {name}",
            "ms",
            [min(result[key] for result in each) for each in zip(*results, strict=True)],
            0.7,
            higher_is_better=False,
        )
        for name, key in (("p50", "p50_ms"), ("p99", "p99_ms"))
    ]


def _single_requests(on: list[Node], quick: bool) -> list[Figure]:
    for node in on:
        create_topics(node, {"single": 1})

    def measure(node: Node) -> float:
        seconds = 0.3 if quick else 4
        load = run_load("load_requests", node.bootstrap, "single", "--connections", 50, "--seconds", seconds)
        return float(load["requests_per_second"])

    values = best_of(1 if quick else 3, on, measure)
    name = "requests of one record, 50 connections"
    if len(values) == 1:
        return [Figure(name, values[0], "requests/s", bar=12_000)]
    return [Figure(name, values[0], "requests/s", bar=12_000, ceiling=values[1], ceiling_is=KAFKA)]


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
