"""A click stream through Spark, exactly once, while a worker and the broker are killed; and the truth.

A broker of its own, a generator, and `dlog pipeline run` with a specification: deduplicate, join with a table
of users, count per minute, write to a topic; then a second pipeline archives the topic as Parquet. Look into
``click_stream_events`` for clicks and truth, ``…_spec`` for the specifications, ``…_processes`` and
``…_topics`` for what runs, ``…_chart`` for what is shown in the end.
"""

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from distributedlog.demo.broker_process import BrokerProcess
from distributedlog.demo.scenes.click_stream_chart import counts_table, write_png
from distributedlog.demo.scenes.click_stream_events import Click, Day, day
from distributedlog.demo.scenes.click_stream_processes import (
    PATIENCE_SECONDS,
    PipelineProcess,
    kill_one_worker,
    wait_for,
)
from distributedlog.demo.scenes.click_stream_spec import write_specs
from distributedlog.demo.scenes.click_stream_topics import (
    ClickSender,
    Results,
    make_topics,
    read_results,
    result_of,
)
from distributedlog.demo.stage import Stage

TITLE = "A click stream through Spark, exactly once, while things die"
NEEDED: Final = ("pyspark", "pyarrow", "numba", "pandas", "google.protobuf")
#: Two cores, and a task may fail as often: without, Spark's local mode gives up with the first dead worker.
MASTER: Final = "local[2,8]"
SEED: Final = 20260601
CLICKS: Final = 40_000
WINDOWS: Final = 20
CHUNK: Final = 400
#: Clicks of long ago, sent when their minute is closed: they may change nothing.
TOO_LATE: Final = 300
#: How far the clicks may run ahead of the pipeline: so that there are batches to die in the middle of.
AHEAD: Final = 6_000
#: What share of the clicks is sent when something is killed.
WORKER_DIES_AT: Final = 0.35
BROKER_DIES_AT: Final = 0.65
#: The watermark is two minutes behind the newest click: this one closes all windows.
CLOSING_MS: Final = 10 * 60_000


@dataclass(slots=True)
class Play:
    """What belongs to one showing."""

    stage: Stage
    directory: Path
    broker: BrokerProcess
    day: Day
    begun: float

    @property
    def clock(self) -> str:
        return f"{time.monotonic() - self.begun:5.1f} s"

    def tell(self, text: str) -> None:
        self.stage.say(f"{self.clock}  {text}")


def play(stage: Stage) -> None:
    why = what_is_missing()
    if why is not None:
        stage.say(f"left out: {why}", "-", "yellow")
        return
    directory = stage.directory / "click-stream"
    directory.mkdir()
    broker = BrokerProcess(directory / "broker")
    showing = Play(stage, directory, broker, day(CLICKS, SEED, WINDOWS), time.monotonic())
    counting: PipelineProcess | None = None
    try:
        broker.start()
        make_topics(broker.address)
        showing.tell(f"a broker is ready on {broker.address}, with a topic of clicks and a table of users")
        spec, archiving = write_specs(directory, broker.address, directory / "lake")
        counting = PipelineProcess(spec, directory / "pipelines", "count-clicks", MASTER)
        run_stream(showing, counting)
        counting.stop()
        archive_and_compare(showing, archiving)
        point_further(showing, spec)
    finally:
        if counting is not None:
            counting.kill()
        broker.kill()


def what_is_missing() -> str | None:
    """Why it cannot be played, with what to do about it."""
    missing = [name for name in NEEDED if _is_missing(name)]
    if missing:
        return f"{', '.join(missing)} missing; pip install 'distributedlog[spark]'"
    from distributedlog.spark.errors import NoJava  # noqa: PLC0415 (the extra `spark`)
    from distributedlog.spark.java import find_java_home  # noqa: PLC0415

    try:
        find_java_home()
    except NoJava as error:
        return str(error)
    return None


