"""`dlog consume`: the arguments."""

import argparse
from typing import TYPE_CHECKING, Final

from distributedlog.cli.cluster_arguments import add_cluster_command, add_names, positive_number, whole_number
from distributedlog.cli.times import MOMENT_HELP, moment_ms

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

FORMATS: Final = ("value", "keyed", "full", "json")
DESCRIPTION: Final = """\
Print the records of topics. Without --follow it starts at the beginning and stops at the end as it was then;
with --follow it starts at the end and goes on until Ctrl-C. With --group it starts where the group has come
to, and commits what it has printed."""


def add_parser(commands: "Commands") -> None:
    parser = add_cluster_command(commands, "consume", "print the records of topics", run, DESCRIPTION)
    add_names(parser, "topics", "TOPIC", "+")
    parser.add_argument("--follow", "-f", action="store_true", help="wait for more")
    parser.add_argument(
        "--partition", "-p", metavar="N", type=whole_number, action="append", default=[],
        help="only this one; may be repeated",
    )  # fmt: skip
    start = parser.add_mutually_exclusive_group()
    start.add_argument("--from-beginning", action="store_true", help="from the first record there is")
    start.add_argument(
        "--offset", "-o", metavar="N", type=whole_number,
        help="from this offset in each partition; -N: the last N records of each",
    )  # fmt: skip
    start.add_argument("--since", metavar="TIME", type=moment_ms, help=MOMENT_HELP)
    parser.add_argument("--until", metavar="TIME", type=moment_ms, help="up to this moment, written likewise")
    parser.add_argument("--count", "-n", metavar="N", type=positive_number, help="stop after so many records")
    parser.add_argument("--group", "-g", metavar="GROUP", help="as a member of this consumer group")
    parser.add_argument("--no-commit", action="store_true", help="leave the group's offsets as they are")
    parser.add_argument("--committed", action="store_true", help="leave out what transactions did not commit")
    parser.add_argument(
        "--format", choices=FORMATS, default="value",
        help="value (default); keyed: key, tab, value; full: with offset, time and headers; json, as --json",
    )  # fmt: skip
    parser.add_argument(
        "--template", metavar="TEXT",
        help="in place of a format: text with {topic} {partition} {offset} {timestamp} {time} {key} {value} "
        "{headers}",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.consume_command import consume

    return consume(arguments)
