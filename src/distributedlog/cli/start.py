"""`dlog start`: a broker in the foreground."""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.cli.log import Commands

DESCRIPTION = """\
Run a broker until SIGINT (Ctrl-C) or SIGTERM; a second one ends it at once. The first line on standard
output says when it is ready, and where. Settings have Kafka's names and come from dlog.toml, then from the
environment (DLOG_LOG_RETENTION_MS for log.retention.ms), then from the options here; the last one counts."""


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser("start", help="run a broker", description=DESCRIPTION)
    parser.add_argument("--data", metavar="DIR", help="data directory, made if it is not there (dlog-data)")
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="where clients connect (127.0.0.1:9092); port 0 takes a free one",
    )
    parser.add_argument(
        "--metrics", metavar="HOST:PORT", help="where to serve /metrics, /healthz and /api/metadata (nowhere)"
    )
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], dest="settings", help="any setting"
    )
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="settings file (dlog.toml, if it is there)"
    )
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from distributedlog.server.settings import SettingsError, load_settings

    flags = [
        (name, value)
        for name, value in (
            ("data", arguments.data),
            ("listen", arguments.listen),
            ("metrics", arguments.metrics),
        )
        if value is not None
    ]
    for assignment in arguments.settings:
        name, equals, value = assignment.partition("=")
        if not equals:
            arguments.parser.error(f"--set {assignment}: expected NAME=VALUE")
        flags.append((name.strip(), value))
    try:
        settings = load_settings(flags, file=arguments.config, environment=os.environ)
    except SettingsError as error:
        arguments.parser.error(str(error))

    from distributedlog.server.run import run_node

    return run_node(settings)
