"""The acts of `dlog demo`, one function each."""

import contextlib
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from distributedlog import Log
from distributedlog.cli.demo_writer import value_of
from distributedlog.log import Entry
from distributedlog.records import Record

RECORDS_IN_APPEND: Final = 1_000
LOOKUPS: Final = 2_000
SINGLE_APPENDS_MAX: Final = 100_000
ACKED_BEFORE_KILL: Final = 2_000
FIRST_TIMESTAMP: Final = 1_700_000_000_000
SEED: Final = 7
NANOSECONDS: Final = 1e9

Advance = Callable[[int], None]


@dataclass(slots=True)
class Act:
    """One line of the table."""

    what: str
    count: int
    unit: str
    seconds: float
    bytes_moved: int = 0

    def cells(self) -> tuple[str, str, str, str, str]:
        rate = self.count / self.seconds
        each = self.seconds / self.count
        return (
            self.what,
            f"{self.count:,} {self.unit}",
            f"{rate:,.0f} /s",
            f"{self.bytes_moved / self.seconds / 1e6:,.0f} MB/s" if self.bytes_moved else "",
            f"{each * 1e6:,.2f} µs" if each < 1e-3 else f"{each * 1e3:,.1f} ms",
        )


@contextlib.contextmanager
def working_directory(given: Path | None) -> Iterator[Path]:
    """The one given, which is kept, or one of our own that goes away."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    directory = Path(tempfile.mkdtemp(prefix="dlog-demo-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def run_demo(count: int, given_directory: Path | None) -> int:
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=110)
    with working_directory(given_directory) as directory:
        for name in ("events", "killed"):
            if (directory / name).exists():
                console.print(f"{directory / name} is there already; give another --directory")
                return 2
        console.print(f"Logs in {directory}; every append is on the disk before it counts (flush=ack).")
        acts, is_right = measure(directory / "events", count, console)
        table = Table(title=f"{count:,} records of about 100 bytes, one Python process", title_justify="left")
        for name in ("act", "how many", "rate", "bytes", "each"):
            table.add_column(name, justify="left" if name == "act" else "right")
        for act in acts:
            table.add_row(*act.cells())
        console.print(table)
        console.print(
            "flush=os leaves the writing to the operating system: it outlives a kill, no power cut."
        )
        is_kept = kill_and_recover(directory / "killed", console)
        if given_directory is not None:
            console.print(f"The logs stay in {directory}; look at them with `dlog log verify` and `dump`.")
    return 0 if is_right and is_kept else 1


def measure(path: Path, count: int, console: Console) -> tuple[list[Act], bool]:
    """The first half: one process and its log. The bool says whether everything read was as written."""
    acts = []
    wrong = 0
    size = sum(len(value_of(number)) for number in range(min(count, 1000))) * count // min(count, 1000)
    columns = (TextColumn("{task.description:<28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress, Log(path, flush="ack") as log:

        def act(what: str, total: int, unit: str, work: Callable[[Advance], int], moved: int = 0) -> None:
            nonlocal wrong
            task = progress.add_task(what, total=total)
            begun = time.perf_counter_ns()
            wrong += work(lambda steps: progress.advance(task, steps))
            seconds = (time.perf_counter_ns() - begun) / NANOSECONDS
            acts.append(Act(what, total, unit, seconds, moved))

        act("append, many at a time", count, "records", lambda step: append(log, count, step), size)
        act("read back and compare", count, "records", lambda step: read_back(log, count, step), size)
        if find_spec("pyarrow") and find_spec("numba"):
            # The first call compiles, or loads what an earlier run has compiled.
            next(iter(log.read_arrow_batches(0, min(count, 100))))
            act("read as Arrow columns", count, "records", lambda step: read_arrow(log, count, step), size)
        act("look up by number", LOOKUPS, "records", lambda step: look_up_by_number(log, count, step))
        act("look up by time", LOOKUPS, "offsets", lambda step: look_up_by_time(log, count, step))
    singles = min(count, SINGLE_APPENDS_MAX)
    with Log(path.parent / "singles", flush="os") as log:
        begun = time.perf_counter_ns()
        for number in range(singles):
            log.append(value=value_of(number))
        seconds = (time.perf_counter_ns() - begun) / NANOSECONDS
        acts.append(Act("append one by one, flush=os", singles, "records", seconds, size * singles // count))
    shutil.rmtree(path.parent / "singles")
    if wrong:
        console.print(f"[bold red]{wrong:,} answers were wrong.[/]")
    else:
        console.print("Every record read and every offset looked up was the right one.")
    return acts, not wrong


def append(log: Log, count: int, step: Advance) -> int:
    for first in range(0, count, RECORDS_IN_APPEND):
        numbers = range(first, min(first + RECORDS_IN_APPEND, count))
        log.append_many(
            Entry(b"%d" % number, value_of(number), (), FIRST_TIMESTAMP + number) for number in numbers
        )
        step(len(numbers))
    return log.end_offset != count


def read_back(log: Log, count: int, step: Advance) -> int:
    wrong = seen = 0
    for record in log.read(0):
        wrong += not is_as_written(record)
        seen += 1
        if not seen % RECORDS_IN_APPEND:
            step(RECORDS_IN_APPEND)
    step(seen % RECORDS_IN_APPEND)
    return wrong + abs(count - seen)


def is_as_written(record: Record) -> bool:
    return record.value == value_of(record.offset) and record.key == b"%d" % record.offset


def read_arrow(log: Log, count: int, step: Advance) -> int:
    seen = 0
    for batch in log.read_arrow_batches(0):
        seen += batch.num_rows
        step(batch.num_rows)
    return abs(count - seen)


def look_up_by_number(log: Log, count: int, step: Advance) -> int:
    chosen = random.Random(SEED)
    wrong = 0
    for _ in range(LOOKUPS):
        offset = chosen.randrange(count)
        record = next(log.read(offset, offset + 1))
        wrong += record.offset != offset or not is_as_written(record)
        step(1)
    return wrong


def look_up_by_time(log: Log, count: int, step: Advance) -> int:
    chosen = random.Random(SEED)
    wrong = 0
    for _ in range(LOOKUPS):
        offset = chosen.randrange(count)
        wrong += log.offset_for_time(FIRST_TIMESTAMP + offset) != offset
        step(1)
    return wrong


def kill_and_recover(path: Path, console: Console) -> bool:
    """The second half: what a writer was told is safe must be there after its sudden death."""
    acked: dict[int, int] = {}
    with subprocess.Popen(
        [sys.executable, "-m", "distributedlog.cli.demo_writer", str(path)], stdout=subprocess.PIPE
    ) as writer:
        assert writer.stdout is not None
        with console.status("a second process appends, with fsync"):
            for line in writer.stdout:
                note_acked(line, acked)
                if len(acked) >= ACKED_BEFORE_KILL:
                    break
        writer.kill()
        for line in writer.stdout:  # said before it died
            note_acked(line, acked)
    begun = time.perf_counter_ns()
    with Log(path) as log:
        seconds = (time.perf_counter_ns() - begun) / NANOSECONDS
        kept = {record.offset: record for record in log.read()}
        report = log.recovery
    lost = sum(
        offset not in kept or kept[offset].value != value_of(number) for offset, number in acked.items()
    )
    altered = sum(record.value != value_of(int(record.key or b"-1")) for record in kept.values())
    console.print(
        f"Killed a writer with SIGKILL after {len(acked):,} acknowledged records. Recovered in "
        f"{seconds * 1e3:.1f} ms: {report.bytes_scanned:,} bytes checked, {report.bytes_cut:,} cut."
    )
    style = "bold green" if not (lost or altered) else "bold red"
    console.print(
        f"Kept {len(kept):,} records, {len(kept) - len(acked) + lost:,} of them never acknowledged. "
        f"[{style}]Acknowledged and lost: {lost}. Altered: {altered}.[/]"
    )
    return len(acked) >= ACKED_BEFORE_KILL and not lost and not altered


def note_acked(line: bytes, acked: dict[int, int]) -> None:
    """The last line may have been cut by the kill, in which case nobody was told."""
    if line.endswith(b"\n"):
        offset, number = map(int, line.split())
        acked[offset] = number
