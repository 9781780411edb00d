"""The broker's `Scheduler` on a running asyncio or uvloop loop."""

import asyncio
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

    async def finish(self, seconds_max: float) -> None:
        """Wait until the threads have nothing to do, or for so long."""
        idle = self._loop.create_future()
        self._threads.when_idle(lambda: None if idle.done() else idle.set_result(None))
        await asyncio.wait([idle], timeout=seconds_max)
        idle.cancel()

    def close(self, seconds_max: float = 5.0) -> None:
        """Stop the threads; one that is still at work after so long ends with the process."""
        self._threads.close(seconds_max)
