"""Subscriptions by regular expression: when they are resolved into topics, and what that changes.

Resolving looks at every topic there is, so it is not done in the heartbeat that asks for it, but by a timer
of its own, for all expressions of a group at once, and not more often than every ten seconds.
"""

from enum import Enum
from typing import Final

from distributedlog.coordination.regex_matcher import compile_regex
from distributedlog.coordination.regex_syntax import RegexError
from distributedlog.groups import records
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.groups.consumer_member import ConsumerMember, ResolvedRegex
from distributedlog.groups.errors import GroupError
from distributedlog.groups.outcome import Outcome, TimerKey, TimerKind
from distributedlog.groups.state import CoordinatorState
from distributedlog.groups.topics import metadata_hash
from distributedlog.wire.error_codes import ErrorCode

REFRESH_INTERVAL_MS_MIN: Final = 10_000


class RegexChange(Enum):
    """What a heartbeat did to the member's expression."""

    NONE = "none"
    #: It is another, and the topics behind it are not known yet.
    UNRESOLVED = "unresolved"
    #: It is another, and the topics behind it are known.
    RESOLVED = "resolved"


def change(
    state: CoordinatorState,
    group: ConsumerGroup,
    member: ConsumerMember,
    updated: ConsumerMember,
    now_ms: int,
    out: Outcome,
) -> RegexChange:
    """See whether the member's expression is another, and have expressions resolved if it is time to."""
    old, new = member.subscribed_topic_regex or "", updated.subscribed_topic_regex or ""
    result = RegexChange.NONE
    is_unknown = False
    if old != new:
        result = RegexChange.UNRESOLVED
        if old and group.regex_counts[old] == 1:
            out.changes.append(records.resolved_regex_tombstone(group.group_id, old))
        if not new or new in group.resolved_regexes:
            result = RegexChange.RESOLVED
        if new and not group.regex_counts[new]:
            _check(new)
            is_unknown = True

    subscribed = set(group.regex_counts)
    if old and old != new and group.regex_counts[old] == 1:
        subscribed.discard(old)
    if new:
        subscribed.add(new)
    if subscribed and _is_time(state, group, subscribed, is_unknown, now_ms):
        state.timers.set_if_absent(_key(group), now_ms)
    return result


def _key(group: ConsumerGroup) -> TimerKey:
    return TimerKey(TimerKind.REGEX, group.group_id)


def _check(regex: str) -> None:
    try:
        compile_regex(regex)
    except RegexError as error:
        raise GroupError(
            ErrorCode.INVALID_REGULAR_EXPRESSION,
            f"SubscribedTopicRegex `{regex}` is not a valid regular expression: {error}.",
        ) from error


def _is_time(
    state: CoordinatorState, group: ConsumerGroup, subscribed: set[str], is_unknown: bool, now_ms: int
) -> bool:
    resolved = group.resolved_regexes.values()
    last_ms = max((regex.timestamp_ms for regex in resolved), default=None)
    if last_ms is None:
        return True
    if now_ms <= last_ms + REFRESH_INTERVAL_MS_MIN:
        return False
    return (
        is_unknown
        or subscribed != group.resolved_regexes.keys()
        or max(regex.version for regex in resolved) < state.new_topics_version
        or now_ms > last_ms + state.config.group_consumer_regex_refresh_interval_ms
    )


def resolve(state: CoordinatorState, group_id: str, now_ms: int, out: Outcome) -> None:
    """Find the topics of all expressions that a group subscribes to now."""
    try:
        group = state.consumer_group(group_id)
    except GroupError:
        return
    names = list(state.image.names())
    bump = False
    fresh_regexes = dict(group.resolved_regexes)
    for regex in sorted(group.regex_counts):
        matcher = compile_regex(regex)
        topics = frozenset(name for name in names if matcher.matches(name))
        resolved = ResolvedRegex(topics, state.image.version, now_ms)
        old = group.resolved_regexes.get(regex)
        bump = bump or topics != (frozenset() if old is None else old.topics)
        fresh_regexes[regex] = resolved
        out.changes.append(records.resolved_regex(group_id, regex, resolved))

    all_names: set[str] = set()
    for member in group.members.values():
        all_names |= member.subscribed_topic_names
        if member.subscribed_topic_regex in fresh_regexes:
            all_names |= fresh_regexes[member.subscribed_topic_regex].topics
    fresh_hash = metadata_hash(all_names, state.image)
    if bump or fresh_hash != group.metadata_hash:
        epoch = group.epoch + 1
        out.changes.append(records.consumer_group_epoch(group_id, epoch, fresh_hash))
        group.needs_refresh = False
        group.refreshed_epoch = epoch
