"""Partitions as people name them: ``orders`` for all of a topic, ``orders:0,2`` for some."""

from collections.abc import Sequence

from distributedlog.cli.cluster_work import CommandFailed, UsageError
from distributedlog.client import ClusterClient, TopicPartition


async def named_partitions(client: ClusterClient, names: Sequence[str]) -> list[TopicPartition]:
    """All that are named, each once, in their order; one that is not there is CommandFailed."""
    chosen: set[TopicPartition] = set()
    for text in names:
        name, colon, numbers = text.partition(":")
        (topic,) = await client.topics([name])
        there = {partition.index for partition in topic.partitions}
        wanted = _numbers(text, numbers) if colon else there
        if wanted - there:
            absent = min(wanted - there)
            raise CommandFailed(f"topic {name} has no partition {absent}, only 0 to {len(there) - 1}")
        chosen |= {TopicPartition(name, index) for index in wanted}
    return sorted(chosen)


async def all_partitions(client: ClusterClient) -> list[TopicPartition]:
    """Every partition of the cluster, Kafka's own topics included."""
    return [
        TopicPartition(topic.name, partition.index)
        for topic in await client.all_topics()
        for partition in topic.partitions
    ]


def _numbers(text: str, numbers: str) -> set[int]:
    parts = numbers.split(",")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise UsageError(f"{text!r} is not of the form TOPIC:0,1,2")
    return {int(part) for part in parts}
