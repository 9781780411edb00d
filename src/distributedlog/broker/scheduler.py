"""What the broker needs of an event loop, and no more: asyncio gives it, and a seeded clock in tests."""

from collections.abc import Callable
from typing import Protocol, TypeVar

Result = TypeVar("Result")


class Timer(Protocol):
    """A call to come."""

    def cancel(self) -> None: ...


class Scheduler(Protocol):
    """One thread's future. All methods are called in that thread, and call back in it."""

    def now_ms(self) -> int:
        """The wall clock, in the unit of Kafka's timestamps."""

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Timer:
        """Call once, after so long by a clock that is never set back."""

    def call_soon(self, callback: Callable[[], None]) -> None:
        """Call when the current callbacks are done: so that work of many requests may be gathered."""

    def run_in_thread(
        self,
        work: Callable[[], Result],
        done: Callable[[Result], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Do blocking work elsewhere and call back with its result or its error."""
