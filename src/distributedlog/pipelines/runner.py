"""[io] One pipeline's process: session, topics, query, status, door; until it is done, stopped or broken."""

import contextlib
import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from distributedlog.pipelines.building import build
from distributedlog.pipelines.door import Door, Query
from distributedlog.pipelines.durations import duration_ms
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.home import PipelineHome
from distributedlog.pipelines.progress import FAILED, FINISHED, RUNNING, STOPPED, Status, after_batch
from distributedlog.pipelines.session import LOCAL_DEFAULT, open_session
from distributedlog.pipelines.spec import PipelineSpec
from distributedlog.pipelines.state_query import look_up
from distributedlog.pipelines.topics import make_topics
from distributedlog.pipelines.writing import start, write_batch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_PYTHON_ERROR: Final = re.compile(
    r"^(?:\w+\.)*(\w*(?:Error|Exception|Loss|Option|Fenced)): (.+)$", re.MULTILINE
)
_SPARK_ERROR: Final = re.compile(r"^\[([A-Z_.]+)\] (.+)$", re.MULTILINE)
#: Say nothing themselves: the second is what Spark's source runner stumbles over behind the true error.
_WRAPPERS: Final = frozenset({"PythonException", "UnboundLocalError"})
OnStatus = Callable[[Status], None]


class Stopper:
    """Asked from another thread or by a signal; the runner looks after each poll."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        self._asked.set()

    @property
    def is_asked(self) -> bool:
        return self._asked.is_set()

    @contextlib.contextmanager
    def by_signals(self) -> Iterator[None]:
        """SIGTERM and SIGINT ask, where this is the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: signal.signal(number, lambda *_: self.ask()) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run_pipeline(
    spec: PipelineSpec,
    home: PipelineHome,
    *,
    directory: Path,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    on_status: OnStatus = lambda _: None,
    stopper: Stopper | None = None,
) -> Status:
    """Run until the query ends; the last status says how. PipelineError where it cannot even begin.

    `directory` is where functions named ``file.py:name`` are looked for; `settings` are Spark's and come
    before those of the specification.
    """
    stopper = stopper or Stopper()
    with home.locked(), stopper.by_signals():
        home.write_run(_run_content(spec, directory, master, ""))
        home.write_status(Status().as_json())
        try:
            return _run_locked(spec, home, directory, master, settings or {}, on_status, stopper)
        except BaseException as error:
            text = str(error) if isinstance(error, PipelineError) else one_line(error)
            home.write_status(Status(state=FAILED, error=text).as_json())
            raise


def _run_locked(
    spec: PipelineSpec,
    home: PipelineHome,
    directory: Path,
    master: str | None,
    settings: Mapping[str, str],
    on_status: OnStatus,
    stopper: Stopper,
) -> Status:
    make_topics(spec)
    checkpoint = spec.run["checkpoint"] or str(home.checkpoint.absolute())
    chosen = {"spark.sql.shuffle.partitions": str(spec.run["partitions"]), **spec.spark, **settings}
    spark = open_session(
        f"pipeline {spec.name}",
        master,
        chosen,
        has_lock=spec.run["checkpoint"] is None,
        log=home.log,
    )
    with stopper.by_signals():  # the session has set its own
        try:
            built = build(spark, spec, directory)
            if not built.frame.isStreaming:
                write_batch(built, spec)
                return _Teller(home, on_status).tell(Status(state=FINISHED))
            query = start(built, spec, checkpoint)
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(one_line(error)) from error
        return _watch(
            query, spec, home, _query_of(spark, spec, checkpoint), directory, master, on_status, stopper
        )


def _watch(
    query: "StreamingQuery",
    spec: PipelineSpec,
    home: PipelineHome,
    look: Query | None,
    directory: Path,
    master: str | None,
    on_status: OnStatus,
    stopper: Stopper,
) -> Status:
    teller = _Teller(home, on_status)
    door = Door(spec.run["metrics"], spec.name, lambda: teller.status, look)
    try:
        home.write_run(_run_content(spec, directory, master, door.address))
        status = teller.tell(teller.status)
        seconds: Any = duration_ms(spec.run["poll"]) / 1000  # Spark takes fractions, its types do not
        is_over = False
        while not is_over and not stopper.is_asked:
            failure = None
            try:
                is_over = bool(query.awaitTermination(seconds))
            except Exception as error:  # noqa: BLE001  (whatever Spark raises, the query has failed)
                failure, is_over = error, True
            status = teller.tell(_newest(status, query))
            if failure is not None:
                return teller.tell(replace(status, state=FAILED, error=one_line(failure)))
        query.stop()
        return teller.tell(replace(_newest(status, query), state=FINISHED if is_over else STOPPED))
    finally:
        door.close()


def _newest(status: Status, query: "StreamingQuery") -> Status:
    for progress in query.recentProgress:
        content: Any = progress
        status = after_batch(status, content)
    return status


class _Teller:
    """Holds the newest status for the door, writes it down, and tells whoever runs the pipeline."""

    def __init__(self, home: PipelineHome, on_status: OnStatus) -> None:
        self.status = Status(state=RUNNING)
        self._home = home
        self._on_status = on_status

    def tell(self, status: Status) -> Status:
        self.status = status
        self._home.write_status(status.as_json())
        self._on_status(status)
        return status


def _query_of(spark: "SparkSession", spec: PipelineSpec, checkpoint: str) -> Query | None:
    if spec.kinds[-1] != "materialize":
        return None

    def ask(key: str) -> dict[str, Any] | None:
        found = look_up(spark, checkpoint, key)
        if found is None:
            return None
        key_text, value = (
            found.key.decode(errors="backslashreplace"),
            found.value.decode(errors="backslashreplace"),
        )
        return {"key": key_text, "value": value, **found.fields}

    return ask


def _run_content(spec: PipelineSpec, directory: Path, master: str | None, door: str) -> dict[str, Any]:
    return {
        "name": spec.name,
        "pipeline": list(spec.kinds),
        "bootstrap": spec.bootstrap,
        "directory": str(directory.absolute()),
        "master": master or LOCAL_DEFAULT,
        "checkpoint": spec.run["checkpoint"],
        "process": os.getpid(),
        "started": time.time(),
        "door": door,
    }


def one_line(error: BaseException) -> str:
    """The sentence of one of Spark's errors that says what went wrong, without both languages' traces."""
    text = str(error)
    python = [match for match in _PYTHON_ERROR.findall(text) if match[0] not in _WRAPPERS]
    if python:
        return f"{python[-1][0]}: {python[-1][1]}"
    spark = _SPARK_ERROR.findall(text)
    if spark:
        return f"[{spark[-1][0]}] {spark[-1][1]}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
