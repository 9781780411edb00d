"""`dlog txn producers`."""

import argparse

from distributedlog.cli.cluster_work import run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.partition_names import named_partitions
from distributedlog.cli.terminal import print_table, shown_time
from distributedlog.client import ClusterClient
from distributedlog.client.transactions import describe_producers


def show_producers(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        producers = await describe_producers(client, await named_partitions(client, arguments.names))
        found = [(partition, each) for partition in sorted(producers) for each in producers[partition]]
        if arguments.json:
            for (topic, index), each in found:
                print_json(
                    topic=topic,
                    partition=index,
                    producer_id=each.producer_id,
                    producer_epoch=each.producer_epoch,
                    last_sequence=each.last_sequence,
                    last_timestamp_ms=each.last_timestamp_ms,
                    coordinator_epoch=each.coordinator_epoch,
                    start_offset=each.start_offset,
                )
        elif found:
            print_table(
                ("topic", "partition>", "producer>", "epoch>", "sequence>", "last record", "open from>"),
                [
                    (
                        topic,
                        index,
                        each.producer_id,
                        each.producer_epoch,
                        each.last_sequence,
                        shown_time(each.last_timestamp_ms),
                        each.start_offset,
                    )
                    for (topic, index), each in found
                ],
            )
        return 0

    return run_work(arguments, work)
