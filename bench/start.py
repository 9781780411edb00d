"""From the command to the first acknowledged record, and what an idle node holds in memory."""

import subprocess
import sys
import tempfile
import time
from typing import Any

from bench.figure import Figure
from bench.our_node import OurNode
from bench.raw_client import RawClient


def first_acknowledged(bootstrap: str) -> float:
    """The moment at which a record in a topic made for it is acknowledged, with acks=all."""
    client = RawClient(bootstrap)
    client.wait_for_leaders(["first"], may_create=True)
    while not client.is_taken("first"):  # a leader may be named before it takes records, as Kafka's is
        pass
    acknowledged = time.perf_counter()
    client.close()
    return acknowledged


def interpreter_seconds() -> float:
    """What a process that does nothing costs."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def collect(quick: bool) -> list[Figure]:
    ready, first, idle, after, stopped = [], [], [], [], []
    for _ in range(1 if quick else 7):
        with tempfile.TemporaryDirectory() as directory:
            node = OurNode(directory)
            idle.append(node.resident_memory_mb())
            first.append(first_acknowledged(node.bootstrap) - node.started)
            ready.append(node.ready - node.started)
            after.append(node.resident_memory_mb())
            stopped.append(node.stop())
    bare = min(interpreter_seconds() for _ in range(1 if quick else 7))
    nothing = "a Python process that does nothing"
    lower: dict[str, Any] = {"higher_is_better": False}
    return [
        Figure(
            "command to ready line", min(ready) * 1e3, "ms", ceiling=bare * 1e3, ceiling_is=nothing, **lower
        ),
        Figure("command to first acknowledged record", min(first) * 1e3, "ms", bar=500, **lower),
        Figure("idle memory", min(idle), "MB", bar=60, **lower),
        Figure("memory after the first record", min(after), "MB", bar=60, **lower),
        Figure("SIGTERM to the end", min(stopped) * 1e3, "ms", **lower),
    ]
