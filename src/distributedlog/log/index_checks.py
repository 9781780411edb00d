"""Whether a segment's indexes may be believed, without reading the segment.

An index is a hint, so a spot check is enough: what it misses costs a longer walk and never a wrong
record, because every look-up ends at the batch headers themselves.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributedlog.log.segment import Segment


def last_entries_are_true(segment: "Segment") -> bool:
    """In constant time: the last entries must point at batches that say the same."""
    offsets, times = segment.offset_index, segment.time_index
    if offsets.has_odd_size or times.has_odd_size:
        return False
    if offsets.entry_count:
        relative_offset, position = offsets.entry(offsets.entry_count - 1)
        batch = next(segment.batches(position), None) if 0 < position < segment.size else None
        if batch is None or batch.last_offset != segment.base_offset + relative_offset:
            return False
        if not times.entry_count and batch.max_timestamp >= 0:
            return False
    if times.entry_count:
        timestamp, relative_offset = times.entry(times.entry_count - 1)
        if relative_offset < 0 or timestamp < 0:
            return False
        holder = segment.find(segment.base_offset + relative_offset)
        return holder is not None and holder.max_timestamp == timestamp
    return True


def misses_entries(segment: "Segment") -> bool:
    """Whether a writer would have put a further entry behind the last one: the file is short."""
    since = 0
    for number, batch in enumerate(segment.batches(segment.last_indexed_position())):
        if number and since > segment.index_interval_bytes:
            return True
        since += batch.size
    return False
