"""A response that comes later: a long poll, an append that waits for the disk, a rebalance.

A handler returns its response, or a `Pending` that someone completes. The connection sends responses
in the order of the requests, whichever comes first.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, Final


class _Close(Enum):
    CONNECTION = 0


#: In place of a response: close the connection instead, the only way to tell acks=0 of an error.
CLOSE_CONNECTION: Final = _Close.CONNECTION


class Pending:
    """Completed once, by whoever has the answer; later completions are ignored.

    ``on_abandoned`` is called when the connection is gone and nobody waits any more.
    """

    __slots__ = ("_callback", "_done", "_response", "on_abandoned")

    def __init__(self) -> None:
        self._done = False
        self._response: Any = None
        self._callback: Callable[[Any], None] | None = None
        self.on_abandoned: Callable[[], None] | None = None

    @property
    def is_done(self) -> bool:
        return self._done

    def complete(self, response: Any) -> None:
        """Give the response. None means that none is sent (acks=0)."""
        if self._done:
            return
        self._done = True
        self._response = response
        if self._callback is not None:
            self._callback(response)

    def when_done(self, callback: Callable[[Any], None]) -> None:
        """Call back with the response, at once when it is there."""
        self._callback = callback
        if self._done:
            callback(self._response)

    def abandon(self) -> None:
        """Nobody waits any more: what was kept for the answer may go."""
        if not self._done:
            self._done = True
            if self.on_abandoned is not None:
                self.on_abandoned()
