"""`dlog txn find-hanging`."""

import argparse
import time

from distributedlog.cli.cluster_work import EXIT_FAILED, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.partition_names import all_partitions, named_partitions
from distributedlog.cli.terminal import counted, print_table, shown_time
from distributedlog.client import ClusterClient
from distributedlog.client.hanging_transactions import HangingTransaction, find_hanging


def find(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        names = arguments.names
        partitions = await (named_partitions(client, names) if names else all_partitions(client))
        found = await find_hanging(
            client, partitions, now_ms=time.time_ns() // 1_000_000, age_min_ms=arguments.older_than
        )
        if arguments.json:
            for each in found:
                print_as_json(each)
        elif found:
            print_for_people(found)
        else:
            print(f"No hanging transaction in {counted(len(partitions), 'partition')}.")
        return EXIT_FAILED if found else 0

    return run_work(arguments, work)


def print_as_json(found: HangingTransaction) -> None:
    print_json(
        topic=found.partition.topic,
        partition=found.partition.partition,
        start_offset=found.producer.start_offset,
        producer_id=found.producer.producer_id,
        producer_epoch=found.producer.producer_epoch,
        last_timestamp_ms=found.producer.last_timestamp_ms,
        transactional_id=found.transactional_id,
        reason=found.reason,
    )


def print_for_people(found: list[HangingTransaction]) -> None:
    print_table(
        ("topic", "partition>", "start offset>", "producer>", "epoch>", "last record", "why it hangs"),
        [
            (
                each.partition.topic,
                each.partition.partition,
                each.producer.start_offset,
                each.producer.producer_id,
                each.producer.producer_epoch,
                shown_time(each.producer.last_timestamp_ms),
                each.reason,
            )
            for each in found
        ],
    )
    print("`dlog txn abort --partition TOPIC:P --start-offset N` aborts one of them in its partition.")
