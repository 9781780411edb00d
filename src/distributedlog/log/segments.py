"""The segments of one log in the order of their base offsets."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from distributedlog.log.segment import Segment


class SegmentList:
    """Never empty once the log is open; the last one is the active segment.

    The inner lists are replaced, never changed in place, when segments leave or are swapped, so a
    reader in another thread that holds a segment or walks the list keeps a consistent view.
    """

    __slots__ = ("_base_offsets", "_segments")

    def __init__(self, segments: Iterable[Segment] = ()) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._base_offsets = [segment.base_offset for segment in self._segments]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    def __getitem__(self, number: int) -> Segment:
        return self._segments[number]

    @property
    def active(self) -> Segment:
        return self._segments[-1]

    @property
    def sealed(self) -> list[Segment]:
        """All that no longer change."""
        return self._segments[:-1]

    def add(self, segment: Segment) -> None:
        """Put a new active segment at the end."""
        self._segments = [*self._segments, segment]
        self._base_offsets = [*self._base_offsets, segment.base_offset]

    def replace(self, old: Iterable[Segment], new: Iterable[Segment]) -> None:
        """Swap segments for others (none, when they are deleted)."""
        gone = {id(segment) for segment in old}
        kept = [segment for segment in self._segments if id(segment) not in gone]
        self._segments = sorted([*kept, *new], key=lambda segment: segment.base_offset)
        self._base_offsets = [segment.base_offset for segment in self._segments]

    def from_offset(self, offset: int) -> list[Segment]:
        """The segment that holds the offset, or would, and all after it."""
        return self._segments[max(bisect_right(self._base_offsets, offset) - 1, 0) :]

    def floor(self, offset: int) -> Segment:
        """The segment that holds the offset, or would."""
        return self._segments[max(bisect_right(self._base_offsets, offset) - 1, 0)]

    def next_base_offset(self, segment: Segment) -> int | None:
        """Where the segment after this one begins; None for the active one."""
        number = bisect_right(self._base_offsets, segment.base_offset)
        return self._base_offsets[number] if number < len(self._base_offsets) else None
