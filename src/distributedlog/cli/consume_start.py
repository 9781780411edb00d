"""Where `dlog consume` begins and ends in each partition."""

import argparse
from collections.abc import Collection

from distributedlog.cli.cluster_work import CommandFailed
from distributedlog.cli.terminal import note
from distributedlog.cli.topic_lookup import find_topics
from distributedlog.client import ClusterClient, TopicPartition
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at

Offsets = dict[TopicPartition, int]


async def chosen_partitions(client: ClusterClient, arguments: argparse.Namespace) -> list[TopicPartition]:
    """All partitions of the topics, or those that the command line names."""
    chosen = []
    for topic in await find_topics(client, dict.fromkeys(arguments.topics)):
        there = [partition.index for partition in topic.partitions]
        absent = set(arguments.partition) - set(there)
        if absent:
            raise CommandFailed(
                f"topic {topic.name} has no partition {min(absent)}, only 0 to {len(there) - 1}"
            )
        wanted = sorted(set(arguments.partition)) or there
        chosen += [TopicPartition(topic.name, index) for index in wanted]
    return chosen


async def start_offsets(
    client: ClusterClient, arguments: argparse.Namespace, partitions: Collection[TopicPartition]
) -> Offsets:
    """By --from-beginning, --offset or --since; else the beginning, or with --follow the end."""
    if arguments.since is not None:
        return await list_offsets_at(client, partitions, arguments.since)
    if arguments.offset is None:
        from_end = arguments.follow and not arguments.from_beginning
        return await list_offsets_at(client, partitions, LATEST if from_end else EARLIEST)
    starts = await list_offsets_at(client, partitions, EARLIEST)
    ends = await list_offsets_at(client, partitions, LATEST)
    if arguments.offset < 0:
        return {place: max(starts[place], ends[place] + arguments.offset) for place in partitions}
    if partitions and all(arguments.offset > end for end in ends.values()):
        note(f"No partition has come to offset {arguments.offset}; the longest ends at {max(ends.values())}.")
    return {place: min(max(starts[place], arguments.offset), ends[place]) for place in partitions}


async def end_offsets(
    client: ClusterClient, arguments: argparse.Namespace, partitions: Collection[TopicPartition]
) -> Offsets | None:
    """Where to stop; None for never, with --follow."""
    if arguments.until is not None:
        return await list_offsets_at(client, partitions, arguments.until)
    if arguments.follow:
        return None
    return await list_offsets_at(client, partitions, LATEST, is_read_committed=arguments.committed)
