"""Who may connect: limits on how many connections there are, from where, and how fast they come [pure]."""

from collections import Counter
from typing import Final

#: A burst of as many connections as a second allows is no reason to wait.
_BURST_SECONDS: Final = 1.0


class Admission:
    """Counts connections. Limits are arguments: they may be changed while the broker runs."""

    __slots__ = ("_free_at", "_per_host", "count")

    def __init__(self) -> None:
        self.count = 0
        self._per_host: Counter[str] = Counter()
        self._free_at = 0.0

    def refusal(self, host: str, connections_max: int, connections_per_host_max: int) -> str | None:
        """Why one more connection from this host is too many; None when it is not."""
        if self.count >= connections_max:
            return f"there are {self.count} connections already (max.connections)"
        if self._per_host[host] >= connections_per_host_max:
            return (
                f"there are {self._per_host[host]} connections from {host} already (max.connections.per.ip)"
            )
        return None

    def delay_seconds(self, now: float, rate_max: int) -> float:
        """How long a new connection has to wait, so that no more than ``rate_max`` a second begin."""
        interval = 1 / max(rate_max, 1)
        self._free_at = max(self._free_at, now - _BURST_SECONDS) + interval
        return max(self._free_at - now, 0.0)

    def enter(self, host: str) -> None:
        self.count += 1
        self._per_host[host] += 1

    def leave(self, host: str) -> None:
        self.count -= 1
        self._per_host[host] -= 1
        if not self._per_host[host]:
            del self._per_host[host]
