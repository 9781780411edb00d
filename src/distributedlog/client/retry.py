"""[pure] How long to wait before the next try: twice as long each time, and never all clients at once."""

from collections.abc import Callable
from typing import Final

_JITTER: Final = 0.2


class Backoff:
    """Delays in milliseconds from `first_ms` up to `max_ms`, each shifted by up to a fifth either way.

    `random` gives numbers from 0 to 1.
    """

    __slots__ = ("_max_ms", "_next_ms", "_random")

    def __init__(self, first_ms: int, max_ms: int, random: Callable[[], float]) -> None:
        self._next_ms = float(first_ms)
        self._max_ms = max_ms
        self._random = random

    def next_ms(self) -> float:
        delay = self._next_ms
        self._next_ms = min(delay * 2, self._max_ms)
        return delay * (1 + _JITTER * (2 * self._random() - 1))
