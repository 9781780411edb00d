"""What goes into a coordinator with a request, and what comes out of it.

The contract with the driver, which does the io:

1. Append ``Outcome.records`` to the coordinator's partition, as one batch, then at once, before the
   coordinator is called again, call ``applied(outcome, base_offset)``. Where there are no records there is
   nothing to apply.
2. Arm a wake-up for each of ``Outcome.timers``: ``on_timer(timer, now_ms)`` at ``timer.at_ms``. A timer
   is never taken back; a stale one does nothing.
3. Send ``Outcome.replies`` when everything appended so far is as durable as the topic demands. Replies
   to requests that wrote nothing wait for the records before them too, as they may tell of those.
4. If the append fails, call ``append_failed(outcome, error, now_ms)`` in place of ``applied`` and act on
   the outcome it returns. If records that were applied are lost later, unload and load again.

A room of coordinators adds to it what else its outcomes hold.
"""

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Context:
    """Who asks, in which version, when, and the token that its reply is to carry."""

    reply: Any
    api_version: int
    now_ms: int
    client_id: str = ""
    client_host: str = ""


class Reply(NamedTuple):
    """A response for the request that came with this token."""

    token: Any
    response: Any


class Timer(NamedTuple, Generic[Key]):
    """A wake-up: give it back to ``on_timer`` when the clock shows ``at_ms``."""

    key: Key
    at_ms: int


@dataclass(slots=True)
class Outcome(Generic[Key]):
    """What every coordinator's call may bring. ``fired`` is the timer that was the cause, if one was."""

    replies: list[Reply] = field(default_factory=list)
    timers: list[Timer[Key]] = field(default_factory=list)
    fired: Key | None = None
    fired_epoch: int = 0

    def reply(self, context: Context, response: Any) -> None:
        """Answer the request that came with ``context``."""
        self.replies.append(Reply(context.reply, response))
