"""`dlog pipeline list | status`."""

import argparse
import contextlib
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from distributedlog.cli.cluster_work import complain
from distributedlog.cli.json_lines import print_json
from distributedlog.cli.terminal import print_table, shown_size
from distributedlog.pipelines.durations import shown_duration
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.home import Homes, PipelineHome
from distributedlog.pipelines.progress import FAILED, RUNNING, STARTING, Status, status_of

if TYPE_CHECKING:
    from rich.table import Table

EXIT_FAILED: Final = 1
RENEW_SECONDS: Final = 1.0
#: What is shown for one whose process is gone without having said so.
DIED: Final = "died"
COLUMNS: Final = (
    "pipeline",
    "state",
    "batch>",
    "rows>",
    "rows/s>",
    "lag>",
    "watermark",
    "state>",
    "late>",
    "batch time>",
)


def show_list(arguments: argparse.Namespace) -> int:
    homes = Homes(arguments.home).all()
    if arguments.json:
        for home in homes:
            print_json(**home.read_run() | {"state": state_of(home).state})
    elif homes:
        print_table(
            ("pipeline", "state", "what", "master", "broker"),
            [
                (
                    home.name,
                    state_of(home).state,
                    " then ".join(run.get("pipeline", ())),
                    run.get("master"),
                    run.get("bootstrap"),
                )
                for home in homes
                for run in (home.read_run(),)
            ],
        )
    return 0


def show_status(arguments: argparse.Namespace) -> int:
    homes = Homes(arguments.home)
    try:
        chosen = [homes.existing(name) for name in arguments.names] or homes.all()
    except PipelineError as error:
        complain(str(error))
        return EXIT_FAILED
    if arguments.json:
        for home in chosen:
            print_json(pipeline=home.name, **state_of(home).as_json())
    elif sys.stdout.isatty() and not arguments.once:
        with contextlib.suppress(KeyboardInterrupt):
            _live(homes, chosen if arguments.names else None)
    elif chosen:
        print_table(COLUMNS, [cells(home.name, state_of(home)) for home in chosen])
        _explain(chosen)
    return EXIT_FAILED if any(state_of(home).state in {FAILED, DIED} for home in chosen) else 0


def state_of(home: PipelineHome) -> Status:
    """As it told last, unless it is gone without a word."""
    from dataclasses import replace

    status = status_of(home.read_status())
    if status.state in {STARTING, RUNNING} and not home.is_running():
        return replace(status, state=DIED, error=status.error or f"its process is gone; see {home.log}")
    return status


def cells(name: str, status: Status) -> tuple[object, ...]:
    """One row of the table; what is not known is empty."""
    is_going = status.state == RUNNING
    return (
        name,
        status.state,
        status.batch,
        f"{status.rows:,}",
        f"{status.rows_per_second:,.0f}" if is_going else None,
        None if status.lag is None else f"{status.lag:,}",
        (status.watermark or "").replace("T", " ").removesuffix("Z").removesuffix(".000"),
        f"{status.state_rows:,} / {shown_size(status.state_bytes)}" if status.state_bytes else None,
        f"{status.late:,}" if status.late else None,
        shown_duration(status.batch_ms) if status.batch_ms else None,
    )


def _explain(homes: Iterable[PipelineHome]) -> None:
    for home in homes:
        status = state_of(home)
        if status.error:
            complain(f"{home.name}: {status.error}")


def _live(homes: Homes, chosen: list[PipelineHome] | None) -> None:
    """Renewed until Ctrl-C; pipelines that come meanwhile are shown too."""
    from rich.live import Live

    with Live(auto_refresh=False) as live:
        while True:
            live.update(_table(homes.all() if chosen is None else chosen), refresh=True)
            time.sleep(RENEW_SECONDS)


def _table(homes: list[PipelineHome]) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, caption_justify="left")
    for column in COLUMNS:
        table.add_column(column.rstrip(">"), justify="right" if column.endswith(">") else "left")
    problems = []
    for home in homes:
        status = state_of(home)
        row = [Text("" if cell is None else str(cell)) for cell in cells(home.name, status)]
        table.add_row(*row, style="red" if status.state in {FAILED, DIED} else None)
        if status.error:
            problems.append(f"{home.name}: {status.error}")
    if problems:
        table.caption = Text("\n".join(problems), "red")
    return table
