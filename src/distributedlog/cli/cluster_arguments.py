"""The arguments that all commands share which talk to a cluster, and the kinds of values they take.

Standard library only: this module is imported for every `dlog`, whatever it is asked to do.
"""

import argparse
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    Commands = _SubParsersAction[argparse.ArgumentParser]

BOOTSTRAP_DEFAULT: Final = "127.0.0.1:9092"
BOOTSTRAP_VARIABLE: Final = "DLOG_BOOTSTRAP"
TIMEOUT_SECONDS_DEFAULT: Final = 30.0


def add_group_of_commands(commands: "Commands", name: str, summary: str) -> "Commands":
    """A command that only holds others, as `dlog topic` does."""
    parser = commands.add_parser(name, help=summary, description=f"{summary}.".capitalize())
    parser.set_defaults(parser=parser)
    return parser.add_subparsers(title="commands", metavar="COMMAND")


def add_cluster_command(
    commands: "Commands",
    name: str,
    summary: str,
    run: Callable[[argparse.Namespace], int],
    description: str = "",
) -> argparse.ArgumentParser:
    """A command that talks to a cluster; `run` gets its arguments and returns the exit code."""
    parser = commands.add_parser(
        name,
        help=summary,
        description=description or f"{summary[0].upper()}{summary[1:]}.",
    )
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT[,…]",
        default=os.environ.get(BOOTSTRAP_VARIABLE) or BOOTSTRAP_DEFAULT,
        help=f"brokers to ask first (default: ${BOOTSTRAP_VARIABLE}, else {BOOTSTRAP_DEFAULT})",
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_seconds,
        default=TIMEOUT_SECONDS_DEFAULT,
        help="how long to wait for the cluster (default: %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line, with nothing shortened")
    parser.set_defaults(run=run, parser=parser)
    return parser


def add_names(
    parser: argparse.ArgumentParser, name: str, metavar: str, nargs: str, summary: str = ""
) -> None:
    """The list of names that a command ends with; options may stand between them (see `main.may_take`)."""
    # Without a default, argparse would ask for a list that may be empty.
    default: list[str] | None = [] if nargs == "*" else None
    parser.add_argument(name, metavar=metavar, nargs=nargs, default=default, help=summary)
    parser.set_defaults(continued=name)


def positive_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds") from None
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError(f"{text!r} is no usable number of seconds")
    return seconds


def positive_number(text: str) -> int:
    number = whole_number(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is too small: it must be at least 1")
    return number


def whole_number(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
    if abs(number) >= 2**63:
        raise argparse.ArgumentTypeError(f"{text} is too large")
    return number


def name_and_value(text: str) -> tuple[str, str]:
    """``retention.ms=86400000``; the value may be empty and may hold further equals signs."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form name=value")
    return name.strip(), value
