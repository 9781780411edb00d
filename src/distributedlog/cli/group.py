"""`dlog group`: the arguments."""

import argparse
from typing import TYPE_CHECKING

from distributedlog.cli.cluster_arguments import (
    add_cluster_command,
    add_group_of_commands,
    add_names,
    whole_number,
)
from distributedlog.cli.times import MOMENT_HELP, moment_ms

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

RESET_DESCRIPTION = """\
Give a group other offsets to go on from. The group must have no members. Offsets outside of what a
partition holds are moved to its nearest end."""


def add_parser(commands: "Commands") -> None:
    subcommands = add_group_of_commands(commands, "group", "list, describe, reset and delete consumer groups")

    listing = add_cluster_command(subcommands, "list", "list groups", run_list)
    listing.add_argument("pattern", metavar="PATTERN", nargs="?", help="only names like this: 'billing-*'")
    listing.add_argument("--state", metavar="STATE", action="append", default=[], help="as Stable or Empty")
    listing.add_argument("--type", metavar="TYPE", action="append", default=[], help="classic or consumer")

    describe = add_cluster_command(
        subcommands, "describe", "show members, offsets and lag of groups", run_describe
    )
    add_names(describe, "names", "GROUP", "+")
    describe.add_argument("--members", action="store_true", help="members with what each reads")
    describe.add_argument(
        "--read-committed", action="store_true",
        help="ends and lag as readers of committed records see them: up to the first open transaction",
    )  # fmt: skip

    reset = add_cluster_command(
        subcommands, "reset-offsets", "set where a group goes on", run_reset, RESET_DESCRIPTION
    )
    # argparse would not break the line between alternatives.
    reset.usage = "%(prog)s GROUP WHICH WHERE [OPTION …]"
    reset.add_argument("group", metavar="GROUP")
    which = reset.add_argument_group("WHICH is one of").add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--topic", metavar="TOPIC[:P,P]", action="append", default=[],
        help="all partitions of a topic, or those named; may be repeated",
    )  # fmt: skip
    which.add_argument("--all-topics", action="store_true", help="all that the group has offsets of")
    where = reset.add_argument_group("WHERE is one of").add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_true", help="to the first record there is")
    where.add_argument("--to-latest", action="store_true", help="behind the last record")
    where.add_argument("--to-offset", metavar="N", type=whole_number, help="to this one in each partition")
    where.add_argument("--to-time", metavar="TIME", type=moment_ms, help=MOMENT_HELP)
    where.add_argument(
        "--shift-by", metavar="N", type=whole_number, help="so many records on, or back when negative"
    )
    where.add_argument("--to-current", action="store_true", help="keep them, but commit them anew")
    reset.add_argument("--dry-run", action="store_true", help="show what would be set, and set nothing")

    delete = add_cluster_command(
        subcommands, "delete", "delete groups without members, and their offsets", run_delete
    )
    add_names(delete, "names", "GROUP", "+")


def run_list(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.group_commands import list_all

    return list_all(arguments)


def run_describe(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.group_describe import describe

    return describe(arguments)


def run_reset(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.group_reset import reset

    return reset(arguments)


def run_delete(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.group_commands import delete

    return delete(arguments)
