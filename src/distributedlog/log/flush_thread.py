"""Flushing behind the writer's back: the `interval` setting, and sealed segments in `os` [io]."""

import threading
from collections.abc import Callable
from contextlib import suppress

from distributedlog.log.errors import LogError
from distributedlog.log.group_commit import GroupCommit


class FlushThread:
    """Keeps the disk at most an interval behind. Started by the first request.

    A failure is not raised here: `GroupCommit` remembers it and the next append meets it.
    """

    def __init__(self, commit: GroupCommit, interval_ms: int, log_end_offset: Callable[[], int]) -> None:
        self._commit = commit
        self._interval_s = interval_ms / 1000
        self._log_end_offset = log_end_offset
        self._requested = threading.Event()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def request(self) -> None:
        """Have all that is appended by now on the disk before the interval is over."""
        if not self._requested.is_set():
            self._requested.set()
            with self._starting:
                if self._thread is None and not self._stopping.is_set():
                    self._thread = threading.Thread(
                        target=self._run, name="distributedlog-flush", daemon=True
                    )
                    self._thread.start()

    def stop(self) -> None:
        """Return when the thread has ended; what it had not flushed is the closer's to flush."""
        self._stopping.set()
        self._requested.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while True:
            self._requested.wait()
            self._stopping.wait(self._interval_s)
            if self._stopping.is_set():
                return
            self._requested.clear()
            with suppress(LogError):
                self._commit.wait_for(self._log_end_offset())
