"""`dlog log`: look at logs from outside, without changing anything."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Commands = _SubParsersAction[argparse.ArgumentParser]

PATH_HELP = (
    "a data directory, a partition's directory, or one file of it (.log, .index, .timeindex, .txnindex, "
    ".snapshot, leader-epoch-checkpoint, *-offset-checkpoint, offsets.journal, partition.metadata, "
    "meta.properties)"
)
DUMP_DESCRIPTION = """\
Print what stands in a log: batches, index entries, checkpoints, producer snapshots, aborted transactions,
leader epochs; and every inconsistency, where it is met. Nothing is changed. A log of any size is read in
bounded memory."""
VERIFY_DESCRIPTION = """\
Check a log and list each damage with its file and position. Exits with 0 when the log is sound, 1 when it
is damaged, 2 when there is no log at PATH. Nothing is changed. In a log that is being written at this
moment, a batch that is half there is reported as a torn tail."""


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser("log", help="look into logs, or check them")
    parser.set_defaults(parser=parser)
    subcommands = parser.add_subparsers(title="commands", metavar="COMMAND")

    dump = subcommands.add_parser("dump", help="print what stands in a log", description=DUMP_DESCRIPTION)
    dump.add_argument("paths", metavar="PATH", nargs="+", type=Path, help=PATH_HELP)
    dump.add_argument("--records", action="store_true", help="print the records of each batch too")
    dump.add_argument("--json", action="store_true", help="one JSON object a line, with nothing shortened")
    dump.set_defaults(run=run_dump, parser=dump)

    verify = subcommands.add_parser("verify", help="check a log for damage", description=VERIFY_DESCRIPTION)
    verify.add_argument("paths", metavar="PATH", nargs="+", type=Path, help=PATH_HELP)
    verify.add_argument(
        "--records", action="store_true", help="decode and check every record, not only its batch's CRC"
    )
    verify.add_argument("--json", action="store_true", help="one JSON object a line")
    verify.set_defaults(run=run_verify, parser=verify)


def run_dump(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.log_dump import dump

    return dump(arguments.paths, with_records=arguments.records, as_json=arguments.json)


def run_verify(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.log_verify import verify

    return verify(arguments.paths, with_records=arguments.records, as_json=arguments.json)
