"""Memory for requests that are still arriving, shared by all connections (`queued.max.request.bytes`)."""

from collections import deque
from collections.abc import Callable


class RequestMemory:
    """As in Kafka, what is free is given to the next request whatever its size, so that one always fits;
    while nothing is free, the others wait in order. A limit of -1 is none."""

    __slots__ = ("_limit", "_waiting", "used")

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._waiting: deque[tuple[int, Callable[[], None]]] = deque()
        self.used = 0

    @property
    def waiting(self) -> int:
        """How many requests wait for memory."""
        return len(self._waiting)

    def take(self, size: int, granted: Callable[[], None]) -> bool:
        """Whether the memory is there. If not, ``granted`` is called when it has been taken."""
        if self._limit > 0 and (self.used >= self._limit or self._waiting):
            self._waiting.append((size, granted))
            return False
        self.used += size
        return True

    def give_back(self, size: int) -> None:
        self.used -= size
        while self._waiting and self.used < self._limit:
            wanted, granted = self._waiting.popleft()
            self.used += wanted
            granted()

    def forget(self, granted: Callable[[], None]) -> None:
        """Who waited with this callback is gone."""
        self._waiting = deque(entry for entry in self._waiting if entry[1] != granted)
