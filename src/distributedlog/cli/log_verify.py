"""`dlog log verify`."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Final

from distributedlog.cli.progress import ProgressBar
from distributedlog.log.inspect import NothingToInspect, inspect
from distributedlog.log.inspect_events import BatchSeen, Event, Finding, PartitionSummary, Severity

EXIT_DAMAGED: Final = 1
EXIT_USAGE: Final = 2


def verify(paths: Sequence[Path], with_records: bool, as_json: bool) -> int:
    """Print each finding and a line for each partition; the exit code says whether there was damage."""
    try:
        streams = [inspect(path, with_records) for path in paths]
    except NothingToInspect as error:
        print(f"dlog log verify: {error}", file=sys.stderr)
        return EXIT_USAGE
    if as_json:
        from distributedlog.cli.event_json import event_line

        def show(event: Finding | PartitionSummary) -> None:
            sys.stdout.write(event_line(event) + "\n")
    else:
        from distributedlog.cli.event_table import finding_text, new_console, summary_text

        console = new_console()

        def show(event: Finding | PartitionSummary) -> None:
            console.print(finding_text(event) if isinstance(event, Finding) else summary_text(event))

    found: Counter[Severity] = Counter()
    with ProgressBar("Checking", is_wanted=True) as bar:
        for event in watched(chain.from_iterable(streams), bar, sum(map(log_bytes, paths))):
            if isinstance(event, Finding):
                found[event.severity] += 1
                show(event)
            elif isinstance(event, PartitionSummary):
                show(event)
    damages, notes = found[Severity.DAMAGE], found[Severity.NOTE]
    if not as_json:
        verdict = f"DAMAGED: {damages} found" if damages else "sound"
        print(f"{verdict}{f', {notes} to note' if notes else ''}")
    return EXIT_DAMAGED if damages else 0


def watched(events: Iterable[Event], bar: ProgressBar, total: int) -> Iterator[Event]:
    """The same events, while the bar shows how many bytes of batches they tell of."""
    done = records = 0
    for event in events:
        if isinstance(event, BatchSeen):
            done += event.header.size
            records += event.header.records_count
        bar.update(done, total, records, done)
        yield event


def log_bytes(path: Path) -> int:
    """Bytes of all batches there, as far as the sizes of files tell."""
    if path.is_file():
        return path.stat().st_size if path.suffix == ".log" else 0
    return sum(file.stat().st_size for file in path.glob("**/*.log"))
