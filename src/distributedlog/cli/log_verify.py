"""`dlog log verify`."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from distributedlog.log.inspect import NothingToInspect, inspect
from distributedlog.log.inspect_events import Finding, PartitionSummary, Severity

EXIT_DAMAGED: Final = 1
EXIT_USAGE: Final = 2


def verify(paths: Sequence[Path], with_records: bool, as_json: bool) -> int:
    """Print each finding and a line for each partition; the exit code says whether there was damage."""
    try:
        streams = [inspect(path, with_records) for path in paths]
    except NothingToInspect as error:
        print(f"dlog log verify: {error}", file=sys.stderr)
        return EXIT_USAGE
    damages = 0
    notes = 0
    if as_json:
        from distributedlog.cli.event_json import event_line

        def show(event: Finding | PartitionSummary) -> None:
            sys.stdout.write(event_line(event) + "\n")
    else:
        from distributedlog.cli.event_table import finding_text, new_console, summary_text

        console = new_console()

        def show(event: Finding | PartitionSummary) -> None:
            console.print(finding_text(event) if isinstance(event, Finding) else summary_text(event))

    for events in streams:
        for event in events:
            if isinstance(event, Finding):
                damages += event.severity is Severity.DAMAGE
                notes += event.severity is Severity.NOTE
                show(event)
            elif isinstance(event, PartitionSummary):
                show(event)
    if not as_json:
        verdict = f"DAMAGED: {damages} found" if damages else "sound"
        print(f"{verdict}{f', {notes} to note' if notes else ''}")
    return EXIT_DAMAGED if damages else 0
