"""[pure] What callers of a consumer may write, made into what the consumer works with."""

from __future__ import annotations

import re
from typing import Any

from distributedlog.client.committed import CommittedOffset
from distributedlog.client.consumer.news import NewsKind
from distributedlog.client.consumer.topic_watch import Subscription
from distributedlog.client.errors import InvalidOption
from distributedlog.client.metadata import TopicPartition
from distributedlog.client.serialisers import checked_callable


class Listener:
    """A user's call-backs, each with a list of partitions; `on_revoked` stands in for `on_lost`."""

    def __init__(self, on_assigned: Any = None, on_revoked: Any = None, on_lost: Any = None) -> None:
        self.by_kind = {
            NewsKind.ASSIGNED: checked_callable("on_assigned", on_assigned),
            NewsKind.REVOKED: checked_callable("on_revoked", on_revoked),
            NewsKind.LOST: checked_callable("on_lost", on_lost if on_lost is not None else on_revoked),
        }


def as_partition(given: Any) -> TopicPartition:
    """From a `TopicPartition`, or a pair of topic and index."""
    if isinstance(given, TopicPartition):
        return given
    if (
        isinstance(given, tuple)
        and len(given) == 2
        and isinstance(given[0], str)
        and isinstance(given[1], int)
    ):
        return TopicPartition(*given)
    raise InvalidOption(f"{given!r} is no partition: give TopicPartition(topic, index)")


def as_committed(given: Any) -> CommittedOffset:
    if isinstance(given, CommittedOffset):
        return given
    if isinstance(given, int):
        return CommittedOffset(given)
    if isinstance(given, tuple) and given and isinstance(given[0], int):
        return CommittedOffset(*given)
    raise InvalidOption(f"{given!r} is nothing to commit: give an offset, or (offset, metadata)")


def as_subscription(topics: Any, pattern: Any, is_regex_of_broker: bool) -> tuple[Subscription, str | None]:
    """(what to match here, the expression to leave to the broker).

    With KIP-848 a pattern given as text is the broker's to read, in its own dialect (RE2); a compiled one is
    matched here, as all are otherwise.
    """
    if (pattern is None) == (not topics):
        raise InvalidOption("subscribe to topics by their names, or to a pattern")
    if pattern is not None:
        if isinstance(pattern, str):
            if is_regex_of_broker:
                return Subscription(), pattern
            try:
                pattern = re.compile(pattern)
            except re.error as error:
                raise InvalidOption(f"the pattern {pattern!r} cannot be read: {error}") from None
        return Subscription(pattern=pattern), None
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    for name in names:
        if not isinstance(name, str) or not name:
            raise InvalidOption(f"{name!r} is no topic's name")
    return Subscription(names), None


def check_offset(given: int) -> int:
    if not isinstance(given, int) or given < 0:
        raise InvalidOption(f"{given!r} is no place to seek to: it must be a number, 0 or more")
    return given
