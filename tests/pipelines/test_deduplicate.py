"""Duplicates within a time bound, on static and on streaming frames."""

import pytest

from distributedlog.pipelines.aggregate import aggregate
from distributedlog.pipelines.deduplicate import deduplicate
from distributedlog.pipelines.errors import PipelineError

SCHEMA = "id STRING, at TIMESTAMP"


def test_a_static_frame_keeps_one_of_each(spark, at):
    frame = spark.createDataFrame([("x", at(0)), ("x", at(1)), ("y", at(2))], SCHEMA)
    assert sorted(row.id for row in deduplicate(frame, by=["id"], time="at").collect()) == ["x", "y"]


def test_a_stream_keeps_the_first_and_forgets_after_the_bound(stream, results, at):
    events = stream(
        SCHEMA,
        [("x", at(0)), ("y", at(5))],
        [("x", at(3))],  # a duplicate in another batch
        [("z", at(120))],
        [("z", at(121))],
        [("x", at(122))],  # two minutes later it is a new one
    )
    kept = [
        row[0] for batch in results(deduplicate(events, by=["id"], time="at", within="10s")) for row in batch
    ]
    assert sorted(kept[:2]) == ["x", "y"]
    assert kept[2:] == ["z", "x"]


def test_windows_behind_it_use_the_same_watermark(stream, results, at):
    events = stream(SCHEMA, [("x", at(0)), ("x", at(1))], [("x", at(2)), ("y", at(60))], [("z", at(100))])
    counted = aggregate(deduplicate(events, by=["id"], time="at", within="5s"), time="at", window="10s")
    rows = [row for batch in results(counted) for row in batch]
    assert [(row[0].second, row[2]) for row in rows] == [(0, 1), (0, 1)]  # 00:00:00 and 00:01:00


def test_what_is_no_column_is_named(spark, at):
    frame = spark.createDataFrame([("x", at(0))], SCHEMA)
    with pytest.raises(PipelineError, match="the event's time: there is no column 'att'; did you mean 'at'"):
        deduplicate(frame, by=["id"], time="att")
