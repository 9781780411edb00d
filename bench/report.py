"""The figures as one table, as JSON and as a chart."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from bench.figure import Figure

Results = Mapping[str, Sequence[Figure]]
"""Figures by the name of the module that measured them."""

MET = {True: "met", False: "NOT MET", None: ""}
MET_STYLES = {True: "green", False: "bold red", None: ""}


def describe_machine() -> dict[str, object]:
    """What the figures depend on besides the code. The load says whether the machine was ours alone."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load_1_minute": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
    }


def machine_line(machine: Mapping[str, object]) -> str:
    return (
        f"{machine['date']}, {machine['processor']}, {machine['cores']} cores "
        f"(load {machine['load_1_minute']}), {machine['python']}, commit {machine['commit']}"
    )


def print_table(console: Console, results: Results, machine: Mapping[str, object], quick: bool) -> None:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("figure", overflow="fold")
    for name in ("value", "ceiling", "", "ratio", "bar"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("met", no_wrap=True)
    notes = _notes(results)
    for index, (module, figures) in enumerate(results.items()):
        if index:
            table.add_row()
        table.add_row(f"[bold]{module}[/]")
        for figure in figures:
            met = None if quick else figure.met
            table.add_row(
                escape(figure.name),
                f"{number(figure.value)} {figure.unit}",
                "" if figure.ceiling is None else number(figure.ceiling),
                str(notes.get(figure.ceiling_is, "")),
                "" if figure.ratio is None else number(figure.ratio),
                bar_text(figure),
                Text(MET[met], MET_STYLES[met]),
            )
    console.print(table)
    _print_notes(console, notes)
    console.print(Text(machine_line(machine)))
    if quick:
        console.print("Quick run: it shows that everything runs. The figures mean nothing.", style="yellow")
    else:
        console.print(verdict(results))


def _notes(results: Results) -> dict[str, int]:
    """What the ceilings are, numbered as they come in the table."""
    words = dict.fromkeys(figure.ceiling_is for figures in results.values() for figure in figures)
    words.pop("", None)
    return {word: count for count, word in enumerate(words, 1)}


def _print_notes(console: Console, notes: Mapping[str, int]) -> None:
    if not notes:
        return
    console.print("\nratio = value / ceiling. The ceiling, measured in the same run and the same unit, is")
    lines = Table.grid(padding=(0, 1))
    lines.add_column(justify="right")
    lines.add_column()
    for words, count in notes.items():
        lines.add_row(str(count), escape(words))
    console.print(lines)
    console.print()


def verdict(results: Results) -> str:
    judged = [figure.met for figures in results.values() for figure in figures if figure.met is not None]
    return f"{sum(judged)} of {len(judged)} bars met."


def bar_text(figure: Figure) -> str:
    sign = "≥" if figure.higher_is_better else "≤"
    if figure.ratio_bar is not None:
        return f"ratio {sign} {number(figure.ratio_bar)}"
    return "" if figure.bar is None else f"{sign} {number(figure.bar)}"


def number(value: float) -> str:
    """Three digits that count: 0.0123, 4.56, 789, 1,230,000."""
    if value == 0:
        return "0"
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.0f}" if abs(rounded) >= 100 else f"{rounded:g}"


def write_json(path: Path, results: Results, machine: Mapping[str, object], quick: bool) -> None:
    content = {
        "quick": quick,
        "machine": dict(machine),
        "figures": [
            {
                "module": module,
                **asdict(figure),
                "ratio": figure.ratio,
                "times_bar": figure.times_bar,
                "met": figure.met,
            }
            for module, figures in results.items()
            for figure in figures
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


def write_chart(paths: Sequence[Path], results: Results, machine: Mapping[str, object]) -> None:
    """Every figure twice: its share of the ceiling, and how many times over it reaches its bar."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text
    from matplotlib import pyplot

    rows = [(module, figure) for module, figures in results.items() for figure in figures][::-1]
    chart, (left, right) = pyplot.subplots(
        1, 2, figsize=(13, 1.6 + 0.24 * len(rows)), layout="constrained", sharey=True, width_ratios=(4, 3)
    )
    positions = range(len(rows))
    _draw_panel(
        left,
        [figure.share_of_ceiling for _, figure in rows],
        ["" if figure.ratio is None else number(figure.ratio) for _, figure in rows],
        ["#31688e"] * len(rows),
    )
    left.set_yticks(positions, [f"{module}: {figure.name}" for module, figure in rows])
    left.set_xlabel("share of the ceiling (the number: ratio)")
    _draw_panel(
        right,
        [figure.times_bar for _, figure in rows],
        ["" if figure.met is None else f"{number(figure.value)} {figure.unit}" for _, figure in rows],
        ["#2a7f4f" if figure.met else "#b3261e" for _, figure in rows],
    )
    right.tick_params(axis="y", length=0)
    right.set_xlabel("times the bar (the number: value)")
    chart.suptitle(f"{machine_line(machine)}\nlogarithmic; 1 = just reached; right is better", fontsize=9)
    for path in paths:
        chart.savefig(path, dpi=130)
    pyplot.close(chart)


def _draw_panel(
    axes: Any, lengths: Sequence[float | None], texts: Sequence[str], colors: Sequence[str]
) -> None:
    """Bars on a logarithmic axis, from its left edge; none where there is no length."""
    shown = [length for length in lengths if length is not None]
    least = min([0.1, *shown]) / 2
    widths = [0 if length is None else length - least for length in lengths]
    axes.set_xscale("log")
    bars = axes.barh(range(len(lengths)), widths, left=least, color=colors, height=0.7)
    axes.axvline(1.0, color="#444444", linewidth=1, linestyle="--")
    for label in axes.bar_label(bars, texts, padding=4, fontsize=8):
        label.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.8})
    axes.set_xlim(least, max([1.0, *shown]) * 8)
    axes.margins(y=0.01)
    axes.tick_params(axis="y", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _commit() -> str:
    try:
        done = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
            cwd=Path(__file__).parent,
        )
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    return done.stdout.strip() or "unknown"
