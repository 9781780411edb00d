"""Deadlines that move with every heartbeat, over wake-ups that cannot be taken back.

A deadline is a field here and costs nothing to move. Only one wake-up per deadline is outstanding at the
driver; when it comes early, because the deadline has moved on meanwhile, it is armed anew. A deadline that
was cancelled lets its wake-up pass.
"""

from collections.abc import Hashable
from typing import Generic, TypeVar

from distributedlog.coordination.outcome import Timer

Key = TypeVar("Key", bound=Hashable)


class TimerBook(Generic[Key]):
    """The deadlines of one coordinator. ``wakeups`` collects what the driver is to arm."""

    __slots__ = ("_armed", "_deadlines", "wakeups")

    def __init__(self) -> None:
        self._deadlines: dict[Key, tuple[int, int]] = {}
        self._armed: dict[Key, int] = {}
        self.wakeups: list[Timer[Key]] = []

    def set(self, key: Key, at_ms: int, epoch: int = 0) -> None:
        """Put the deadline at ``at_ms``, wherever it was; ``epoch`` comes back when it is due."""
        self._deadlines[key] = (at_ms, epoch)
        armed = self._armed.get(key)
        if armed is None or armed > at_ms:
            self._arm(key, at_ms)

    def set_if_absent(self, key: Key, at_ms: int, epoch: int = 0) -> None:
        """As `set`, unless there is a deadline already."""
        if key not in self._deadlines:
            self.set(key, at_ms, epoch)

    def cancel(self, key: Key) -> None:
        """Forget the deadline."""
        self._deadlines.pop(key, None)

    def __contains__(self, key: Key) -> bool:
        return key in self._deadlines

    def __len__(self) -> int:
        return len(self._deadlines)

    def deadline_ms(self, key: Key) -> int | None:
        """When the deadline is, for tests and descriptions."""
        deadline = self._deadlines.get(key)
        return None if deadline is None else deadline[0]

    def due(self, timer: Timer[Key], now_ms: int) -> int | None:
        """The epoch of the deadline that ``timer`` has reached; None where there is nothing to do.

        A deadline that is due is taken out of the book.
        """
        key, at_ms = timer
        if self._armed.get(key) == at_ms:
            del self._armed[key]
        deadline = self._deadlines.get(key)
        if deadline is None:
            return None
        if deadline[0] > now_ms:
            if key not in self._armed:
                self._arm(key, deadline[0])
            return None
        del self._deadlines[key]
        return deadline[1]

    def drain(self) -> list[Timer[Key]]:
        """The wake-ups asked for since the last call."""
        wakeups = self.wakeups
        self.wakeups = []
        return wakeups

    def _arm(self, key: Key, at_ms: int) -> None:
        self._armed[key] = at_ms
        self.wakeups.append(Timer(key, at_ms))
