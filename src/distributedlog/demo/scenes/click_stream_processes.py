"""The processes of the click stream beside its broker: pipelines, and Spark's workers in them."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeVar

from distributedlog.demo.broker_process import DLOG

Found = TypeVar("Found")

#: Only ends what would never end: a busy machine may take its time.
PATIENCE_SECONDS: Final = 300.0
_POLL_SECONDS: Final = 0.05


class Failed(OSError):
    """A process of ours did not do what it is for; the demo says so and goes on."""


def wait_for(what: str, look: Callable[[], Found | None], seconds: float = PATIENCE_SECONDS) -> Found:
    """What `look` finds, as soon as it finds something."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found is not None:
            return found
        if time.monotonic() > deadline:
            raise Failed(f"waited {seconds:.0f} s in vain for {what}")
        time.sleep(_POLL_SECONDS)


class PipelineProcess:
    """`dlog pipeline run` of one specification; its status is read from its home."""

    def __init__(self, spec: Path, home: Path, name: str, master: str) -> None:
        command = [*DLOG, "pipeline", "run", str(spec), "--home", str(home), "--master", master]
        self._status_path = home / name / "status.json"
        home.mkdir(parents=True, exist_ok=True)
        self._said = (home / f"{name}.out").open("wb")
        self._process = subprocess.Popen(
            command, stdout=self._said, stderr=subprocess.STDOUT, start_new_session=True
        )

    @property
    def process_id(self) -> int:
        return self._process.pid

    def status(self) -> dict[str, Any]:
        """What it told last; Failed once it has."""
        content: dict[str, Any] = {}
        with contextlib.suppress(FileNotFoundError):
            content = json.loads(self._status_path.read_text())
        code = self._process.poll()
        if content.get("state") == "failed" or code:
            said = Path(self._said.name).read_text(errors="replace").strip().splitlines()
            raise Failed(f"the pipeline failed: {content.get('error') or (said or ['without a word'])[-1]}")
        return content

    def wait(self) -> None:
        """For the end of one that ends by itself."""
        wait_for("the pipeline's end", self._process.poll)
        self.status()

    def stop(self) -> None:
        """In order, as `dlog pipeline stop` does."""
        if self._process.poll() is None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(PATIENCE_SECONDS)
        self.kill()

    def kill(self) -> None:
        """With Java and the workers, which are of the same process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._said.close()


def kill_one_worker(process_id: int) -> int:
    """SIGKILL one of the Python workers in which Spark reads and writes; returns its process id."""
    workers = wait_for("a Spark worker", lambda: _workers(process_id) or None)
    victim = max(workers)
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
    return victim


def _workers(process_id: int) -> list[int]:
    """Descendants that a ``pyspark.daemon`` has forked: those do the work."""
    parents, daemons = {}, set()
    for process, parent, command in _processes():
        parents[process] = parent
        if "pyspark.daemon" in command:
            daemons.add(process)
    return [
        process
        for process in daemons
        if parents[process] in daemons and process_id in _ancestors(process, parents)
    ]


def _ancestors(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process in parents:
        process = parents[process]
        yield process


def _processes() -> Iterator[tuple[int, int, str]]:
    """Process, parent and command line of all there are; where there is no /proc, from ``ps``."""
    if Path("/proc/self/stat").exists():
        for path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                yield int(path.name), parent, command
        return
    listed = subprocess.run(
        ["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=False
    )
    for line in listed.stdout.splitlines():
        process, parent_text, command = line.split(None, 2)
        yield int(process), int(parent_text), command
