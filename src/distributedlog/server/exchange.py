"""A request whose answer is not there yet, in its place among the others of its connection."""

from collections.abc import Callable
from typing import Any

from distributedlog.broker.pending import Pending


class Exchange:
    """Responses leave in the order of the requests; this keeps the place of one that takes longer."""

    __slots__ = (
        "_pending",
        "_when_done",
        "api_key",
        "correlation_id",
        "is_done",
        "response",
        "started_ns",
        "version",
    )

    def __init__(
        self,
        api_key: int,
        version: int,
        correlation_id: int,
        started_ns: int,
        when_done: Callable[[], None],
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.started_ns = started_ns
        self._pending: Pending | None = None
        self.response: Any = None
        self.is_done = False
        self._when_done = when_done

    def wait_for(self, pending: Pending) -> None:
        self._pending = pending
        pending.when_done(self.complete)

    def complete(self, response: Any) -> None:
        """The answer is there: it is sent when those before it are."""
        self.response = response
        self.is_done = True
        self._pending = None
        self._when_done()

    def abandon(self) -> None:
        """The client is gone."""
        if self._pending is not None:
            self._pending.abandon()
            self._pending = None
