"""`dlog produce`: the arguments."""

import argparse
from typing import TYPE_CHECKING, Final

from distributedlog.cli.cluster_arguments import (
    add_cluster_command,
    add_names,
    name_and_value,
    positive_number,
    whole_number,
)

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
DESCRIPTION: Final = """\
Write records to a topic: each line of the files, or of standard input, is one. With --json a line is an
object with value, and where wanted key, headers and timestamp, as `dlog consume --json` prints it; what is
not UTF-8 stands as {"base64": …}. Returns when the cluster has acknowledged everything; at a line that is
no record it stops, with all that stands before it written."""


def add_parser(commands: "Commands") -> None:
    parser = add_cluster_command(commands, "produce", "write records to a topic", run, DESCRIPTION)
    parser.add_argument("topic", metavar="TOPIC")
    add_names(parser, "files", "FILE", "*", "- is standard input, which is the default")
    parser.add_argument(
        "--input", choices=("lines", "json", "file"), default=None,
        help="what a record is: a line (default), a line of JSON (with --json), or each file as a whole",
    )  # fmt: skip
    key = parser.add_mutually_exclusive_group()
    key.add_argument("--key", metavar="KEY", help="the key of all records")
    key.add_argument("--key-separator", metavar="TEXT", help="what stands before it in a line is the key")
    parser.add_argument(
        "--header", "-H", metavar="NAME=VALUE", type=name_and_value, action="append", default=[],
        help="for all records; may be repeated",
    )  # fmt: skip
    parser.add_argument("--null", metavar="TEXT", help="a value equal to it is written as null: a deletion")
    parser.add_argument(
        "--partition",
        "-p",
        metavar="N",
        type=whole_number,
        help="to this one (default: by key, else in turn)",
    )
    parser.add_argument(
        "--compression", "-z", choices=CODECS, default="none", help="of each batch (default: %(default)s)"
    )
    parser.add_argument(
        "--acks", choices=("all", "1", "0"), default="all",
        help="who must have a record before it counts as written (default: all in-sync replicas)",
    )  # fmt: skip
    parser.add_argument(
        "--batch-size", metavar="BYTES", type=positive_number, default=128 * 1024,
        help="records are sent together up to so many bytes (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--quiet", "-q", action="store_true", help="no report, no progress bar")


def run(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.produce_command import produce

    return produce(arguments)
