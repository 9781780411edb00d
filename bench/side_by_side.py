"""The same load on our broker and on Apache Kafka, in turns, with the same clients, equally durable.

Equal durability is the page cache: Kafka's default, and our ``log.flush=os``. Everything else is at its
default. Each load runs in turns on both, and of the rounds the best of each counts. Where there is no Java,
or `make peers` has not fetched Kafka, ours is measured alone.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from bench.figure import Figure
from bench.kafka_node import KafkaNode, is_available
from bench.our_node import OurNode
from bench.raw_client import RawClient

OURS = {"log.flush": "os", "group.initial.rebalance.delay.ms": "0"}
KAFKA = "Apache Kafka, the same load from the same client, in the same run"

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
