"""Flushing behind the writer's back: the `interval` setting, and sealed segments in `os` [io]."""

import threading
from collections.abc import Callable

from distributedlog.log.config import FlushPolicy
from distributedlog.log.errors import LogError
from distributedlog.log.group_commit import GroupCommit


class FlushThread:
    """Keeps the disk at most an interval behind. Started with the first append that needs it.

    A failure is not raised here; `GroupCommit` remembers it and the next append meets it.
    """

    def __init__(self, commit: GroupCommit, policy: FlushPolicy, log_end_offset: Callable[[], int]) -> None:
        self._commit = commit
        self._interval_s = policy.flush_interval_ms / 1000
        self._log_end_offset = log_end_offset
        self._due = threading.Event()
        self._due_to: int | None = None
        self._stopping = False
        self._thread: threading.Thread | None = None

    def flush_within_interval(self) -> None:
        """Something was appended; have it on the disk before the interval is over."""
        if not self._due.is_set():
            self._start()
            self._due.set()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="distributedlog-flush", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        wake = threading.Event()
        while True:
            self._due.wait()
            if self._stopping:
                return
            wake.wait(self._interval_s)
