"""`make bench`: measure everything, print one table, write build/bench.json and the chart.

Every other module of this folder with a function ``collect(quick)`` is measured. A quick run shows that
the measurements run; no run judges the time they take. The exit code tells of crashes only.
"""

import argparse
import importlib
import sys
import traceback
from pathlib import Path

from rich.console import Console

import bench
from bench.figure import Figure
from bench.report import describe_machine, print_table, write_chart, write_json

ORDER = ("wire", "records", "columns", "log")
MEASURES = "\ndef collect("
WIDTH_WITHOUT_TERMINAL = 110


def module_names() -> list[str]:
    """Of the modules that measure; it is in their text, for to import them all takes a while."""
    folder = Path(bench.__path__[0])
    found = {path.stem for path in folder.glob("*.py") if MEASURES in path.read_text()}
    return [name for name in ORDER if name in found] + sorted(found - set(ORDER))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure distributedlog.")
    parser.add_argument("--quick", action="store_true", help="only see that the measurements run")
    parser.add_argument("--build", type=Path, default=Path("build"), help="where results go (%(default)s)")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=f"of {', '.join(module_names())}")
    arguments = parser.parse_args()
    if unknown := set(arguments.modules) - set(module_names()):
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(module_names())}")

    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH_WITHOUT_TERMINAL)
    machine = describe_machine()
    results: dict[str, list[Figure]] = {}
    crashed = []
    for name in arguments.modules or module_names():
        with console.status(f"measuring {name}"):
            try:
                module = importlib.import_module(f"bench.{name}")
                results[name] = module.collect(quick=arguments.quick)
            except Exception:  # noqa: BLE001  (the others are measured all the same)
                traceback.print_exc()
                crashed.append(name)

    arguments.build.mkdir(parents=True, exist_ok=True)
    stem = arguments.build / ("bench-quick" if arguments.quick else "bench")
    print_table(console, results, machine, arguments.quick)
    write_json(stem.with_suffix(".json"), results, machine, arguments.quick)
    write_chart([stem.with_suffix(".svg"), stem.with_suffix(".png")], results, machine)
    console.print(f"Written: {stem}.json, {stem}.svg, {stem}.png")
    if crashed:
        print(f"Crashed: {', '.join(crashed)}", file=sys.stderr)
    return 1 if crashed else 0


if __name__ == "__main__":
    sys.exit(main())
