"""`dlog cluster info`."""

import argparse
from collections import Counter

from distributedlog.cli.cluster_work import run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import counted, print_table, shown
from distributedlog.client import ClusterClient
from distributedlog.wire import APIS

API_FIELDS = ("key", "name", "first", "last")


def info(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        topics = await client.all_topics()
        metadata = client.metadata
        led: Counter[int] = Counter()
        held: Counter[int] = Counter()
        for topic in topics:
            for partition in topic.partitions:
                led[partition.leader_id] += 1
                held.update(partition.replicas)
        brokers = sorted(metadata.brokers.values(), key=lambda broker: broker.node_id)
        partitions = sum(len(topic.partitions) for topic in topics)
        leaderless = sum(count for leader, count in led.items() if leader not in metadata.brokers)
        apis = await served_apis(client) if arguments.apis else []
        if arguments.json:
            print_json(
                cluster_id=metadata.cluster_id,
                controller=metadata.controller_id,
                topics=len(topics),
                partitions=partitions,
                leaderless_partitions=leaderless,
                brokers=[
                    {
                        "id": broker.node_id,
                        "host": broker.address.host,
                        "port": broker.address.port,
                        "rack": broker.rack,
                        "leads": led[broker.node_id],
                        "replicas": held[broker.node_id],
                    }
                    for broker in brokers
                ],
                **({"apis": [dict(zip(API_FIELDS, api, strict=True)) for api in apis]} if apis else {}),
            )
            return 0
        print(
            f"Cluster {shown(metadata.cluster_id or 'without an id')}: {counted(len(brokers), 'broker')}, "
            f"{counted(len(topics), 'topic')}, {counted(partitions, 'partition')}"
            + (f", {leaderless:,} without a leader" if leaderless else "")
        )
        print_table(
            ("broker>", "address", "rack", "controller", "leads>", "replicas>"),
            [
                (
                    broker.node_id,
                    broker.address,
                    broker.rack,
                    "yes" if broker.node_id == metadata.controller_id else "",
                    led[broker.node_id],
                    held[broker.node_id],
                )
                for broker in brokers
            ],
        )
        if apis:
            print()
            print_table(("key>", "api", "from>", "to>"), apis)
        return 0

    return run_work(arguments, work)


async def served_apis(client: ClusterClient) -> list[tuple[int, str, int, int]]:
    """As one broker tells them; a name that is not known here is left out."""
    node_id = min(client.metadata.brokers)
    ranges = (await client.connection_to(node_id)).versions.ranges
    return [
        (key, APIS[key].name if key in APIS else "", first, last)
        for key, (first, last) in sorted(ranges.items())
    ]
