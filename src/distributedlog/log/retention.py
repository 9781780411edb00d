"""Which of its oldest segments a log may lose [pure].

A segment goes when it lies below the log start offset, when the log without it still has retention.bytes, or
when its newest record is older than retention.ms; the last two only with cleanup.policy delete. Segments go
from the oldest on, without gaps, and none that holds an offset at or above the high watermark. The active
segment stays; when it has expired as well it is rolled first, and then is no longer the active one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from distributedlog.log.config import LogConfig


@dataclass(frozen=True, slots=True)
class SegmentView:
    """What retention needs to know of a segment. The active one ends at the log end offset; one whose records
    have no timestamps (`max_timestamp` -1) is as old as its file."""

    base_offset: int
    next_base_offset: int
    size: int
    max_timestamp: int
    is_active: bool = False
    last_modified_ms: int = -1

    @property
    def newest_ms(self) -> int:
        return self.max_timestamp if self.max_timestamp >= 0 else self.last_modified_ms


def active_has_expired(active: SegmentView, config: LogConfig, *, now_ms: int) -> bool:
    """Whether the active segment must be rolled, so that retention can take it."""
    if active.size == 0 or not config.delete:
        return False
    return config.retention_bytes == 0 or _has_expired(active, config, now_ms)


def segments_to_delete(
    segments: Sequence[SegmentView],
    config: LogConfig,
    *,
    now_ms: int,
    log_start_offset: int,
    high_watermark: int,
) -> int:
    """How many segments to delete, counted from the oldest. `segments` is the whole log, in order."""
    deletable = 0
    for segment in segments:
        if segment.is_active or segment.next_base_offset > high_watermark:
            break
        deletable += 1
    count = _prefix(segments, 0, deletable, lambda segment: segment.next_base_offset <= log_start_offset)
    if not config.delete:
        return count
    if config.retention_bytes >= 0:
        excess = sum(segment.size for segment in segments[count:]) - config.retention_bytes
        while count < deletable and excess >= segments[count].size:
            excess -= segments[count].size
            count += 1
    return _prefix(segments, count, deletable, lambda segment: _has_expired(segment, config, now_ms))


def _prefix(
    segments: Sequence[SegmentView], start: int, end: int, goes: Callable[[SegmentView], bool]
) -> int:
    while start < end and goes(segments[start]):
        start += 1
    return start


def _has_expired(segment: SegmentView, config: LogConfig, now_ms: int) -> bool:
    """A newest record from the future keeps its segment; so does one of which no time is known."""
    if config.retention_ms < 0 or segment.newest_ms < 0:
        return False
    return now_ms - segment.newest_ms > config.retention_ms
