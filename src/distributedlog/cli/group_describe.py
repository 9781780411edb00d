"""`dlog group describe`."""

import argparse
from collections.abc import Iterable, Mapping

from distributedlog.cli.cluster_work import each, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import counted, print_table, shown
from distributedlog.client import BrokerError, ClusterClient, TopicPartition
from distributedlog.client.committed import CommittedOffset, committed_offsets
from distributedlog.client.groups import (
    GroupDescription,
    MemberDescription,
    describe_group,
    members_by_partition,
)
from distributedlog.client.offsets import LATEST, list_offsets_at

NOBODY = MemberDescription("", None, "", "")


def describe(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        is_first = True

        async def one(name: str) -> None:
            nonlocal is_first
            group = await describe_group(client, name)
            committed = await committed_offsets(client, name)
            readers = members_by_partition(group)
            ends = await ends_of(client, {*committed, *readers}, is_read_committed=arguments.read_committed)
            if arguments.json:
                print_as_json(group, committed, ends)
            else:
                if not is_first:
                    print()
                print_for_people(group, committed, ends, with_members=arguments.members)
            is_first = False

        return await each(arguments.names, one)

    return run_work(arguments, work)


async def ends_of(
    client: ClusterClient, partitions: Iterable[TopicPartition], *, is_read_committed: bool = False
) -> dict[TopicPartition, int]:
    """Where the partitions end, for all or for readers of committed records; those whose topic was deleted
    are left out."""
    by_topic: dict[str, list[TopicPartition]] = {}
    for partition in partitions:
        by_topic.setdefault(partition.topic, []).append(partition)
    ends: dict[TopicPartition, int] = {}
    for topic, of_topic in by_topic.items():
        try:
            await client.topics([topic])
            ends |= await list_offsets_at(client, of_topic, LATEST, is_read_committed=is_read_committed)
        except BrokerError:
            continue
    return ends


def print_as_json(
    group: GroupDescription,
    committed: Mapping[TopicPartition, CommittedOffset],
    ends: Mapping[TopicPartition, int],
) -> None:
    print_json(
        group=group.group_id,
        type=group.group_type,
        state=group.state,
        assignor=group.assignor,
        members=[
            {
                "member_id": member.member_id,
                "instance_id": member.instance_id,
                "client_id": member.client_id,
                "host": member.host,
                "partitions": [list(partition) for partition in sorted(member.partitions)],
            }
            for member in group.members
        ],
        offsets=[
            {
                "topic": topic,
                "partition": index,
                "committed": offset.offset if offset is not None else None,
                "metadata": offset.metadata if offset is not None else None,
                "end": end,
                "lag": lag,
                "member_id": member.member_id or None,
            }
            for (topic, index), offset, end, lag, member in lines(group, committed, ends)
        ],
    )


def print_for_people(
    group: GroupDescription,
    committed: Mapping[TopicPartition, CommittedOffset],
    ends: Mapping[TopicPartition, int],
    with_members: bool,
) -> None:
    assignor = f", assignor {group.assignor}" if group.assignor else ""
    rows = list(lines(group, committed, ends))
    lag = sum(behind for *_, behind, _ in rows if behind is not None)
    print(
        f"{shown(group.group_id)}: {group.state}, {group.group_type} protocol{shown(assignor)}, "
        f"{counted(len(group.members), 'member')}, lag {lag:,}"
    )
    if with_members:
        print_table(
            ("member", "instance", "client", "host", "partitions"),
            [
                (
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.host,
                    " ".join(map(str, sorted(member.partitions))),
                )
                for member in group.members
            ],
        )
    else:
        print_table(
            ("topic", "partition>", "committed>", "end>", "lag>", "client", "host", "member"),
            [
                (
                    topic,
                    index,
                    "none" if offset is None else offset.offset,
                    end,
                    "" if behind is None else f"{behind:,}",
                    member.client_id,
                    member.host,
                    member.member_id,
                )
                for (topic, index), offset, end, behind, member in rows
            ],
        )


def lines(
    group: GroupDescription,
    committed: Mapping[TopicPartition, CommittedOffset],
    ends: Mapping[TopicPartition, int],
) -> Iterable[tuple[TopicPartition, CommittedOffset | None, int | None, int | None, MemberDescription]]:
    """Each partition that the group has an offset of or a reader for, with its lag."""
    readers = members_by_partition(group)
    for partition in sorted({*committed, *readers}):
        offset, end = committed.get(partition), ends.get(partition)
        lag = None if offset is None or end is None else max(0, end - offset.offset)
        yield partition, offset, end, lag, readers.get(partition, NOBODY)
