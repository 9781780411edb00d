"""What a compaction would take on, and whether it is worth it [pure].

A log is clean up to the first dirty offset, where the last compaction ended, and dirty behind it. Only
sealed segments below the last stable offset are compacted, and none with a record younger than
``min.compaction.lag.ms``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from distributedlog.log.config import LogConfig
from distributedlog.log.retention import SegmentView

RELATIVE_OFFSET_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Offsets from ``first_dirty_offset`` up to ``end_offset``, exclusive, are dirty and may be cleaned."""

    first_dirty_offset: int
    end_offset: int
    clean_bytes: int
    dirty_bytes: int
    is_overdue: bool

    @property
    def dirty_ratio(self) -> float:
        return self.dirty_bytes / (self.clean_bytes + self.dirty_bytes)

    def is_worth_it(self, config: LogConfig) -> bool:
        """Enough to gain, or a record that has waited too long."""
        return self.is_overdue or self.dirty_ratio > config.min_cleanable_dirty_ratio


def plan_compaction(
    segments: Sequence[SegmentView],
    config: LogConfig,
    *,
    now_ms: int,
    first_dirty_offset: int,
    first_unstable_offset: int,
) -> CompactionPlan | None:
    """None when there is nothing that may be compacted. ``segments`` is the whole log, in order."""
    first_dirty_offset = max(first_dirty_offset, segments[0].base_offset)
    end_offset = first_dirty_offset
    clean_bytes = dirty_bytes = 0
    is_overdue = False
    for segment in segments:
        if segment.next_base_offset <= first_dirty_offset:
            clean_bytes += segment.size
            continue
        if segment.is_active or segment.next_base_offset > first_unstable_offset:
            break
        if config.min_compaction_lag_ms and segment.newest_ms > now_ms - config.min_compaction_lag_ms:
            break
        end_offset = segment.next_base_offset
        dirty_bytes += segment.size
        is_overdue = is_overdue or 0 <= segment.newest_ms < now_ms - config.max_compaction_lag_ms
    if not dirty_bytes:
        return None
    return CompactionPlan(first_dirty_offset, end_offset, clean_bytes, dirty_bytes, is_overdue)


def group_segments(segments: Sequence[SegmentView], segment_bytes: int) -> list[list[SegmentView]]:
    """Neighbours that fit into one segment together; compaction leaves many small ones otherwise."""
    groups: list[list[SegmentView]] = []
    size = 0
    for segment in segments:
        if (
            groups
            and size + segment.size <= segment_bytes
            and (segment.next_base_offset - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX)
        ):
            groups[-1].append(segment)
            size += segment.size
        else:
            groups.append([segment])
            size = segment.size
    return groups
