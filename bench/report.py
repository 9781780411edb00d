"""The figures as one table, as JSON and as a chart."""

import json
import os
import platform
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

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
    table = Table(title="distributedlog", caption=machine_line(machine), title_justify="left")
    for name in ("figure", "value", "ceiling", "ratio", "bar", "met"):
        table.add_column(name, justify="left" if name in ("figure", "met") else "right", no_wrap=True)
    for module, figures in results.items():
        table.add_section()
        table.add_row(f"[bold]{module}[/]")
        for figure in figures:
            met = None if quick else figure.met
            table.add_row(
                escape(figure.name),
                f"{number(figure.value)} {figure.unit}",
                "" if figure.ceiling is None else f"{number(figure.ceiling)} {figure.unit}",
                "" if figure.ratio is None else number(figure.ratio),
                bar_text(figure),
                Text(MET[met], MET_STYLES[met]),
            )
    console.print(table)
    if quick:
        console.print("Quick run: it shows that everything runs. The figures mean nothing.", style="yellow")
    else:
        console.print(verdict(results))


def verdict(results: Results) -> str:
    with_bar = [figure for figures in results.values() for figure in figures if figure.bar is not None]
    met = sum(figure.met is True for figure in with_bar)
    return f"{met} of {len(with_bar)} bars met."


def bar_text(figure: Figure) -> str:
    if figure.bar is None:
        return ""
    sign = "≥" if figure.higher_is_better else "≤"
    return f"{sign} {number(figure.bar)}{f' {figure.unit}' if figure.ceiling is None else ''}"


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
            {"module": module, **asdict(figure), "ratio": figure.ratio, "met": figure.met}
            for module, figures in results.items()
            for figure in figures
        ],
    }
    path.write_text(json.dumps(content, indent=2) + "\n")


def write_chart(paths: Sequence[Path], results: Results, machine: Mapping[str, object]) -> None:
    """One bar for each figure that has to reach something: how many times over it does."""
    import matplotlib as mpl

    mpl.use("agg")
    mpl.rcParams["svg.fonttype"] = "none"  # text stays text
    from matplotlib import pyplot

    rows = list(_chart_rows(results))[::-1]
    figure, axes = pyplot.subplots(figsize=(11, 1.6 + 0.3 * len(rows)), layout="constrained")
    colors = ["#2a7f4f" if met else "#b3261e" for _, _, _, met in rows]
    shares = [share for _, share, _, _ in rows]
    bars = axes.barh([label for label, *_ in rows], [max(share, 1e-3) for share in shares], color=colors)
    axes.bar_label(bars, [text for _, _, text, _ in rows], padding=4, fontsize=8)
    axes.axvline(1.0, color="#444444", linewidth=1, linestyle="--")
    axes.set_xscale("log")
    axes.margins(x=0.25, y=0.01)
    axes.set_xlabel("times the bar (logarithmic; 1 = just reached, right is better)")
    axes.tick_params(axis="y", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(machine_line(machine), fontsize=8)
    for path in paths:
        figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _chart_rows(results: Results) -> Iterator[tuple[str, float, str, bool]]:
    for module, figures in results.items():
        for figure in figures:
            if figure.bar is None:
                continue
            measured = figure.value if figure.ratio is None else figure.ratio
            share = measured / figure.bar if figure.higher_is_better else figure.bar / measured
            text = f"{number(figure.value)} {figure.unit}"
            yield f"{module}: {figure.name}", share, text, figure.met is True


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
