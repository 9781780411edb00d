"""`dlog topic`: the arguments."""

import argparse
from typing import TYPE_CHECKING

from distributedlog.cli.cluster_arguments import (
    add_cluster_command,
    add_group_of_commands,
    add_names,
    name_and_value,
    positive_number,
)

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

CONFIG_HELP = "Kafka's topic configuration by its names, as retention.ms=86400000; may be repeated"


def add_parser(commands: "Commands") -> None:
    subcommands = add_group_of_commands(commands, "topic", "create, list, describe, change and delete topics")

    create = add_cluster_command(subcommands, "create", "create topics", run_create)
    add_names(create, "names", "NAME", "+")
    create.add_argument(
        "--partitions", "-p", metavar="N", type=positive_number, help="how many (default: the cluster's own)"
    )
    create.add_argument(
        "--replication-factor", "-r", metavar="N", type=positive_number,
        help="copies of each partition (default: the cluster's own)",
    )  # fmt: skip
    create.add_argument(
        "--config",
        "-c",
        metavar="NAME=VALUE",
        type=name_and_value,
        action="append",
        default=[],
        help=CONFIG_HELP,
    )
    create.add_argument("--if-not-exists", action="store_true", help="a topic that is there is no error")
    create.add_argument("--dry-run", action="store_true", help="only ask the cluster whether it would")

    listing = add_cluster_command(subcommands, "list", "list topics", run_list)
    listing.add_argument("pattern", metavar="PATTERN", nargs="?", help="only names like this: 'orders-*'")
    listing.add_argument("--internal", action="store_true", help="Kafka's own topics too")

    describe = add_cluster_command(
        subcommands, "describe", "show partitions, offsets and configuration of topics", run_describe
    )
    add_names(describe, "names", "NAME", "+")

    alter = add_cluster_command(subcommands, "alter", "change the configuration of topics", run_alter)
    add_names(alter, "names", "NAME", "+")
    alter.add_argument(
        "--set", metavar="NAME=VALUE", type=name_and_value, action="append", default=[], help=CONFIG_HELP
    )
    alter.add_argument(
        "--unset", metavar="NAME", action="append", default=[], help="back to the default; may be repeated"
    )

    delete = add_cluster_command(subcommands, "delete", "delete topics and all that is in them", run_delete)
    add_names(delete, "names", "NAME", "+")
    delete.add_argument("--if-exists", action="store_true", help="a topic that is not there is no error")

    add = add_cluster_command(
        subcommands,
        "add-partitions",
        "give topics more partitions",
        run_add_partitions,
        "Give topics more partitions. Keys of records to come may change their partition by it.",
    )
    add_names(add, "names", "NAME", "+")
    how_many = add.add_mutually_exclusive_group(required=True)
    how_many.add_argument("--total", metavar="N", type=positive_number, help="so many in all")
    how_many.add_argument("--more", metavar="N", type=positive_number, help="so many more than now")


def run_create(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.topic_commands import create

    return create(arguments)


def run_list(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.topic_commands import list_all

    return list_all(arguments)


def run_describe(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.topic_describe import describe

    return describe(arguments)


def run_alter(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.topic_commands import alter

    return alter(arguments)


def run_delete(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.topic_commands import delete

    return delete(arguments)


def run_add_partitions(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.topic_commands import add_partitions

    return add_partitions(arguments)
