"""`dlog demo`: the engine at work, to be watched (`distributedlog.demo`)."""

from typing import TYPE_CHECKING

from distributedlog.demo.command import DESCRIPTION, add_arguments, run

if TYPE_CHECKING:
    from distributedlog.cli.log import Commands


def add_parser(commands: "Commands") -> None:
    parser = commands.add_parser(
        "demo",
        help="fill a log, kill a writer, recover, and show the figures",
        description=DESCRIPTION,
    )
    add_arguments(parser)
    parser.set_defaults(run=run, parser=parser)
