"""`make bench-readme`: the README's tables of figures, from what `make bench` has written.

They stand between two comments and are never edited by hand. Several files may be given, for modules that
were measured one by one; each table says when and where its figures come from.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.figure import Figure
from bench.report import MET, bar_text, machine_line, number

README: Final = Path(__file__).parents[1] / "README.md"
BEGIN: Final = "<!-- figures: begin (make bench-readme) -->"
END: Final = "<!-- figures: end -->"

BESIDE_KAFKA: Final = ("against_kafka", "against_kafka_clients", "against_kafka_start", "transactions")
#: Heading, what the column of the ceiling is called, and the modules, in the order in which they are shown.
TABLES: Final[Sequence[tuple[str, str, tuple[str, ...]]]] = (
    ("Beside Apache Kafka 4.3, equally durable, in one run", "Kafka", BESIDE_KAFKA),
    ("Clients, in one run against the same broker", "compared with", ("client_producer", "client_consumer")),
    (
        "Spark, in one run against the same broker",
        "Spark's connector",
        ("spark_source", "spark_sink", "spark_latency"),
    ),
    ("The broker by itself", "compared with", ("start", "crowd", "group_commit", "broker_core")),
    ("The log", "ceiling", ("log", "columns", "records")),
    ("The protocol", "ceiling", ("wire",)),
)
_FIELDS: Final = ("name", "value", "unit", "ceiling", "ceiling_is", "bar", "ratio_bar", "higher_is_better")


def tables(contents: Sequence[Mapping[str, Any]]) -> str:
    """All tables as Markdown."""
    parts = []
    for heading, ceiling, modules in TABLES:
        rows, machines = [], []
        for content in contents:
            figures = [figure for figure in content["figures"] if figure["module"] in modules]
            if figures:
                rows += [_row(Figure(**{name: figure[name] for name in _FIELDS})) for figure in figures]
                machines.append(machine_line(content["machine"]))
        if rows:
            head = (f"| {heading} | here | {ceiling} | ratio | bar | |", "|---|---:|---:|---:|---:|---|")
            parts.append("\n".join((*head, *rows, "", f"*{'; '.join(dict.fromkeys(machines))}*", "")))
    return "\n".join(parts)


def _row(figure: Figure) -> str:
    cells = (
        figure.name,
        f"{number(figure.value)} {figure.unit}",
        "" if figure.ceiling is None else number(figure.ceiling),
        "" if figure.ratio is None else number(figure.ratio),
        bar_text(figure),
        MET[figure.met],
    )
    return f"| {' | '.join(cells)} |"


def with_tables(text: str, content: str) -> str:
    """The README with these tables in place of those it had."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the README has no place for figures: {BEGIN} … {END}")
    return f"{before}{BEGIN}\n\n{content}\n{END}{after}"


def main(arguments: Iterable[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.readme", description=__doc__)
    parser.add_argument("files", nargs="*", type=Path, default=[Path("build/bench.json")])
    files = parser.parse_args(None if arguments is None else list(arguments)).files
    contents = [json.loads(file.read_text()) for file in files]
    if quick := [str(file) for file, content in zip(files, contents, strict=True) if content["quick"]]:
        print(f"figures of a quick run mean nothing: {', '.join(quick)}", file=sys.stderr)
        return 1
    README.write_text(with_tables(README.read_text(), tables(contents)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
