"""The list of segments: who holds which offset, and what a reader that walks it sees of changes."""

from distributedlog.log.files import REAL_FILES
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList


def segment(base_offset):
    return Segment(REAL_FILES, "unused", base_offset)


def bases(segments):
    return [segment.base_offset for segment in segments]


def test_segments_stand_in_the_order_of_their_offsets():
    segments = SegmentList([segment(20), segment(5), segment(10)])
    assert bases(segments) == [5, 10, 20]
    assert len(segments) == 3
    assert segments[0].base_offset == 5
    assert segments.active.base_offset == 20
    assert bases(segments.sealed) == [5, 10]


def test_an_offset_belongs_to_the_last_segment_that_begins_at_or_before_it():
    segments = SegmentList([segment(5), segment(10), segment(20)])
    assert [segments.floor(offset).base_offset for offset in (0, 5, 9, 10, 19, 20, 99)] == [
        5, 5, 5, 10, 10, 20, 20,
    ]  # fmt: skip
    assert bases(segments.from_offset(0)) == [5, 10, 20]
    assert bases(segments.from_offset(10)) == [10, 20]
    assert bases(segments.from_offset(99)) == [20]


def test_where_the_next_segment_begins():
    segments = SegmentList([segment(5), segment(10)])
    assert segments.next_base_offset(segments[0]) == 10
    assert segments.next_base_offset(segments[1]) is None


def test_who_walks_the_list_keeps_the_view_he_began_with():
    segments = SegmentList([segment(5), segment(10), segment(20)])
    walk = iter(segments)
    assert next(walk).base_offset == 5
    following = segments.from_offset(10)
    segments.replace([segments[0], segments[1]], [segment(5)])
    segments.add(segment(30))
    assert bases(walk) == [10, 20]
    assert bases(following) == [10, 20]
    assert bases(segments) == [5, 20, 30]
    assert segments.floor(15).base_offset == 5


def test_segments_are_told_apart_by_identity():
    """A compacted segment has the base offset of one that it replaces."""
    old, new = segment(5), segment(5)
    segments = SegmentList([old, segment(10)])
    segments.replace([old], [new])
    assert segments[0] is new
    assert len(segments) == 2
