"""confluent-kafka, and raw requests, on our broker and on Kafka: rates and latency."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from bench.figure import Figure
from bench.loads import run_load
from bench.side_by_side import KAFKA, Node, against, best_of, create_topics, nodes


def collect(quick: bool) -> list[Figure]:
    with nodes() as on:
        return list(figures(on, quick))


def figures(on: list[Node], quick: bool) -> Iterator[Figure]:
    """As they come."""
    yield from _latency(on, quick)
    yield from _single_requests(on, quick)
    yield from _confluent(on, quick)


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
