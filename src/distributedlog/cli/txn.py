"""`dlog txn`: the arguments."""

import argparse
from typing import TYPE_CHECKING

from distributedlog.cli.cluster_arguments import (
    add_cluster_command,
    add_group_of_commands,
    add_names,
    whole_number,
)
from distributedlog.cli.times import duration_ms

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

PARTITIONS_HELP = "all partitions of a topic, or those named"
PRODUCERS_DESCRIPTION = """\
Show what the leaders of partitions remember of their producers, and which transactions are open there."""
HANGING_DESCRIPTION = """\
Find transactions that are open in a partition and that no coordinator will ever end: readers of committed
data wait for them for ever. The exit code is 1 where there are any."""
ABORT_DESCRIPTION = """\
Abort a transaction. With ID, the coordinator aborts the open transaction of this transactional id, and fences
the producer that has it. With --partition, an abort marker is written into that partition alone, for the
transaction open there from --start-offset on: this is for those that `dlog txn find-hanging` names."""


def add_parser(commands: "Commands") -> None:
    subcommands = add_group_of_commands(commands, "txn", "list, describe and abort transactions")

    listing = add_cluster_command(subcommands, "list", "list transactional ids", run_list)
    listing.add_argument("pattern", metavar="PATTERN", nargs="?", help="only ids like this: 'billing-*'")
    listing.add_argument("--state", metavar="STATE", action="append", default=[], help="as Ongoing or Empty")
    listing.add_argument(
        "--producer-id", metavar="N", type=whole_number, action="append", default=[], help="only of these"
    )
    listing.add_argument(
        "--open-for", metavar="DURATION", type=duration_ms, help="only open ones, for at least: 90s, 15m, 2h"
    )

    describe = add_cluster_command(
        subcommands, "describe", "show the producer, state and partitions of transactional ids", run_describe
    )
    add_names(describe, "names", "ID", "+")

    producers = add_cluster_command(
        subcommands, "producers", "show the producers of partitions", run_producers, PRODUCERS_DESCRIPTION
    )
    add_names(producers, "names", "TOPIC[:P,P]", "+", PARTITIONS_HELP)

    hanging = add_cluster_command(
        subcommands,
        "find-hanging",
        "find transactions that nobody will end",
        run_hanging,
        HANGING_DESCRIPTION,
    )
    add_names(hanging, "names", "TOPIC[:P,P]", "*", f"{PARTITIONS_HELP} (default: all topics)")
    hanging.add_argument(
        "--older-than",
        metavar="DURATION",
        type=duration_ms,
        default="15m",
        help="whose last record is at least so old (default: %(default)s, the longest that brokers allow)",
    )

    abort = add_cluster_command(
        subcommands, "abort", "abort an open transaction", run_abort, ABORT_DESCRIPTION
    )
    which = abort.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help="whose open transaction is aborted")
    which.add_argument("--partition", metavar="TOPIC:P", help="the one partition where it is aborted")
    abort.add_argument("--start-offset", metavar="N", type=whole_number, help="where it begins there")


def run_list(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.txn_commands import list_all

    return list_all(arguments)


def run_describe(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.txn_describe import describe

    return describe(arguments)


def run_producers(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.txn_producers import show_producers

    return show_producers(arguments)


def run_hanging(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.txn_hanging import find

    return find(arguments)


def run_abort(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.txn_commands import abort

    return abort(arguments)
