"""`dlog cluster`: the arguments."""

import argparse
from typing import TYPE_CHECKING

from distributedlog.cli.cluster_arguments import add_cluster_command, add_group_of_commands

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands


def add_parser(commands: "Commands") -> None:
    subcommands = add_group_of_commands(commands, "cluster", "look at a cluster")
    info = add_cluster_command(subcommands, "info", "show a cluster's brokers and what they lead", run_info)
    info.add_argument(
        "--apis", action="store_true", help="the APIs and versions that the first broker serves too"
    )


def run_info(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.cluster_commands import info

    return info(arguments)
