"""The command line of the demo, alone and as `dlog demo`."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

DESCRIPTION: Final = """\
Append records to a log, read them back, look them up by number and by time, kill a writing process in the
middle, recover, compact; use a broker with a Kafka client, kill it and restart it; and check all that is
claimed. Exits with 1 should a claim not hold."""
RECORDS_COUNT: Final = 1_000_000
EXIT_INTERRUPTED: Final = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--records", type=positive, default=RECORDS_COUNT, metavar="N", help="how many to append (1,000,000)"
    )
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="DIR",
        help="a new directory for the logs, which stay there (default: a temporary one, removed at the end)",
    )


def positive(text: str) -> int:
    digits = text.replace("_", "").replace(",", "")
    if not digits.isdecimal() or not int(digits):
        raise argparse.ArgumentTypeError(f"a number of records, at least 1, not {text!r}")
    return int(digits)


def run(arguments: argparse.Namespace) -> int:
    from distributedlog.demo.runner import run_demo  # noqa: PLC0415 (only when it is going to run)

    return run_demo(arguments.records, arguments.keep)


def main(arguments: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    parser = argparse.ArgumentParser(
        prog="python -m distributedlog.demo", description=DESCRIPTION, allow_abbrev=False
    )
    add_arguments(parser)
    try:
        code = run(parser.parse_args(arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