def run_stream(showing: Play, counting: PipelineProcess) -> None:
    """Send the clicks, kill on the way, and see what is counted in the end."""
    stage, clicks = showing.stage, showing.day.clicks
    chunks = [clicks[first : first + CHUNK] for first in range(0, len(clicks), CHUNK)]
    worker_at, broker_at = (round(len(chunks) * share) for share in (WORKER_DIES_AT, BROKER_DIES_AT))
    sender = ClickSender(showing.broker.address)
    restart: Future[None] | None = None
    try:
        with stage.progress(len(clicks)) as advance, ThreadPoolExecutor(1) as meanwhile:
            for number, chunk in enumerate(chunks):
                sender.send(chunk)
                advance(len(chunk))
                if number == 0:
                    wait_for("Spark's first batch", lambda: _read_at_least(counting, 1))
                    showing.tell(f"Spark is up on {MASTER} and counts")
                behind = sender.sent_count - AHEAD
                wait_for("the pipeline to follow", partial(_read_at_least, counting, behind))
                if number == worker_at:
                    victim = kill_one_worker(counting.process_id)
                    showing.tell(f"killed process {victim}, a worker of Spark; its task is done again")
                if number == broker_at:
                    restart = meanwhile.submit(kill_and_restart, showing)
            if restart is not None:
                restart.result()
            newest = showing.day.end_ms
            sender.send([Click(len(clicks) * 2, "user-1", "/", 0, newest + CLOSING_MS)])
            showing.tell(
                f"{sender.sent_count:,} clicks of {showing.day.sessions:,} sessions sent, "
                f"{showing.day.delayed:,} of them late, {showing.day.duplicates:,} twice"
            )
            due = len(showing.day.truth)
            read_results(showing.broker.address, due, PATIENCE_SECONDS)
            showing.tell("every minute is over, counted and written")
            sender.send(too_late(showing.day))
            total = sender.sent_count
            status = wait_for("the last clicks", lambda: _read_at_least(counting, total))
            found = read_results(showing.broker.address, due, 0)
    finally:
        sender.close()
    compare(showing, found, "the topic")
    stage.claim(
        status["late"] == TOO_LATE,
        f"{TOO_LATE} clicks that came when their minute was closed were refused, and counted as late",
        f"{status['late']} clicks were counted as late, and {TOO_LATE} were",
    )
    seconds = time.monotonic() - showing.begun
    stage.measured("clicks through Spark, kills included", total, seconds)
    show(showing, found)


def kill_and_restart(showing: Play) -> None:
    """SIGKILL while clicks are sent, read and counted; generator and pipeline must sit it out."""
    showing.broker.kill()
    dead = time.monotonic()
    showing.broker.start()
    showing.tell(f"killed the broker; it was back after {showing.stage.duration(time.monotonic() - dead)}")


def too_late(day_of: Day) -> list[Click]:
    """New clicks, of minutes that have been closed and written."""
    early = day_of.clicks[0].at_ms
    return [Click(10_000_000 + number, "user-1", "/late", 1, early + number) for number in range(TOO_LATE)]


def _read_at_least(counting: PipelineProcess, rows: int) -> "dict[str, int] | None":
    """Its status, once it has read so many."""
    status = counting.status()
    return status if status.get("rows", 0) >= rows else None


def compare(showing: Play, found: Results, where: str) -> None:
    """The multiset of what was found against the truth."""
    due: Results = Counter(
        {(window, country, *numbers): 1 for (window, country), numbers in showing.day.truth.items()}
    )
    missing, surplus = due - found, found - due
    clicks = sum(clicks for clicks, _ in showing.day.truth.values())
    showing.stage.claim(
        not missing and not surplus,
        f"{where} holds {len(due):,} counts of {clicks:,} clicks, each once, each as the truth has it",
        f"{where} is not the truth: {missing.total():,} counts missing, {surplus.total():,} not true",
    )


def show(showing: Play, found: Results) -> None:
    """The table with its bars, and the picture."""
    stage = showing.stage
    counts = {(window, country): (clicks, cents) for window, country, clicks, cents in found}
    stage.console.print()
    stage.console.print(counts_table(counts, stage.is_ascii))
    stage.console.print()
    picture = (
        Path("build") / "click-stream.png" if Path("build").is_dir() else showing.directory / "clicks.png"
    )
    if write_png(counts, picture):
        stage.say(f"the same as a picture: {picture}")


def archive_and_compare(showing: Play, archiving: Path) -> None:
    """The second pipeline, to its end, and its files read by pyarrow instead of by Spark."""
    archive = PipelineProcess(archiving, showing.directory / "pipelines", "archive-counts", MASTER)
    try:
        archive.wait()
    finally:
        archive.kill()
    import pyarrow.dataset  # noqa: PLC0415 (the extra `spark`)

    lake = showing.directory / "lake"
    rows = pyarrow.dataset.dataset(lake, format="parquet", partitioning="hive").to_table().to_pylist()
    found: Results = Counter(
        result_of({**row, "window_start": row["window_start"].isoformat()}) for row in rows
    )
    files = sum(1 for _ in lake.glob("date=*/hour=*/*.parquet"))
    showing.tell(f"archived as Parquet by date and hour, in {files} files")
    compare(showing, found, "the archive")


def point_further(showing: Play, spec: Path) -> None:
    """Where to look next."""
    showing.stage.say(
        "Next: docs/pipelines/README.md has the ready pipelines, each with a picture and a file to run;"
    )
    showing.stage.say(f"the one that ran here is {spec} (--keep DIR keeps it); `dlog pipeline run --help`")


def _is_missing(name: str) -> bool:
    try:
        return find_spec(name) is None
    except ModuleNotFoundError:
        return True
