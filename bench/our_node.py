"""``dlog start`` as a process."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Self

from bench.kafka_node import resident_memory_mb

COMMAND = (sys.executable, "-m", "distributedlog.cli.main", "start")


class OurNode:
    """Started when made; `stop` it."""

    name = "distributedlog"

    def __init__(
        self,
        directory: str,
        settings: Mapping[str, str] | None = None,
        *,
        command: Sequence[str] = COMMAND,
    ) -> None:
        options = [f"--set={name}={value}" for name, value in (settings or {}).items()]
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [*command, "--data", directory, "--listen", "127.0.0.1:0", "--set=console.level=error", *options],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": ""},  # pip leaves modules compiled
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        match = re.search(rb":(\d+)\s*$", line)
        if match is None:
            raise RuntimeError(f"the node did not start: {line!r}")
        self.ready = time.perf_counter()
        self.bootstrap = f"127.0.0.1:{int(match[1])}"

    def resident_memory_mb(self) -> float:
        return resident_memory_mb(self.process.pid)

    def stop(self) -> float:
        """Seconds from the signal to the end."""
        begun = time.perf_counter()
        self.process.terminate()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return time.perf_counter() - begun

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
