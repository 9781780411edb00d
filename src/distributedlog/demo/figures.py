"""What was measured, and the one table of it."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Self

from rich import box
from rich.table import Table

NANOSECONDS: Final = 1e9


@dataclass(slots=True)
class Stopwatch:
    """Adds up the time spent inside of ``with`` blocks: the engine's work without the demo's own."""

    seconds: float = 0.0
    _begun_ns: int = field(default=0, init=False)

    def __enter__(self) -> Self:
        self._begun_ns = time.perf_counter_ns()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += (time.perf_counter_ns() - self._begun_ns) / NANOSECONDS


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table: so many of something, of so many bytes, in so many seconds."""

    what: str
    count: int
    seconds: float
    bytes_moved: int = 0

    @property
    def rate(self) -> float:
        return self.count / max(self.seconds, 1e-9)

    @property
    def each_seconds(self) -> float:
        return self.seconds / max(self.count, 1)


def figures_table(figures: Iterable[Figure], micro: str = "µ") -> Table:
    """``micro`` is for terminals that do not know the letter."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("What")
    for name in ("How many", "Rate", "Bytes", "Each takes"):
        table.add_column(name, justify="right", no_wrap=True)
    for figure in figures:
        table.add_row(
            figure.what,
            f"{figure.count:,}",
            f"{figure.rate:,.0f} /s",
            f"{figure.bytes_moved / max(figure.seconds, 1e-9) / 1e6:,.0f} MB/s" if figure.bytes_moved else "",
            duration(figure.each_seconds, micro),
        )
    return table


def duration(seconds: float, micro: str = "µ") -> str:
    """Three digits or so, in the unit that suits."""
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, f"{micro}s")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.{1 if seconds * factor >= 100 else 2}f} {unit}"
    return f"{seconds * 1e9:.0f} ns"
