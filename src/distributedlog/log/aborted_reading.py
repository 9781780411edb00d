"""Which aborted transactions a reader of committed records has to leave out of what it is given [io].

A transaction reaches from its first record to its marker, and may span segments; the index of the segment
with the marker names it. A fetch is told of those that reach into the batches it gets and no others: what
is sent is bounded by its bytes, and so must be the search, however many aborts follow in the log.
"""

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import FileRegion
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.log.transaction_index import AbortedTransaction


def find_aborted(segments: SegmentList, offset: int, upper_offset: int) -> list[AbortedTransaction]:
    """Those that touch the offsets from the one up to the other, exclusive, by where their markers stand."""
    found: list[AbortedTransaction] = []
    for segment in segments.from_offset(offset):
        search = segment.transaction_index.collect_aborted(offset, upper_offset)
        found += search.transactions
        if search.is_complete:
            break
    return found


def find_aborted_in_region(
    segments: SegmentList, offset: int, upper_offset: int, region: FileRegion
) -> list[AbortedTransaction]:
    """Those that touch what a reader from ``offset`` on finds in the region; ``upper_offset`` is the last
    stable offset, behind which nothing is in it."""
    held = segments.from_offset(offset)
    if not any(_names_aborted_from(segment, offset) for segment in held):
        return []
    segment = next(each for each in held if each.log is region.file)
    return find_aborted(segments, offset, min(upper_offset, _last_offset_of(segment, region) + 1))


def _names_aborted_from(segment: Segment, offset: int) -> bool:
    entries = segment.transaction_index.entries
    return bool(entries) and entries[-1].last_offset >= offset


def _last_offset_of(segment: Segment, region: FileRegion) -> int:
    """The last offset of the batches that begin in the region. The index leads to the last few of them; where
    it leads astray, as a hint may, all are read."""
    end_position = region.position + region.size
    index = segment.offset_index
    number = index.first_with_second_at_least(end_position) - 1
    indexed_position = index.entry(number)[1] if number >= 0 else 0
    for position in (max(indexed_position, region.position), region.position):
        last_offset = _last_offset_between(segment, position, end_position)
        if last_offset is not None:
            return last_offset
    raise CorruptLog(str(segment.log.path), region.position, f"no batches up to position {end_position}")


def _last_offset_between(segment: Segment, position: int, end_position: int) -> int | None:
    """None when there is not batch after batch from the one position up to the other."""
    last_offset = -1
    for batch in segment.batches(position):
        if batch.position >= end_position:
            break
        last_offset = batch.last_offset
        position = batch.position + batch.size
    return last_offset if position >= end_position else None
