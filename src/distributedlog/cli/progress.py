"""A progress bar for work that takes long, on standard error, when someone looks at it."""

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Final

from distributedlog.cli.terminal import shown_size

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SILENT_SECONDS: Final = 1.0
UPDATES_EVERY_SECONDS: Final = 0.1


class ProgressBar:
    """Shows nothing in the first second: short work needs no bar, and rich is not imported for it."""

    def __init__(self, what: str, is_wanted: bool) -> None:
        self._what = what
        self._is_wanted = is_wanted and sys.stderr.isatty()
        self._next_update = time.monotonic() + SILENT_SECONDS
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bar away, for good."""
        self._is_wanted = False
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def update(self, done: int, total: int | None, records: int, size: int) -> None:
        """`done` is in the unit of the total, which may be unknown; cheap when nothing is due."""
        if not self._is_wanted or time.monotonic() < self._next_update:
            return
        self._next_update = time.monotonic() + UPDATES_EVERY_SECONDS
        if self._progress is None:
            self._start()
        if self._progress is not None and self._task is not None:
            counts = f"{records:,} records, {shown_size(size)}"
            self._progress.update(self._task, completed=done, total=total, counts=counts)

    def _start(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        console = Console(stderr=True)
        if console.is_dumb_terminal:
            self._is_wanted = False
            return
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[counts]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),  # else what goes into a file would come out on the terminal
        )
        self._task = self._progress.add_task(self._what, total=None, counts="")
        self._progress.start()
