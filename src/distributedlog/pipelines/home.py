"""[io] Where pipelines leave what others want to know of them: one directory, one below it for each.

NAME/lock             held (flock) by whoever runs it: two drivers on one checkpoint would write twice
NAME/run.json         how it was started: specification, master, process, address of its door
NAME/status.json      its last status
NAME/checkpoint/      Spark's: position and state, unless the specification puts it elsewhere
NAME/spark.log        what Spark has to say, where it runs in the background
"""

import contextlib
import fcntl
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from distributedlog.pipelines.errors import AlreadyRunning, PipelineError
from distributedlog.pipelines.spec_keys import nearest

DIRECTORY_DEFAULT: Final = "dlog-pipelines"
DIRECTORY_VARIABLE: Final = "DLOG_PIPELINES"


class PipelineHome:
    """The files of one pipeline."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.name

    @property
    def checkpoint(self) -> Path:
        return self.path / "checkpoint"

    @property
    def log(self) -> Path:
        return self.path / "spark.log"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Held as long as the pipeline runs, and released by the system however the process ends."""
        self.path.mkdir(parents=True, exist_ok=True)
        with open(self.path / "lock", "a+b") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise AlreadyRunning(
                    f"pipeline {self.name} is running already; `dlog pipeline stop {self.name}` stops it"
                ) from None
            yield

    def is_running(self) -> bool:
        """Whether somebody holds the lock."""
        try:
            file = open(self.path / "lock", "rb")  # noqa: SIM115 (closed below, lock and all)
        except FileNotFoundError:
            return False
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def write_run(self, content: Mapping[str, Any]) -> None:
        _write(self.path / "run.json", content)

    def write_status(self, content: Mapping[str, Any]) -> None:
        _write(self.path / "status.json", content)

    def read_run(self) -> dict[str, Any]:
        return _read(self.path / "run.json")

    def read_status(self) -> dict[str, Any]:
        return _read(self.path / "status.json")

    def forget(self) -> None:
        """Position and state, not the specification; the next run begins anew."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        (self.path / "status.json").unlink(missing_ok=True)


class Homes:
    """All pipelines of one directory."""

    def __init__(self, root: Path | str | None = None) -> None:
        self.root = Path(root or os.environ.get(DIRECTORY_VARIABLE) or DIRECTORY_DEFAULT)

    def at(self, name: str) -> PipelineHome:
        """Whether it exists or not."""
        return PipelineHome(self.root / name)

    def existing(self, name: str) -> PipelineHome:
        home = self.at(name)
        if not (home.path / "run.json").exists():
            names = [each.name for each in self.all()]
            there = nearest(name, names) if names else f"; none has run with {self.root} yet"
            raise PipelineError(f"there is no pipeline {name!r}{there}")
        return home

    def all(self) -> list[PipelineHome]:
        return [PipelineHome(path.parent) for path in sorted(self.root.glob("*/run.json"))]


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Whole or not at all: others read it at any time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=f".{path.name}-", delete=False) as file:
        json.dump(content, file)
    os.replace(file.name, path)


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return content if isinstance(content, dict) else {}
