"""[pure] Cutting ranges of offsets: into splits for tasks, and down to what one batch of a stream may have.

As Spark's own connector does it: by offsets, each partition in proportion to what it has. Offsets are not
records (compaction leaves gaps, transactions leave markers), but they are what is known beforehand.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

from distributedlog.client import TopicPartition
from distributedlog.client.offset_range import OffsetRange

SMALL: Final = 10_000
"""Offsets that a task reads in less time than it takes to start another one."""


def split_ranges(
    ranges: Sequence[OffsetRange], parts_min: int | None, offsets_max: int | None
) -> list[OffsetRange]:
    """Splits of no more than `offsets_max` offsets each, and at least `parts_min` of them where that can be.

    Empty ranges are left out.
    """
    wanted = [entry for entry in ranges if entry.end > entry.start]
    if offsets_max is not None:
        wanted = [
            part
            for entry in wanted
            for part in _cut(entry, math.ceil((entry.end - entry.start) / offsets_max))
        ]
    if parts_min is None or len(wanted) >= parts_min:
        return wanted
    total = sum(entry.end - entry.start for entry in wanted)
    # Small ranges stay whole; the large ones share what is left of the parts.
    share = total / parts_min
    small = [entry for entry in wanted if entry.end - entry.start <= share]
    large = [entry for entry in wanted if entry.end - entry.start > share]
    parts_left = parts_min - len(small)
    total_large = sum(entry.end - entry.start for entry in large)
    cut = {
        entry.partition: max(1, math.ceil(parts_left * (entry.end - entry.start) / total_large))
        for entry in large
    }
    return [part for entry in wanted for part in _cut(entry, cut.get(entry.partition, 1))]


def gather_small(splits: Sequence[OffsetRange], small: int = SMALL) -> list[tuple[OffsetRange, ...]]:
    """What each task reads: as much as `small` offsets of several partitions together, or one split.

    A task of Python costs milliseconds before it has read anything. A stream that gets a few records of a
    dozen partitions in each batch would spend its time there.
    """
    tasks: list[tuple[OffsetRange, ...]] = []
    gathered: list[OffsetRange] = []
    room = small
    for split in splits:
        size = split.end - split.start
        if size >= small:
            tasks.append((split,))
            continue
        if size > room:
            tasks.append(tuple(gathered))
            gathered, room = [], small
        gathered.append(split)
        room -= size
    return [*tasks, tuple(gathered)] if gathered else tasks


def _cut(entry: OffsetRange, parts: int) -> list[OffsetRange]:
    size = entry.end - entry.start
    parts = max(1, min(parts, size))
    borders = [entry.start + size * part // parts for part in range(parts + 1)]
    return [replace(entry, start=start, end=end) for start, end in pairwise(borders)]


def limited(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], offsets_max: int
) -> dict[TopicPartition, int]:
    """The ends of a batch of about so many offsets: each partition gets its share, and moves if it can.

    A partition that `start` does not know begins at its end (there is nothing to share out for it).
    """
    sizes = {partition: max(0, end[partition] - start.get(partition, end[partition])) for partition in end}
    total = sum(sizes.values())
    if total <= offsets_max:
        return dict(end)
    result = {}
    for partition, size in sizes.items():
        share = size * offsets_max / total
        # Rounding down could leave a slow partition where it is for ever.
        moved = math.ceil(share) if share < 1 else math.floor(share)
        result[partition] = min(end[partition], start.get(partition, end[partition]) + moved)
    return result
