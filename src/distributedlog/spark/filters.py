"""[pure] What filters on partition, offset and timestamp say about which offsets can hold wanted rows.

They narrow the ranges and are handed back all the same: Spark looks at every row that comes, so a bound here
may be loose but must never leave out a row.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    LessThan,
    LessThanOrEqual,
)

INT64_MIN: Final = -(2**63)
INT64_MAX: Final = 2**63 - 1
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Bounds:
    """`offset_end` and `timestamp_end` are the first that are not wanted; timestamps in milliseconds."""

    topics: set[str] | None = None
    partitions: set[int] | None = None
    offset_start: int | None = None
    offset_end: int | None = None
    timestamp_start: int | None = None
    timestamp_end: int | None = None

    def allows(self, topic: str, partition: int) -> bool:
        return (self.topics is None or topic in self.topics) and (
            self.partitions is None or partition in self.partitions
        )

    def times(self) -> tuple[int, int] | None:
        """From, and up to but not including, in milliseconds; None where any time is wanted."""
        if self.timestamp_start is None and self.timestamp_end is None:
            return None
        start = INT64_MIN if self.timestamp_start is None else self.timestamp_start
        return start, INT64_MAX if self.timestamp_end is None else self.timestamp_end

    def add(self, entry: Filter) -> None:
        """Take in one filter; the ones that say nothing of these columns change nothing."""
        attribute = getattr(entry, "attribute", None)
        if attribute is None or len(attribute) != 1:
            return
        name = attribute[0].lower()
        value = getattr(entry, "value", None)
        if name == "topic":
            self.topics = _narrow(self.topics, entry, value, str)
        elif name == "partition":
            self.partitions = _narrow(self.partitions, entry, value, int)
        elif name == "offset" and type(value) is int:
            self._add_offset(entry, value)
        elif name == "timestamp" and isinstance(value, datetime):
            self._add_timestamp(entry, value)

    def _add_offset(self, entry: Filter, value: int) -> None:
        if isinstance(entry, EqualTo | EqualNullSafe | GreaterThanOrEqual):
            self.offset_start = _later(self.offset_start, value)
        elif isinstance(entry, GreaterThan):
            self.offset_start = _later(self.offset_start, value + 1)
        if isinstance(entry, EqualTo | EqualNullSafe | LessThanOrEqual):
            self.offset_end = _earlier(self.offset_end, value + 1)
        elif isinstance(entry, LessThan):
            self.offset_end = _earlier(self.offset_end, value)

    def _add_timestamp(self, entry: Filter, value: datetime) -> None:
        milliseconds = _milliseconds(value)
        if isinstance(entry, EqualTo | EqualNullSafe | GreaterThanOrEqual | GreaterThan):
            self.timestamp_start = _later(self.timestamp_start, math.floor(milliseconds))
        if isinstance(entry, EqualTo | EqualNullSafe | LessThanOrEqual | LessThan):
            self.timestamp_end = _earlier(self.timestamp_end, math.floor(milliseconds) + 1)


def bounds_of(filters: Iterable[Filter]) -> Bounds:
    bounds = Bounds()
    for entry in filters:
        bounds.add(entry)
    return bounds


def _narrow(known: set[Any] | None, entry: Filter, value: Any, kind: type) -> set[Any] | None:
    if isinstance(entry, EqualTo | EqualNullSafe) and isinstance(value, kind):
        found = {value}
    elif isinstance(entry, In) and all(isinstance(one, kind) for one in entry.value):
        found = set(entry.value)
    else:
        return known
    return found if known is None else known & found


def _milliseconds(value: datetime) -> float:
    aware = value if value.tzinfo is not None else value.astimezone()
    return (aware - _EPOCH) / timedelta(milliseconds=1)


def _later(known: int | None, value: int) -> int:
    return value if known is None else max(known, value)


def _earlier(known: int | None, value: int) -> int:
    return value if known is None else min(known, value)
