"""The real file system with a clock beside it: how long the disk takes to sync."""

import threading
from collections.abc import Callable
from time import perf_counter_ns

from distributedlog.log import Files


class MeasuredFiles(Files):
    """Tells ``observe`` the nanoseconds of each fsync, from whatever thread it is called in."""

    def __init__(self, observe: Callable[[int], None]) -> None:
        self._observe = observe
        self._lock = threading.Lock()

    def fsync(self, fd: int) -> None:
        start = perf_counter_ns()
        super().fsync(fd)
        elapsed = perf_counter_ns() - start
        with self._lock:
            self._observe(elapsed)
