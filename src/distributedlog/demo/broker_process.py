"""`dlog` as processes of their own: the broker that the demo kills, and the commands that ask it."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from typing import IO, Final

DLOG: Final = (sys.executable, "-m", "distributedlog.cli.main")
#: A group of one need not wait three seconds for more members, as Kafka's groups do.
SETTINGS: Final = ("--set", "group.initial.rebalance.delay.ms=0")
PATIENCE_SECONDS: Final = 60
_READY: Final = re.compile(rb" on (\S+:\d+)\n")


class BrokerDied(OSError):
    """The broker did not start, or a command failed; the text is what it said."""


class BrokerProcess:
    """`dlog start` on one data directory, as often as wanted; always at the address of the first time."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.address = "127.0.0.1:0"
        #: When the command was given.
        self.started = 0.0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Until the ready line, which holds the address."""
        self.started = time.perf_counter()
        command = [*DLOG, "start", "--data", str(self.directory), "--listen", self.address, *SETTINGS]
        # In a session of its own, so that Ctrl-C in the terminal is ours to deal with.
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        impatience = Timer(PATIENCE_SECONDS, self._process.kill)
        impatience.start()
        line = _stream(self._process.stdout).readline()
        impatience.cancel()
        ready = _READY.search(line)
        if ready is None:
            raise BrokerDied(f"the broker did not start: {_stream(self._process.stderr).read().decode()}")
        self.address = ready[1].decode()

    def kill(self) -> None:
        """SIGKILL: it has no chance to do anything about it."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code of the clean stop."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        process, self._process = self._process, None
        if process is None:
            return 0
        process.send_signal(number)
        try:
            return process.wait(PATIENCE_SECONDS)
        finally:
            process.kill()
            process.wait()
            _stream(process.stdout).close()
            _stream(process.stderr).close()


@contextmanager
def broker_process(directory: Path) -> Iterator[BrokerProcess]:
    """Started; killed at the end, should it still run."""
    broker = BrokerProcess(directory)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def dlog(broker: BrokerProcess, *arguments: str) -> str:
    """What a command prints about the broker."""
    environment = {**os.environ, "DLOG_BOOTSTRAP": broker.address, "COLUMNS": "72"}
    done = subprocess.run(
        [*DLOG, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=PATIENCE_SECONDS,
        check=False,
    )
    if done.returncode:
        raise BrokerDied(f"`dlog {' '.join(arguments)}` failed: {done.stderr}")
    return done.stdout


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
