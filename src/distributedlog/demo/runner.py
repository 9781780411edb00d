"""Plays the scenes one after another, prints the table, and says what to make of it."""

import contextlib
import os
import platform
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Final

from rich.text import Text

from distributedlog import __version__
from distributedlog.demo.figures import figures_table
from distributedlog.demo.scenes import SCENES
from distributedlog.demo.stage import Scene, Stage, new_console
from distributedlog.log.errors import LogError

EXIT_BROKEN: Final = 1
EXIT_USAGE: Final = 2


def run_demo(records_count: int, keep: Path | None, scenes: Sequence[Scene] = SCENES) -> int:
    console = new_console()
    if keep is not None and keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
        print(f"dlog demo: {keep} is there already and not empty; give a new directory", file=sys.stderr)
        return EXIT_USAGE
    begun = time.perf_counter()
    with ended_by_sigterm(), working_directory(keep) as directory:
        stage = Stage(console, directory, records_count)
        introduce(stage, is_kept=keep is not None)
        try:
            for number, scene in enumerate(scenes, 1):
                title = scene.TITLE.format(records=f"{records_count:,}")
                console.print(Text(f"\n{number}/{len(scenes)}  {title}", "bold"), soft_wrap=True)
                scene.play(stage)
        except BrokenPipeError:  # nobody is left to be told
            raise
        except (LogError, OSError) as error:
            stage.broken.append(f"{type(error).__name__}: {error}")
            stage.say(stage.broken[-1], "FAILED", "bold red")
        console.print()
        if stage.figures:
            console.print(figures_table(stage.figures, stage.micro))
    conclude(stage, time.perf_counter() - begun, is_kept=keep is not None)
    return EXIT_BROKEN if stage.broken else 0


def introduce(stage: Stage, is_kept: bool) -> None:
    console = stage.console
    console.print(
        Text(f"distributedlog {__version__}: a log and a broker, filled, read, killed, recovered", "bold")
    )
    cores = os.cpu_count() or 1
    console.print(
        f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}, "
        f"{cores} core{'s' if cores > 1 else ''}"
    )
    fate = "the logs stay there" if is_kept else "removed at the end; --keep DIR keeps the logs"
    console.print(f"in {stage.directory} ({fate})", soft_wrap=True)
    if is_in_memory(stage.directory):
        console.print(
            "This directory is in memory: what waits for the disk below does not wait.", style="yellow"
        )
        console.print("Give --keep DIR on a disk, or set TMPDIR, to see what it costs.", style="yellow")


def conclude(stage: Stage, seconds: float, is_kept: bool) -> None:
    console = stage.console
    if stage.broken:
        console.print(Text(f"\n{len(stage.broken)} of the claims did not hold:", "bold red"))
        for text in stage.broken:
            stage.say(text, "-")
        console.print("Please report this, with the output of `dlog demo --keep DIR`.")
    else:
        console.print(
            Text(f"\nAll {stage.held_count} claims above were checked, and hold.", "bold green")
            + Text(f" It took {seconds:.0f} s.", "not bold default")
        )
    keep = "" if is_kept else "`dlog demo --keep DIR`, "
    dump = f"`dlog log dump {stage.directory if is_kept else 'DIR'}/orders`"
    console.print(f"Next: {keep}{dump}; examples/, README.md", soft_wrap=True)


@contextlib.contextmanager
def working_directory(keep: Path | None) -> Iterator[Path]:
    """The one given, which stays, or one of our own that goes away whatever happens."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep
        return
    directory = Path(tempfile.mkdtemp(prefix="dlog-demo-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextlib.contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """A polite request to stop unwinds the stack, so that directory and processes of ours go too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def is_in_memory(path: Path, mount_table: Path = Path("/proc/mounts")) -> bool:
    """Whether fsync means nothing there, as far as Linux tells."""
    try:
        mounts = [line.split()[1:3] for line in mount_table.read_text(errors="replace").splitlines()]
    except OSError:
        return False
    resolved = path.resolve()
    above = [(len(place), kind) for place, kind in mounts if resolved.is_relative_to(place)]
    return bool(above) and max(above)[1] in {"tmpfs", "ramfs"}
