"""[pure] Stop trying for a while when nothing works: closed, open, half-open."""

import threading
import time
from collections.abc import Callable
from enum import Enum

from distributedlog.client.errors import CircuitOpen, InvalidOption


class CircuitState(Enum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half-open"


class CircuitBreaker:
    """Opens after `failures_max` failed requests in a row; then `send` raises CircuitOpen at once.

    After `reset_timeout_ms` it is half-open: `probes_max` records may try. The first success closes it, the
    first failure opens it again.
    """

    def __init__(
        self,
        failures_max: int = 5,
        reset_timeout_ms: float = 30_000,
        probes_max: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if failures_max < 1 or probes_max < 1 or reset_timeout_ms < 0:
            raise InvalidOption("a circuit breaker needs failures_max and probes_max of at least 1")
        self._failures_max = failures_max
        self._reset_seconds = reset_timeout_ms / 1000
        self._probes_max = probes_max
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._probes = 0
        self._opened_at: float | None = None

    @property
    def state(self) -> CircuitState:
        with self._lock:
            return self._state()

    def _state(self) -> CircuitState:
        if self._opened_at is None:
            return CircuitState.CLOSED
        is_over = self._clock() - self._opened_at >= self._reset_seconds
        return CircuitState.HALF_OPEN if is_over else CircuitState.OPEN

    def check(self) -> None:
        """CircuitOpen unless a record may be sent now."""
        if self._opened_at is None:
            return
        with self._lock:
            state = self._state()
            if state is CircuitState.HALF_OPEN and self._probes < self._probes_max:
                self._probes += 1
                return
            if state is not CircuitState.CLOSED:
                raise CircuitOpen(
                    f"{self._failures} requests failed one after another; "
                    f"sends are tried again {self._reset_seconds:g} s after the last failure"
                )

    def succeeded(self) -> None:
        if self._failures or self._opened_at is not None:
            with self._lock:
                self._failures = self._probes = 0
                self._opened_at = None

    def failed(self) -> None:
        with self._lock:
            self._failures += 1
            if self._opened_at is not None or self._failures >= self._failures_max:
                self._opened_at = self._clock()
                self._probes = 0
