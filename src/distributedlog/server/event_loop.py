"""uvloop where it is installed, the standard library's loop where it is not; and how late the loop is."""

import asyncio
from asyncio import AbstractEventLoop, TimerHandle
from collections.abc import Callable
from typing import Final

DELAY_PROBE_INTERVAL_SECONDS: Final = 0.25


def new_event_loop() -> AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415  (may be missing)
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


class DelayProbe:
    """Asks the loop to call at a time, and observes by how much later it does."""

    def __init__(self, loop: AbstractEventLoop, observe: Callable[[int], None]) -> None:
        self._loop = loop
        self._observe = observe
        self._timer: TimerHandle | None = None

    def start(self) -> None:
        due = self._loop.time() + DELAY_PROBE_INTERVAL_SECONDS
        self._timer = self._loop.call_at(due, self._look, due)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self, due: float) -> None:
        self._observe(max(int((self._loop.time() - due) * 1e9), 0))
        self.start()
