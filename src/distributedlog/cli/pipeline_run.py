"""`dlog pipeline run | declare`."""

import argparse
import subprocess
import sys
import time
from typing import Final

from distributedlog.cli.cluster_work import complain
from distributedlog.cli.terminal import counted, shown
from distributedlog.pipelines.durations import shown_duration
from distributedlog.pipelines.errors import PipelineError, SpecError
from distributedlog.pipelines.home import Homes, PipelineHome
from distributedlog.pipelines.progress import FAILED, FINISHED, RUNNING, Status, status_of
from distributedlog.pipelines.spec import PipelineSpec
from distributedlog.pipelines.spec_file import load_spec

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2
DETACH_SECONDS: Final = 180.0
_POLL_SECONDS: Final = 0.2


def run(arguments: argparse.Namespace) -> int:
    try:
        spec = load_spec(arguments.spec, bootstrap=arguments.bootstrap)
        if arguments.check:
            print(f"{arguments.spec} is right: {spec.name}, {' then '.join(spec.kinds)}")
            return 0
        home = Homes(arguments.home).at(spec.name)
        return _detached(arguments, home) if arguments.detach else _in_foreground(arguments, spec, home)
    except SpecError as error:
        complain(str(error))
        return EXIT_USAGE
    except PipelineError as error:
        complain(str(error))
        return EXIT_FAILED


def declare(arguments: argparse.Namespace) -> int:
    from distributedlog.pipelines.declarative import write_project

    try:
        written = write_project(arguments.spec, arguments.directory, force=arguments.force)
    except SpecError as error:
        complain(str(error))
        return EXIT_USAGE
    except PipelineError as error:
        complain(str(error))
        return EXIT_FAILED
    for path in written:
        print(path)
    return 0


def _in_foreground(arguments: argparse.Namespace, spec: PipelineSpec, home: PipelineHome) -> int:
    from distributedlog.pipelines.runner import run_pipeline

    progress = _Line(home)
    try:
        status = run_pipeline(
            spec,
            home,
            directory=arguments.spec.parent,
            master=arguments.master,
            settings=dict(arguments.conf),
            on_status=progress.show,
        )
    finally:
        progress.end()
    batches = counted(0 if status.batch is None else status.batch + 1, "batch").replace("batchs", "batches")
    if status.state == FAILED:
        complain(f"pipeline {spec.name} failed: {status.error}; more in {home.log}")
        return EXIT_FAILED
    print(f"{spec.name} is {status.state}: {counted(status.rows, 'row')} in this run, {batches} in all")
    return 0


class _Line:
    """The first line says where it is; on a terminal, one below it how it is doing."""

    def __init__(self, home: PipelineHome) -> None:
        self._home = home
        self._is_told = False
        self._is_watched = sys.stdout.isatty()
        self._width = 0

    def show(self, status: Status) -> None:
        if not self._is_told and status.state == RUNNING:
            self._is_told = True
            door = self._home.read_run().get("door")
            print(f"{self._home.name} is running; metrics and status on http://{door}", flush=True)
        if self._is_watched and status.state == RUNNING and status.batch is not None:
            lag = "" if status.lag is None else f", lag {status.lag:,}"
            text = (
                f"batch {status.batch}: {status.rows:,} rows, {status.rows_per_second:,.0f}/s{lag}, "
                f"state {status.state_rows:,}, {shown_duration(status.batch_ms)} a batch"
            )
            print(f"\r{shown(text).ljust(self._width)}", end="", flush=True)
            self._width = len(text)

    def end(self) -> None:
        if self._width:
            print()


def _detached(arguments: argparse.Namespace, home: PipelineHome) -> int:
    """Start a process of its own, and return when its query runs."""
    if home.is_running():
        raise PipelineError(f"pipeline {home.name} is running already")
    command = [sys.executable, "-m", "distributedlog.cli.main", "pipeline", "run", str(arguments.spec)]
    command += ["--home", str(arguments.home), "--bootstrap", arguments.bootstrap]
    command += ["--master", arguments.master] if arguments.master else []
    for name, value in arguments.conf:
        command += ["--conf", f"{name}={value}"]
    home.path.mkdir(parents=True, exist_ok=True)
    home.write_status(Status().as_json())
    with open(home.log, "ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    deadline = time.monotonic() + DETACH_SECONDS
    while time.monotonic() < deadline:
        status = status_of(home.read_status())
        if status.state == FAILED:
            raise PipelineError(f"pipeline {home.name} failed: {status.error}; more in {home.log}")
        if status.state in {RUNNING, FINISHED}:
            process.returncode = 0  # it outlives us: subprocess must not mind
            print(f"{home.name} is {status.state}, process {process.pid}; `dlog pipeline status {home.name}`")
            return 0
        try:
            code = process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
        if code and status_of(home.read_status()).state != FAILED:
            raise PipelineError(f"pipeline {home.name} did not start; see {home.log}")
    raise PipelineError(f"pipeline {home.name} has not begun within {DETACH_SECONDS:.0f} s; see {home.log}")
