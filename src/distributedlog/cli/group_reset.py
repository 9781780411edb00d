"""`dlog group reset-offsets`."""

import argparse
from collections.abc import Mapping

from distributedlog.cli.cluster_work import CommandFailed, UsageError, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import counted, print_table, shown
from distributedlog.cli.topic_lookup import find_topic
from distributedlog.client import BrokerError, ClusterClient, TopicPartition
from distributedlog.client.committed import CommittedOffset, commit_offsets, committed_offsets
from distributedlog.client.groups import describe_group
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at
from distributedlog.wire import ErrorCode

Committed = Mapping[TopicPartition, CommittedOffset]


def reset(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        committed = await current_offsets(client, arguments.group)
        partitions = await chosen_partitions(client, arguments, committed)
        targets = await target_offsets(client, arguments, partitions, committed)
        if not targets:
            raise CommandFailed(f"group {arguments.group} has no committed offsets that could be reset")
        if not arguments.dry_run:
            await commit(client, arguments.group, targets)
        show(arguments, committed, targets)
        return 0

    return run_work(arguments, work)


async def current_offsets(client: ClusterClient, group: str) -> Committed:
    """What is committed now; a group that does not exist yet has nothing, and may be given offsets."""
    try:
        description = await describe_group(client, group)
    except BrokerError as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return {}
    if description.members:
        count = counted(len(description.members), "member")
        raise CommandFailed(
            f"group {group} has {count}, and its offsets can be reset only when it has none: "
            "stop its consumers first; `dlog group describe` shows them"
        )
    return await committed_offsets(client, group)


async def chosen_partitions(
    client: ClusterClient, arguments: argparse.Namespace, committed: Committed
) -> list[TopicPartition]:
    if arguments.all_topics:
        return sorted(committed)
    chosen: set[TopicPartition] = set()
    for text in arguments.topic:
        name, colon, numbers = text.partition(":")
        topic = await find_topic(client, name)
        there = {partition.index for partition in topic.partitions}
        wanted = there
        if colon:
            parts = numbers.split(",")
            if not all(part.isascii() and part.isdigit() for part in parts):
                raise UsageError(f"{text!r} is not of the form TOPIC:0,1,2")
            wanted = {int(part) for part in parts}
        if wanted - there:
            absent = min(wanted - there)
            raise CommandFailed(f"topic {name} has no partition {absent}, only 0 to {len(there) - 1}")
        chosen |= {TopicPartition(name, index) for index in wanted}
    return sorted(chosen)


async def target_offsets(
    client: ClusterClient,
    arguments: argparse.Namespace,
    partitions: list[TopicPartition],
    committed: Committed,
) -> dict[TopicPartition, int]:
    """Where each partition is to go on, within what it holds."""
    starts = await list_offsets_at(client, partitions, EARLIEST)
    ends = await list_offsets_at(client, partitions, LATEST)
    if arguments.to_earliest:
        return starts
    if arguments.to_latest:
        return ends
    if arguments.to_time is not None:
        return await list_offsets_at(client, partitions, arguments.to_time)
    if arguments.to_offset is not None:
        wanted = dict.fromkeys(partitions, arguments.to_offset)
    else:  # relative to what is committed: partitions without an offset stay without one
        shift = arguments.shift_by or 0
        wanted = {place: committed[place].offset + shift for place in partitions if place in committed}
    return {place: min(max(offset, starts[place]), ends[place]) for place, offset in wanted.items()}


async def commit(client: ClusterClient, group: str, targets: Mapping[TopicPartition, int]) -> None:
    offsets = {partition: CommittedOffset(offset) for partition, offset in targets.items()}
    try:
        await commit_offsets(client, group, offsets)
    except BrokerError as error:
        if error.code not in {ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS}:
            raise
        raise CommandFailed(
            f"a consumer has just joined group {group}; nothing was reset: stop its consumers and try again"
        ) from None


def show(arguments: argparse.Namespace, committed: Committed, targets: Mapping[TopicPartition, int]) -> None:
    rows = [
        (partition, committed[partition].offset if partition in committed else None, offset)
        for partition, offset in sorted(targets.items())
    ]
    if arguments.json:
        for (topic, index), before, after in rows:
            print_json(
                group=arguments.group, topic=topic, partition=index, before=before, after=after,
                dry_run=arguments.dry_run,
            )  # fmt: skip
        return
    done = "would go on from" if arguments.dry_run else "goes on from"
    print(f"Group {shown(arguments.group)} {done}:")
    print_table(
        ("topic", "partition>", "before>", "now>"),
        [
            (topic, index, "none" if before is None else before, after)
            for (topic, index), before, after in rows
        ],
    )
