"""What was counted, minute by minute: a table, bars in the terminal, and a picture where matplotlib is."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from rich import box
from rich.table import Table
from rich.text import Text

BAR_WIDTH: Final = 22
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
#: (window's start in milliseconds, country) to (clicks, cents).
Counts = Mapping[tuple[int, str], tuple[int, int]]


def counts_table(counts: Counts, is_ascii: bool = False) -> Table:
    """One line a window: clicks by country, all of them as a bar, and what was paid."""
    windows = sorted({window for window, _ in counts})
    countries = sorted({country for _, country in counts})
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("Minute", no_wrap=True)
    for country in countries:
        table.add_column(country, justify="right")
    table.add_column("Clicks", no_wrap=True)
    table.add_column("Paid", justify="right", no_wrap=True)
    totals = {window: sum(_at(counts, window, country)[0] for country in countries) for window in windows}
    most = max(totals.values(), default=0)
    for window in windows:
        paid = sum(_at(counts, window, country)[1] for country in countries)
        row = [_minute(window), *(f"{_at(counts, window, country)[0]:,}" for country in countries)]
        chart = Text.assemble((bar(totals[window], most, is_ascii), "cyan"), f" {totals[window]:,}")
        table.add_row(*row, chart, f"{paid / 100:,.0f}")
    return table


def bar(value: int, most: int, is_ascii: bool = False) -> str:
    """In eighths of a character, where the terminal knows them."""
    length = value / most * BAR_WIDTH if most else 0.0
    if is_ascii:
        return "#" * round(length)
    whole = int(length)
    return "█" * whole + _EIGHTHS[round((length - whole) * 8)].strip()


def write_png(counts: Counts, path: Path) -> bool:
    """Bars by minute and country; False where there is no matplotlib."""
    if find_spec("matplotlib") is None:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  (a second to load)
    from matplotlib.figure import Figure  # noqa: PLC0415

    windows = sorted({window for window, _ in counts})
    figure = Figure(figsize=(9, 4.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    below = [0] * len(windows)
    for country in sorted({country for _, country in counts}):
        heights = [_at(counts, window, country)[0] for window in windows]
        axes.bar([_minute(window) for window in windows], heights, bottom=below, label=country, width=0.85)
        below = [low + height for low, height in zip(below, heights, strict=True)]
    axes.set_title("Clicks per minute and country, each counted once")
    axes.set_ylabel("clicks")
    axes.tick_params(axis="x", rotation=45)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, ncols=6, loc="upper left", bbox_to_anchor=(0, -0.18))
    figure.savefig(path, dpi=120)
    return True


def _at(counts: Counts, window: int, country: str) -> tuple[int, int]:
    return counts.get((window, country), (0, 0))


def _minute(window_ms: int) -> str:
    return datetime.fromtimestamp(window_ms / 1000, UTC).strftime("%H:%M")
