"""The promise of a log: a process dies in the middle of its work, and what it was told is safe is there."""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Final

from distributedlog import Log
from distributedlog.demo.figures import Stopwatch
from distributedlog.demo.orders import order
from distributedlog.demo.stage import Advance, Stage

TITLE = "Kill a writing process with SIGKILL, in the middle, and recover"
KILLS: Final = 3
ACKNOWLEDGED_BEFORE_KILL: Final = 1_000
PATIENCE_SECONDS: Final = 60
TORN_BYTES: Final = 100


@dataclass(slots=True)
class Aftermath:
    """All that is known after the kills: what was promised, and what opening the log had to do."""

    #: Offset to number: what the writers were told is safe.
    acknowledged: dict[int, int] = field(default_factory=dict)
    opening: Stopwatch = field(default_factory=Stopwatch)
    was_always_unclean: bool = True
    scanned_bytes: int = 0
    cut_bytes: int = 0
    added_bytes: int = 0


def play(stage: Stage) -> None:
    path = stage.directory / "killed"
    after = Aftermath()
    with stage.progress(KILLS * ACKNOWLEDGED_BEFORE_KILL) as advance:
        for kill in range(1, KILLS + 1):
            before = len(after.acknowledged)
            write_until_killed(path, kill * 1_000_000, after, advance)
            if len(after.acknowledged) < before + ACKNOWLEDGED_BEFORE_KILL:
                stage.claim(
                    False,
                    "",
                    f"the writer ended by itself after {len(after.acknowledged) - before:,} records",
                )
                return
            if kill == KILLS:
                after.added_bytes = tear(path)
            recover(path, after)
    with Log(path) as log:
        end_offset = log.end_offset
        goes_on = log.append(value=b"after all that") == end_offset
        kept = {record.offset: record for record in log.read(0, end_offset)}
    lost = sum(offset not in kept for offset in after.acknowledged)
    altered = 0
    for record in kept.values():
        number = after.acknowledged.get(record.offset, number_in(record.value))
        made = order(number)
        altered += (record.timestamp, record.key, record.value) != (made.timestamp, made.key, made.value)
    stage.measured("recover a killed log", KILLS, after.opening.seconds)
    promised = len(after.acknowledged)
    stage.claim(
        not lost,
        f"{KILLS} kills; {promised:,} records had been acknowledged, and every one is there",
        f"{lost:,} of {promised:,} acknowledged records are LOST",
    )
    stage.claim(
        not altered,
        f"{len(kept):,} records kept, none of them altered",
        f"{altered:,} of {len(kept):,} records kept are not as they were written",
    )
    stage.claim(
        goes_on and after.was_always_unclean and after.cut_bytes >= after.added_bytes,
        "each death was noticed, the torn tail cut, and appends go on behind it",
        f"recovery did not do its work: unclean {after.was_always_unclean}, {after.cut_bytes} bytes cut of "
        f"{after.added_bytes} torn, appends go on {goes_on}",
    )
    stage.say(
        f"{len(kept) - promised + lost} more were written but not yet acknowledged when the process died"
    )
    stage.say(
        f"recovery read {after.scanned_bytes:,} bytes and cut {after.cut_bytes}: half a batch that we put "
        "there after the last kill, as a power cut may leave it"
    )


def write_until_killed(path: Path, first_number: int, after: Aftermath, advance: Advance) -> None:
    """Note what a new process acknowledges; kill it when that is enough, and note what it still said."""
    command = [sys.executable, "-m", "distributedlog.demo.killed_writer", str(path), str(first_number)]
    # In a session of its own, so that Ctrl-C in the terminal is ours to deal with.
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as writer:
        impatience = Timer(PATIENCE_SECONDS, writer.kill)
        impatience.daemon = True
        impatience.start()
        try:
            assert writer.stdout is not None
            seen = 0
            for line in writer.stdout:
                seen += note(line, after.acknowledged)
                if seen <= ACKNOWLEDGED_BEFORE_KILL:
                    advance(1)
                if seen == ACKNOWLEDGED_BEFORE_KILL:
                    writer.kill()
        finally:
            writer.kill()
            impatience.cancel()


def note(line: bytes, acknowledged: dict[int, int]) -> bool:
    """The kill may cut the last line short, in which case nobody was told."""
    if not line.endswith(b"\n"):
        return False
    offset, number = map(int, line.split())
    acknowledged[offset] = number
    return True


def tear(path: Path) -> int:
    """Put the beginning of a batch behind the last one, as a power cut in the middle of a write does."""
    with max(path.glob("*/*.log")).open("r+b") as segment:
        beginning = segment.read(TORN_BYTES)
        segment.seek(0, 2)
        return segment.write(beginning)


def recover(path: Path, after: Aftermath) -> None:
    with after.opening:
        log = Log(path)
    with log:
        after.was_always_unclean &= not log.recovery.was_clean
        after.scanned_bytes += log.recovery.bytes_scanned
        after.cut_bytes += log.recovery.bytes_cut


def number_in(value: bytes | None) -> int:
    """Of a record that nobody was told of, what it says itself; -1 where it makes no sense."""
    digits = (value or b"")[9:21].strip()
    return int(digits) if digits.isdigit() else -1
