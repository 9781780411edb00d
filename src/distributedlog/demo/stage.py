"""What a scene has to work with: a directory, a voice, a progress bar, and claims that are counted."""

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from distributedlog.demo.figures import Figure, duration

Advance = Callable[[int], None]
INDENT = "     "


class Scene(Protocol):
    """A module of `scenes`. Its docstring says what it shows; scenes are played in the order of the list."""

    #: Is printed before the scene, with ``{records}`` filled in.
    TITLE: str

    def play(self, stage: "Stage") -> None:
        """Do it, measure it, claim something about it."""


def new_console() -> Console:
    """Colours and moving things on a terminal only, whatever FORCE_COLOR says; 80 columns elsewhere."""
    console = Console(highlight=False, markup=False, emoji=False)
    is_watched = console.file.isatty() and not console.is_dumb_terminal and not os.environ.get("CI")
    if not is_watched:
        return Console(
            highlight=False, markup=False, emoji=False, force_terminal=False, color_system=None, width=80
        )
    return console


@dataclass(slots=True)
class Stage:
    console: Console
    directory: Path
    records_count: int
    figures: list[Figure] = field(default_factory=list)
    #: Claims that held, and those that did not.
    held_count: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def is_ascii(self) -> bool:
        """Where the output knows no other characters."""
        return bool(self.console.options.ascii_only)

    @property
    def micro(self) -> str:
        return "u" if self.is_ascii else "µ"

    @property
    def orders_path(self) -> Path:
        """The log of orders that the first scene fills and later ones read."""
        return self.directory / "orders"

    def say(self, text: str, mark: str = " ", style: str = "") -> None:
        """A line below the scene's title, broken where it has to be and then indented."""
        room = max(20, self.console.width - len(INDENT) - 2)
        lines = Text(text).wrap(self.console, room)
        for number, line in enumerate(lines):
            line.rstrip()
            head = (mark, style) if number == 0 else " " * len(mark)
            self.console.print(Text.assemble(INDENT, head, " ", line), soft_wrap=True)

    def claim(self, holds: bool, text: str, otherwise: str) -> None:
        """State ``text`` if it is so; else ``otherwise``, which fails the demo."""
        if holds:
            self.held_count += 1
            self.say(text, "ok" if self.is_ascii else "✓", "bold green")
        else:
            self.broken.append(otherwise)
            self.say(otherwise, "FAILED", "bold red")

    def measured(self, what: str, count: int, seconds: float, bytes_moved: int = 0) -> None:
        """A line for the table at the end."""
        self.figures.append(Figure(what, count, seconds, bytes_moved))

    def duration(self, seconds: float) -> str:
        return duration(seconds, self.micro)

    @contextlib.contextmanager
    def progress(self, total: int) -> Iterator[Advance]:
        """A bar that goes away when it is done, or nothing where nobody watches."""
        columns = (TextColumn(INDENT[:-1]), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        is_watched = self.console.is_terminal
        with Progress(*columns, console=self.console, transient=True, disable=not is_watched) as bar:
            task = bar.add_task("", total=total)

            def advance(steps: int) -> None:
                bar.advance(task, steps)

            yield advance
