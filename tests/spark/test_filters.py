from datetime import UTC, datetime, timedelta

from pyspark.sql.datasource import (
    EqualTo,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
    Not,
)

from distributedlog.spark.filters import bounds_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)


def test_filters_become_bounds_that_lose_no_row():
    bounds = bounds_of(
        [
            IsNotNull(("offset",)),
            In(("partition",), (1, 2)),
            EqualTo(("partition",), 2),
            GreaterThan(("offset",), 9),
            LessThanOrEqual(("offset",), 20),
            GreaterThanOrEqual(("timestamp",), NOON + timedelta(microseconds=900)),
            LessThan(("timestamp",), NOON + timedelta(microseconds=1_001)),
            Not(EqualTo(("topic",), "a")),
        ]
    )
    assert (bounds.offset_start, bounds.offset_end) == (10, 21)
    assert (bounds.timestamp_start, bounds.timestamp_end) == (NOON_MS, NOON_MS + 2)
    assert bounds.allows("a", 2)
    assert not bounds.allows("a", 1)


def test_what_is_not_understood_bounds_nothing():
    bounds = bounds_of(
        [EqualTo(("headers", "key"), "x"), EqualTo(("offset",), None), In(("topic",), (None, "a"))]
    )
    assert (bounds.offset_start, bounds.offset_end) == (None, None)
    assert bounds.allows("b", 0)
