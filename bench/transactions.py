"""Transactions against Apache Kafka's, what they cost over plain records, and a restart with many ids.

Durability is the page cache's on both sides, as in `bench.side_by_side`. The overhead is that of a
transaction over the same records in the same portions by an idempotent producer, who waits for each portion
to be acknowledged; the two are measured in turns.
"""

import tempfile
import time
from functools import partial

from bench.figure import Figure
from bench.loads import run_load
from bench.our_node import OurNode
from bench.raw_client import RawClient
from bench.side_by_side import OURS, Node, against, best_of, create_topics, nodes
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest

LIST_TRANSACTIONS = 66
PARTITIONS = 3
IDS = 10_000
RATE_MIN = 200
OVERHEAD_MAX = 15
SECONDS_MAX = 30


def collect(quick: bool) -> list[Figure]:
    with nodes() as on:
        figures = _rates(on, quick)
        figures += _overheads(on, quick)
    return [*figures, _restart(quick)]


def _rates(on: list[Node], quick: bool) -> list[Figure]:
    for node in on:
        create_topics(node, {"rate": PARTITIONS})
    rate = partial(_rate, "transactions", "rate", 5 if quick else 1000, 100, 100)
    values = best_of(1 if quick else 3, on, rate)
    name = "transactions of 100 records over 3 partitions, confluent-kafka"
    figures = [Figure(f"{name}, at least", values[0], "transactions/s", bar=RATE_MIN)]
    if len(values) > 1:
        figures.append(against(name, "transactions/s", values, 1))
    return figures


def _overheads(on: list[Node], quick: bool) -> list[Figure]:
    """By the size of a record; of two rounds in turns the best of each."""
    figures = []
    for size, portions in ((100, 600), (1000, 300)):
        shares = []
        for node in on:
            topic = f"overhead-{size}"
            create_topics(node, {topic: PARTITIONS})
            shape = (topic, 2 if quick else portions, 1000, size)
            rounds = [
                [_rate(action, *shape, node) for action in ("plain", "transactions")]
                for _ in range(1 if quick else 3)
            ]
            plain, transactional = (max(each) for each in zip(*rounds, strict=True))
            shares.append((plain / transactional - 1) * 100)
        name = f"overhead of a transaction over 1,000 plain records of {size} B"
        figures.append(Figure(name, shares[0], "%", bar=OVERHEAD_MAX, higher_is_better=False))
        if len(shares) > 1:
            figures.append(Figure(f"{name}: Apache Kafka's", shares[1], "%", higher_is_better=False))
    return figures


def _rate(action: str, topic: str, count: int, records: int, size: int, node: Node) -> float:
    options = ("--records", records, "--partitions", PARTITIONS, "--size", size)
    load = run_load("load_transactions", action, node.bootstrap, topic, count, *options)
    return float(load["per_second"])


def _restart(quick: bool) -> Figure:
    """From the command until every coordinator answers for its ids, after a clean stop."""
    ids = 100 if quick else IDS
    with tempfile.TemporaryDirectory() as directory:
        with OurNode(directory, OURS) as node:
            create_topics(node, {"ids": 1})
            run_load("load_transactions", "ids", node.bootstrap, "ids", ids)
        taken = [_seconds_until_listed(directory, ids) for _ in range(1 if quick else 3)]
    name = f"restart with {ids:,} transactional ids, from the command until all are listed"
    return Figure(name, min(taken) * 1e3, "ms", bar=1000, higher_is_better=False)


def _seconds_until_listed(directory: str, ids: int) -> float:
    with OurNode(directory, OURS) as node:
        client = RawClient(node.bootstrap)
        while (listed := client.ask(LIST_TRANSACTIONS, 0, ListTransactionsRequest())).error_code:
            if time.perf_counter() - node.started > SECONDS_MAX:
                raise RuntimeError(f"the coordinators are not ready: {listed}")
        seconds = time.perf_counter() - node.started
        client.close()
    if len(listed.transaction_states) != ids:
        raise RuntimeError(f"{len(listed.transaction_states)} of {ids} transactional ids are there")
    return seconds
