"""`dlog topic describe`."""

import argparse

from distributedlog.cli.cluster_work import each, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import counted, print_table, shown, shown_id
from distributedlog.cli.topic_lookup import find_topic
from distributedlog.client import BrokerError, ClusterClient, TopicMetadata, TopicPartition
from distributedlog.client.configs import ConfigSource, ResourceType, describe_config
from distributedlog.client.offsets import EARLIEST, LATEST, list_offsets_at

Offsets = dict[TopicPartition, int]


def describe(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        is_first = True

        async def one(name: str) -> None:
            nonlocal is_first
            topic = await find_topic(client, name)
            partitions = [
                TopicPartition(name, partition.index)
                for partition in topic.partitions
                if partition.leader_id >= 0  # of a partition without a leader nobody knows the offsets
            ]
            starts = await list_offsets_at(client, partitions, EARLIEST)
            ends = await list_offsets_at(client, partitions, LATEST)
            configs = await own_configs(client, name)
            if arguments.json:
                print_as_json(topic, starts, ends, configs)
            else:
                if not is_first:
                    print()
                print_for_people(topic, starts, ends, configs)
            is_first = False

        return await each(arguments.names, one)

    return run_work(arguments, work)


async def own_configs(client: ClusterClient, name: str) -> dict[str, str | None]:
    """What was set on this topic; nothing where the cluster will not tell."""
    try:
        entries = await describe_config(client, ResourceType.TOPIC, name)
    except BrokerError:
        return {}
    return {
        entry.name: entry.value
        for entry in entries
        if entry.config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG
    }


def print_as_json(
    topic: TopicMetadata, starts: Offsets, ends: Offsets, configs: dict[str, str | None]
) -> None:
    print_json(
        topic=topic.name,
        topic_id=shown_id(topic.topic_id),
        internal=topic.is_internal,
        configs=configs,
        partitions=[
            {
                "partition": partition.index,
                "leader": partition.leader_id,
                "leader_epoch": partition.leader_epoch,
                "replicas": partition.replicas,
                "isr": partition.isr,
                "offline_replicas": partition.offline_replicas,
                "start_offset": starts.get(TopicPartition(topic.name, partition.index)),
                "end_offset": ends.get(TopicPartition(topic.name, partition.index)),
            }
            for partition in topic.partitions
        ],
    )


def print_for_people(
    topic: TopicMetadata, starts: Offsets, ends: Offsets, configs: dict[str, str | None]
) -> None:
    kind = ", internal" if topic.is_internal else ""
    count = counted(len(topic.partitions), "partition")
    print(f"{shown(topic.name)}: {count}{kind}, id {shown_id(topic.topic_id)}")
    for name, value in configs.items():
        print(f"  {shown(name)}={shown(str(value))}")
    rows = []
    for partition in topic.partitions:
        place = TopicPartition(topic.name, partition.index)
        start, end = starts.get(place), ends.get(place)
        rows.append(
            (
                partition.index,
                partition.leader_id if partition.leader_id >= 0 else "none",
                " ".join(map(str, partition.replicas)),
                " ".join(map(str, partition.isr)),
                start,
                end,
                "" if start is None or end is None else f"{end - start:,}",
            )
        )
    print_table(("partition>", "leader>", "replicas", "in sync", "start>", "end>", "offsets>"), rows)
