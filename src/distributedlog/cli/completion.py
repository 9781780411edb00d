"""`dlog completion`: a script that lets the shell complete commands and options.

    source <(dlog completion bash)

The script holds all words, taken from the parser itself: pressing the tabulator starts no Python.
"""

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.cli.cluster_arguments import Commands

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = """\
Print a script for the shell that completes commands and options. For bash, add to ~/.bashrc:
source <(dlog completion bash). For zsh, to ~/.zshrc: source <(dlog completion zsh). For fish:
dlog completion fish > ~/.config/fish/completions/dlog.fish"""


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser(
        "completion", help="print a script for the shell's completion", description=DESCRIPTION
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of: {', '.join(SHELLS)}")
    parser.set_defaults(run=run, parser=parser)


def run(arguments: argparse.Namespace) -> int:
    from distributedlog.cli.completion_scripts import script
    from distributedlog.cli.main import build_parser

    print(script(arguments.shell, build_parser()), end="")
    return 0
