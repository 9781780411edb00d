"""`dlog config`: the arguments."""

import argparse
from typing import TYPE_CHECKING

from distributedlog.cli.cluster_arguments import add_cluster_command, add_group_of_commands, name_and_value

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

KINDS = ("topic", "broker", "group", "client-metrics")
NAME_HELP = "the topic's or group's name or the broker's id; for all brokers at once, `default`"


def add_parser(commands: "Commands") -> None:
    subcommands = add_group_of_commands(
        commands, "config", "read and change the configuration of topics, brokers and groups"
    )

    describe = add_cluster_command(subcommands, "describe", "show configuration", run_describe)
    _add_resource(describe)
    describe.add_argument("keys", metavar="KEY", nargs="*", help="only these entries")
    describe.add_argument("--all", action="store_true", help="defaults too, not only what was set")

    setting = add_cluster_command(subcommands, "set", "set entries", run_set)
    _add_resource(setting)
    setting.add_argument("changes", metavar="KEY=VALUE", nargs="+", type=name_and_value)
    how = setting.add_mutually_exclusive_group()
    how.add_argument("--append", action="store_true", help="add the values to entries that are lists")
    how.add_argument("--subtract", action="store_true", help="take the values out of entries that are lists")
    setting.add_argument("--dry-run", action="store_true", help="only ask the cluster whether it would")

    delete = add_cluster_command(subcommands, "delete", "set entries back to their defaults", run_delete)
    _add_resource(delete)
    delete.add_argument("keys", metavar="KEY", nargs="+")
    delete.add_argument("--dry-run", action="store_true", help="only ask the cluster whether it would")


def _add_resource(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", choices=KINDS, metavar="KIND", help=f"one of: {', '.join(KINDS)}")
    parser.add_argument("name", metavar="NAME", help=NAME_HELP)


def run_describe(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.config_commands import describe

    return describe(arguments)


def run_set(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.config_commands import set_entries

    return set_entries(arguments)


def run_delete(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.config_commands import delete_entries

    return delete_entries(arguments)
