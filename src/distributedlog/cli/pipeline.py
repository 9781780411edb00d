"""`dlog pipeline`: the arguments."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distributedlog.cli.cluster_arguments import (
    BOOTSTRAP_DEFAULT,
    BOOTSTRAP_VARIABLE,
    add_group_of_commands,
    add_names,
    name_and_value,
    positive_number,
    positive_seconds,
)

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

HOME_VARIABLE: Final = "DLOG_PIPELINES"
HOME_DEFAULT: Final = "dlog-pipelines"
RUN_DESCRIPTION = """\
Run a pipeline that a TOML or Python file specifies, in the foreground until Ctrl-C or SIGTERM, or with
--detach in the background. The same file runs on a laptop and, with --master, on any Spark cluster."""
STATUS_DESCRIPTION = """\
Show how pipelines are doing: rows a second, lag, watermark, size of the state, time of a batch. On a
terminal the table is renewed until Ctrl-C."""
RESET_DESCRIPTION = """\
Forget the position and state of a stopped pipeline: its next run begins anew. What it has written stays."""
QUERY_DESCRIPTION = """\
Look up the latest value of KEY in the table of a `materialize` pipeline, running or stopped; without KEY,
show the first keys."""
DECLARE_DESCRIPTION = """\
Write the files with which `spark-pipelines run` runs the same specification as a Spark Declarative
Pipeline."""
STOP_TIMEOUT_SECONDS: Final = 60.0


def add_parser(commands: "Commands") -> None:
    subcommands = add_group_of_commands(commands, "pipeline", "run and watch data pipelines on Spark")

    run = _add(subcommands, "run", "run a pipeline", run_run, RUN_DESCRIPTION)
    run.add_argument("spec", metavar="SPEC", type=Path, help="TOML or Python file")
    run.add_argument("--master", metavar="URL", help="any Spark master (default: local[*])")
    run.add_argument(
        "--bootstrap",
        metavar="HOST:PORT[,…]",
        default=os.environ.get(BOOTSTRAP_VARIABLE) or BOOTSTRAP_DEFAULT,
        help=f"where the file names no broker (default: ${BOOTSTRAP_VARIABLE}, else {BOOTSTRAP_DEFAULT})",
    )
    run.add_argument(
        "--conf", metavar="NAME=VALUE", type=name_and_value, action="append", default=[], help="for Spark"
    )
    run.add_argument("--detach", action="store_true", help="run in the background, return once it runs")
    run.add_argument("--check", action="store_true", help="only say whether the file is right")

    listing = _add(subcommands, "list", "list pipelines", run_list)
    listing.add_argument("--json", action="store_true", help="one JSON object a line")

    status = _add(subcommands, "status", "show how pipelines are doing", run_status, STATUS_DESCRIPTION)
    add_names(status, "names", "NAME", "*", "those to show (default: all)")
    status.add_argument("--json", action="store_true", help="one JSON object a line, once")
    status.add_argument("--once", action="store_true", help="once, on a terminal too")

    stop = _add(subcommands, "stop", "stop running pipelines", run_stop)
    add_names(stop, "names", "NAME", "+")
    stop.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_seconds,
        default=STOP_TIMEOUT_SECONDS,
        help="how long to wait for the end (default: %(default)g)",
    )

    reset = _add(subcommands, "reset", "forget position and state", run_reset, RESET_DESCRIPTION)
    add_names(reset, "names", "NAME", "+")
    reset.add_argument("--yes", action="store_true", help="do not ask")

    query = _add(subcommands, "query", "look a key up in a table", run_query, QUERY_DESCRIPTION)
    query.add_argument("name", metavar="NAME", help="the pipeline")
    query.add_argument("key", metavar="KEY", nargs="?", help="the key, as text")
    query.add_argument("--limit", metavar="N", type=positive_number, default=20, help="so many keys (20)")
    query.add_argument("--json", action="store_true", help="with timestamp, partition, offset and headers")

    declare = _add(subcommands, "declare", "make a declarative pipeline", run_declare, DECLARE_DESCRIPTION)
    declare.add_argument("spec", metavar="SPEC", type=Path, help="TOML or Python file")
    declare.add_argument("directory", metavar="DIR", type=Path, help="where to write the files")
    declare.add_argument("--force", action="store_true", help="replace files that are there")


def _add(
    subcommands: "Commands",
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    description: str = "",
) -> argparse.ArgumentParser:
    parser = subcommands.add_parser(
        name, help=summary, description=description or f"{summary[0].upper()}{summary[1:]}."
    )
    parser.add_argument(
        "--home",
        metavar="DIR",
        type=Path,
        default=Path(os.environ.get(HOME_VARIABLE) or HOME_DEFAULT),
        help=f"where pipelines keep what they know (default: ${HOME_VARIABLE}, else {HOME_DEFAULT})",
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


def run_run(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_run import run

    return run(arguments)


def run_list(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_status import show_list

    return show_list(arguments)


def run_status(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_status import show_status

    return show_status(arguments)


def run_stop(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_stop import stop

    return stop(arguments)


def run_reset(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_stop import reset

    return reset(arguments)


def run_query(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_query import query

    return query(arguments)


def run_declare(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.pipeline_run import declare

    return declare(arguments)
