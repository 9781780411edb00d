"""`dlog`: from the command line to the one function that does the work.

Start-up is a feature (docs/adr/0005-cli-framework.md): what a command needs is imported when that
command runs, so a module of this room imports nothing but the standard library at its top.

Exit codes: 0 done, 1 the answer is no or the work failed, 2 the command line was wrong.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from distributedlog.cli.parser import CommandParser

#: Each is a module of this room with a function `add_parser`, in the order in which help shows them.
COMMANDS: Final = (
    "start",
    "topic",
    "produce",
    "consume",
    "group",
    "txn",
    "config",
    "cluster",
    "pipeline",
    "log",
    "demo",
    "completion",
)
EXIT_FAILED: Final = 1
EXIT_INTERRUPTED: Final = 130


def build_parser(command: str | None = None) -> CommandParser:
    """The parser of all commands; or of one, when it is known which will be needed."""
    parser = CommandParser(prog="dlog", description="A Kafka-compatible streaming platform in Python.")
    parser.add_argument("--version", action="store_true", help="print the version and stop")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in (command,) if command in COMMANDS else COMMANDS:
        import_module(f"distributedlog.cli.{name}").add_parser(commands)
    return parser


def may_take(chosen: argparse.Namespace, unknown: Sequence[str]) -> bool:
    """Whether these are names behind an option, as in ``dlog topic delete one --if-exists two``.

    argparse takes a list of names only where it stands in one piece. A command whose list may be
    continued names it in its default `continued`.
    """
    return hasattr(chosen, "continued") and not any(word.startswith("-") and word != "-" for word in unknown)


def main(arguments: Sequence[str] | None = None) -> int:
    """The console script. A traceback is never the interface: errors are one line on stderr."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = build_parser(arguments[0] if arguments else None)
    chosen, unknown = parser.parse_known_args(arguments)
    if may_take(chosen, unknown):
        setattr(chosen, chosen.continued, [*getattr(chosen, chosen.continued), *unknown])
    elif unknown:  # said by the subcommand, which knows its own options
        getattr(chosen, "parser", parser).refuse(unknown)
    if chosen.version:
        from importlib.metadata import version

        print(f"dlog {version('distributedlog')}")
        return 0
    if not hasattr(chosen, "run"):
        getattr(chosen, "parser", parser).print_help()
        return 0
    try:
        code = chosen.run(chosen)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has seen enough (`dlog log dump … | head`). The interpreter must not
        # try to flush into the closed pipe once more on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"dlog: {error}", file=sys.stderr)
        return EXIT_FAILED
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
