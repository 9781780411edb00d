"""The broker's `Scheduler` on a running asyncio or uvloop loop."""

import time
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import TypeVar

from distributedlog.server.worker_threads import WorkerThreads

Result = TypeVar("Result")


class AsyncioScheduler:
    """See `distributedlog.broker.scheduler.Scheduler`. Belongs to the loop's thread."""

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._threads = WorkerThreads(loop.call_soon_threadsafe)

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> TimerHandle:
        return self._loop.call_later(delay_ms / 1000, callback)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._loop.call_soon(callback)

    def run_in_thread(
        self,
        work: Callable[[], Result],
        done: Callable[[Result], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._threads.run(work, done, failed)

    def close(self) -> None:
        """Wait for the threads."""
        self._threads.close()
