"""The deadlines of a consumer group's members."""

from distributedlog.groups.outcome import TimerKey, TimerKind
from distributedlog.groups.state import CoordinatorState


def session_key(group_id: str, member_id: str) -> TimerKey:
    """Heartbeats must come."""
    return TimerKey(TimerKind.CONSUMER_SESSION, group_id, member_id)


def rebalance_key(group_id: str, member_id: str) -> TimerKey:
    """Partitions must be let go."""
    return TimerKey(TimerKind.CONSUMER_REBALANCE, group_id, member_id)


def join_key(group_id: str, member_id: str) -> TimerKey:
    """A classic member that was told to rebalance must join."""
    return TimerKey(TimerKind.CONSUMER_JOIN, group_id, member_id)


def sync_key(group_id: str, member_id: str) -> TimerKey:
    """A classic member that has joined must sync."""
    return TimerKey(TimerKind.CONSUMER_SYNC, group_id, member_id)


def renew_session(
    state: CoordinatorState, group_id: str, member_id: str, now_ms: int, timeout_ms: int | None = None
) -> None:
    """The member is alive. A classic member brings a timeout of its own."""
    if timeout_ms is None:
        timeout_ms = state.config.consumer_session_timeout_ms(group_id)
    state.timers.set(session_key(group_id, member_id), now_ms + timeout_ms)


def cancel_all(state: CoordinatorState, group_id: str, member_id: str) -> None:
    """The member is gone."""
    for key in (session_key, rebalance_key, join_key, sync_key):
        state.timers.cancel(key(group_id, member_id))
