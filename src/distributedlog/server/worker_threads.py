"""Threads for what blocks: fsync, compaction, deletion, compression of large batches.

Leaner than `concurrent.futures`: on the way of every durable acknowledgement a job costs one queue
operation and one wake-up of the loop.
"""

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

Job = tuple[Callable[[], Any], Callable[[Any], None], Callable[[BaseException], None]]

THREADS_MAX: Final = 8


class WorkerThreads:
    """Threads that are started when they are first needed. ``call_in_loop`` brings results home."""

    def __init__(self, call_in_loop: Callable[..., Any], threads_max: int = THREADS_MAX) -> None:
        self._call_in_loop = call_in_loop
        self._threads_max = threads_max
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._outstanding = 0
        self._closed = False
        self._on_idle: Callable[[], None] | None = None

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Call once no job is left, at once when there is none."""
        self._on_idle = callback
        self._tell_when_idle()

    def _tell_when_idle(self) -> None:
        if not self._outstanding and self._on_idle is not None:
            callback, self._on_idle = self._on_idle, None
            callback()

    def run(
        self, work: Callable[[], Any], done: Callable[[Any], None], failed: Callable[[BaseException], None]
    ) -> None:
        """Do it in some thread. Jobs begin in the order in which they came."""
        if self._closed:
            raise RuntimeError("the worker threads are closed")
        self._outstanding += 1
        if self._outstanding > len(self._threads) < self._threads_max:
            thread = threading.Thread(
                target=self._work, name=f"dlog-worker-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        self._queue.put((work, done, failed))

    def _work(self) -> None:
        while (job := self._queue.get()) is not None:
            work, done, failed = job
            try:
                result = work()
            except BaseException as error:  # noqa: BLE001  (whoever gave the job judges it)
                self._come_home(failed, error)
            else:
                self._come_home(done, result)
            del job, work, done, failed

    def _come_home(self, callback: Callable[[Any], None], value: Any) -> None:
        try:
            self._call_in_loop(self._deliver, callback, value)
        except RuntimeError:
            # The loop is closed: nobody is left to hear of it.
            return

    def _deliver(self, callback: Callable[[Any], None], value: Any) -> None:
        self._outstanding -= 1
        try:
            callback(value)
        finally:
            self._tell_when_idle()

    def close(self, seconds_max: float) -> None:
        """Finish what was given, for so long, then stop. Results still come to the loop, if it goes on."""
        if self._closed:
            return
        self._closed = True
        for _ in self._threads:
            self._queue.put(None)
        deadline = time.monotonic() + seconds_max
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
