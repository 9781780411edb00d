"""2,000 partitions, 500 idle connections and 200 groups, and what they cost those who produce."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from bench.figure import Figure
from bench.loads import run_load
from bench.our_node import OurNode
from bench.raw_client import RawClient

TOPICS, PARTITIONS_PER_TOPIC = 20, 100
CONNECTIONS, GROUPS = 500, 200
SETTINGS = {"log.flush": "os", "group.initial.rebalance.delay.ms": "0"}
EMPTY = "the same load on a broker with one partition and nobody else, in turns with it"


def collect(quick: bool) -> list[Figure]:
    scale = 10 if quick else 1
    with ExitStack() as stack:
        empty = stack.enter_context(_node())
        crowded = stack.enter_context(_node())
        client = RawClient(crowded.bootstrap)
        for number in range(TOPICS // scale):
            client.create_topics({f"crowd-{number}": PARTITIONS_PER_TOPIC})
            for partition in range(PARTITIONS_PER_TOPIC):
                client.produce(f"crowd-{number}", partition)
        client.close()
        stack.enter_context(_crowd(crowded, CONNECTIONS // scale, GROUPS // scale))
        records = 200 if quick else 6_000
        rounds = [
            [
                run_load("load_confluent", "latency", node.bootstrap, "latency", records)
                for node in (crowded, empty)
            ]
            for _ in range(1 if quick else 4)
        ]
        memory = crowded.resident_memory_mb()
        memory_empty = empty.resident_memory_mb()
    figures = []
    for name, key, bar in (("p50", "p50_ms", None), ("p99", "p99_ms", 2.0)):
        ours, bare = (min(result[key] for result in each) for each in zip(*rounds, strict=True))
        figures.append(
            Figure(
                f"produce latency in a crowd, {name}", ours, "ms", ceiling=bare, ceiling_is=EMPTY,
                ratio_bar=bar, higher_is_better=False,
            )
        )  # fmt: skip
    figures.append(
        Figure(
            "memory in a crowd", memory, "MB", ceiling=memory_empty, ceiling_is=EMPTY, higher_is_better=False
        )
    )
    return figures


def _latency(node: OurNode, records: int) -> dict[str, float]:
    return run_load("load_confluent", "latency", node.bootstrap, "latency", records)


@contextmanager
def _node() -> Iterator[OurNode]:
    with tempfile.TemporaryDirectory() as directory, OurNode(directory, SETTINGS) as node:
        client = RawClient(node.bootstrap)
        client.create_topics({"latency": 1})
        client.close()
        yield node


@contextmanager
def _crowd(node: OurNode, connections: int, groups: int) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.load_crowd", node.bootstrap, "latency",
         "--connections", str(connections), "--groups", str(groups)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        if process.stdout.readline() != b"there\n":
            raise RuntimeError("the crowd did not come")
        yield
        process.stdin.close()
    if process.returncode:
        raise RuntimeError("the crowd did not stay")
