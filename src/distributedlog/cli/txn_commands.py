"""`dlog txn list | abort`."""

import argparse
from fnmatch import fnmatchcase

from distributedlog.cli.cluster_work import CommandFailed, UsageError, run_work
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.partition_names import named_partitions
from distributedlog.cli.terminal import print_table, shown
from distributedlog.client import ClusterClient, TopicPartition
from distributedlog.client.transactions import (
    STATES,
    ProducerState,
    abort_by_coordinator,
    abort_in_partition,
    describe_producers,
    list_transactions,
)


def list_all(arguments: argparse.Namespace) -> int:
    async def work(client: ClusterClient) -> int:
        found = [
            each
            for each in await list_transactions(
                client,
                states=known_states(arguments.state),
                producer_ids=arguments.producer_id,
                open_longer_than_ms=arguments.open_for,
            )
            if arguments.pattern is None or fnmatchcase(each.transactional_id, arguments.pattern)
        ]
        if arguments.json:
            for each in found:
                print_json(
                    transactional_id=each.transactional_id,
                    state=each.state,
                    producer_id=each.producer_id,
                    coordinator=each.coordinator_id,
                )
        elif found:
            print_table(
                ("transactional id", "state", "producer>", "coordinator>"),
                [
                    (each.transactional_id, each.state, each.producer_id, each.coordinator_id)
                    for each in found
                ],
            )
        return 0

    return run_work(arguments, work)


def known_states(names: list[str]) -> list[str]:
    """Kafka's own spelling, whatever the case in which they were written."""
    spelling = {state.lower(): state for state in STATES}
    for name in names:
        if name.lower() not in spelling:
            raise UsageError(f"there is no state {name!r}, only {', '.join(STATES)}")
    return [spelling[name.lower()] for name in names]


def abort(arguments: argparse.Namespace) -> int:
    if arguments.partition is None:
        return run_work(arguments, lambda client: abort_id(client, arguments))
    return run_work(arguments, lambda client: abort_partition(client, arguments))


async def abort_id(client: ClusterClient, arguments: argparse.Namespace) -> int:
    if arguments.start_offset is not None:
        raise UsageError("--start-offset goes with --partition")
    aborted = await abort_by_coordinator(client, arguments.id)
    if arguments.json:
        print_json(
            transactional_id=aborted.transactional_id,
            producer_id=aborted.producer_id,
            producer_epoch=aborted.producer_epoch,
            result="aborted",
        )
    else:
        print(
            f"Transaction of {shown(aborted.transactional_id)} aborted, "
            f"and its producer {aborted.producer_id} fenced."
        )
    return 0


async def abort_partition(client: ClusterClient, arguments: argparse.Namespace) -> int:
    if arguments.start_offset is None:
        raise UsageError("--partition needs --start-offset, as `dlog txn find-hanging` shows it")
    chosen = await named_partitions(client, [arguments.partition])
    if ":" not in arguments.partition or len(chosen) != 1:
        raise UsageError(f"{arguments.partition!r} is not of the form TOPIC:0")
    (partition,) = chosen
    producer = await producer_with_transaction(client, partition, arguments.start_offset)
    await abort_in_partition(client, partition, producer)
    if arguments.json:
        print_json(
            topic=partition.topic,
            partition=partition.partition,
            start_offset=producer.start_offset,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            result="aborted",
        )
    else:
        print(
            f"Transaction of producer {producer.producer_id} from offset {producer.start_offset} on aborted "
            f"in {shown(str(partition))}."
        )
    return 0


async def producer_with_transaction(
    client: ClusterClient, partition: TopicPartition, start_offset: int
) -> ProducerState:
    producers = (await describe_producers(client, [partition]))[partition]
    found = [each for each in producers if each.start_offset == start_offset]
    if found:
        return found[0]
    starts = sorted(each.start_offset for each in producers if each.start_offset is not None)
    there = f"those that are begin at {', '.join(map(str, starts))}" if starts else "there is none at all"
    raise CommandFailed(f"no transaction is open in {partition} from offset {start_offset} on; {there}")
