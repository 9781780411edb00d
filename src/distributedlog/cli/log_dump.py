"""`dlog log dump`."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from distributedlog.log.inspect import NothingToInspect, inspect
from distributedlog.log.inspect_events import Event

EXIT_USAGE: Final = 2


def dump(paths: Sequence[Path], with_records: bool, as_json: bool) -> int:
    """Print everything in `paths`. Inconsistencies are part of what is printed; `verify` judges them."""
    try:
        streams = [inspect(path, with_records) for path in paths]
    except NothingToInspect as error:
        print(f"dlog log dump: {error}", file=sys.stderr)
        return EXIT_USAGE
    finish: Callable[[], None]
    if as_json:
        from distributedlog.cli.event_json import event_line

        def show(event: Event) -> None:
            sys.stdout.write(event_line(event) + "\n")

        finish = sys.stdout.flush
    else:
        from distributedlog.cli.event_table import TablePrinter, new_console

        printer = TablePrinter(new_console())
        show, finish = printer.print, printer.flush
    for events in streams:
        for event in events:
            show(event)
        finish()
    return 0
