"""`dlog demo`: what the engine does, to be watched."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.cli.log import Commands

DESCRIPTION = """\
Append records to a log, read them back, look offsets up by number and by time; then let a second process
append, kill it with SIGKILL in the middle, recover, and compare what it was told is safe with what is
there. Exits with 1 should anything be missing."""


def record_count(text: str) -> int:
    count = int(text.replace("_", "").replace(",", ""))
    if count < 1:
        raise argparse.ArgumentTypeError("at least one record is needed")
    return count


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser(
        "demo",
        help="fill a log, kill a writer, recover, and show the figures",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--records", type=record_count, default=1_000_000, metavar="N", help="how many to append (1,000,000)"
    )
    parser.add_argument(
        "--directory", type=Path, help="where the logs are made and kept (default: a temporary one)"
    )
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.demo_run import run_demo

    return run_demo(arguments.records, arguments.directory)
