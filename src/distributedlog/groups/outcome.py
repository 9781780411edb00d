"""What goes into the coordinator with a request, and what comes out of it.

The contract with the driver, which does the io:

1. Append ``Outcome.records`` to the group's partition of ``__consumer_offsets`` (inside of
   ``Outcome.transaction`` where there is one), then at once, before the coordinator is called again,
   call ``applied(outcome, base_offset)``. Where there are no records there is nothing to apply.
2. Arm a wake-up for each of ``Outcome.timers``: ``on_timer(timer, now_ms)`` at ``timer.at_ms``. A timer
   is never taken back; a stale one does nothing.
3. Send ``Outcome.replies`` when everything appended so far is as durable as the topic demands. Replies
   to requests that wrote nothing wait for the records before them too, as they may tell of those.
4. If the append fails, call ``append_failed(outcome, error, now_ms)`` in place of ``applied`` and act on
   the outcome it returns. If records that were applied are lost later, unload and load again.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

from distributedlog.wire.values.offsets_topic import OffsetsKey, encode_offsets_key, encode_offsets_value


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


class TimerKind(Enum):
    """What is to be looked after when a timer fires."""

    CLASSIC_SESSION = "classic session"
    CLASSIC_JOIN = "classic join"
    CLASSIC_SYNC = "classic sync"
    CONSUMER_SESSION = "consumer session"
    CONSUMER_REBALANCE = "consumer rebalance"
    CONSUMER_JOIN = "consumer join"
    CONSUMER_SYNC = "consumer sync"
    REGEX = "regex"
    EXPIRY = "expiry"


class TimerKey(NamedTuple):
    """Whose timer it is; a group's own has no member, the coordinator's own no group either."""

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""


class Timer(NamedTuple):
    """A wake-up: give it back to ``on_timer`` when the clock shows ``at_ms``."""

    key: TimerKey
    at_ms: int


class Change(NamedTuple):
    """One record to append, not yet encoded. A value of None deletes the key."""

    key: OffsetsKey
    value: Any = None
    version: int | None = None


class Transaction(NamedTuple):
    """The producer on whose behalf records are written."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


@dataclass(slots=True)
class Outcome:
    """All effects of one call. ``fired`` is the timer that was the cause, if one was."""

    replies: list[Reply] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    transaction: Transaction | None = None
    fired: TimerKey | None = None
    fired_epoch: int = 0

    def reply(self, context: Context, response: Any) -> None:
        """Answer the request that came with ``context``."""
        self.replies.append(Reply(context.reply, response))

    @property
    def records(self) -> list[tuple[bytes, bytes | None]]:
        """The changes as they are to be appended, encoded when asked for."""
        return list(self._encoded())

    def _encoded(self) -> Iterator[tuple[bytes, bytes | None]]:
        for key, value, version in self.changes:
            yield (
                encode_offsets_key(key),
                None if value is None else encode_offsets_value(value, version),
            )
