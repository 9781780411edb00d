"""`dlog txn describe`."""

import argparse
import time

from distributedlog.cli.cluster_work import each, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import print_table, shown, shown_time
from distributedlog.cli.times import shown_duration
from distributedlog.client import ClusterClient
from distributedlog.client.transactions import TransactionDescription, describe_transaction


def describe(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        is_first = True

        async def one(name: str) -> None:
            nonlocal is_first
            found = await describe_transaction(client, name)
            if arguments.json:
                print_as_json(found)
            else:
                if not is_first:
                    print()
                print_for_people(found)
            is_first = False

        return await each(arguments.names, one)

    return run_work(arguments, work)


def print_as_json(found: TransactionDescription) -> None:
    print_json(
        transactional_id=found.transactional_id,
        state=found.state,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        timeout_ms=found.timeout_ms,
        start_ms=found.start_ms,
        coordinator=found.coordinator_id,
        partitions=[list(partition) for partition in found.partitions],
    )


def print_for_people(found: TransactionDescription) -> None:
    since = ""
    if found.start_ms is not None:
        open_for = shown_duration(time.time_ns() // 1_000_000 - found.start_ms)
        since = f", begun {shown_time(found.start_ms)} UTC ({open_for} ago)"
    print(
        f"{shown(found.transactional_id)}: {shown(found.state)}, producer {found.producer_id} in epoch "
        f"{found.producer_epoch}, timeout {shown_duration(found.timeout_ms)}, "
        f"coordinator {found.coordinator_id}{since}"
    )
    if found.partitions:
        print_table(("topic", "partition>"), found.partitions)
