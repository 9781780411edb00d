"""Windows, on static and on streaming frames."""

import pytest

from distributedlog.pipelines.aggregate import aggregate
from distributedlog.pipelines.errors import PipelineError

SCHEMA = "page STRING, amount INT, at TIMESTAMP"


def rows(frame):
    return sorted(tuple(row) for row in frame.collect())


def naive(moment):
    return moment.replace(tzinfo=None)


def test_tumbling_windows(spark, at):
    frame = spark.createDataFrame(
        [("a", 1, at(0)), ("a", 2, at(9)), ("a", 4, at(10)), ("b", 8, at(3))], SCHEMA
    )
    counted = aggregate(
        frame, by=["page"], time="at", window="10s", values={"n": "count(*)", "total": "sum(amount)"}
    )
    assert rows(counted) == [
        ("a", naive(at(0)), naive(at(10)), 2, 3),
        ("a", naive(at(10)), naive(at(20)), 1, 4),
        ("b", naive(at(0)), naive(at(10)), 1, 8),
    ]


def test_hopping_windows_count_an_event_in_each(spark, at):
    frame = spark.createDataFrame([("a", 1, at(12))], SCHEMA)
    counted = aggregate(frame, time="at", window="10s", slide="5s")
    assert rows(counted) == [(naive(at(5)), naive(at(15)), 1), (naive(at(10)), naive(at(20)), 1)]


def test_sessions_end_with_a_silence(spark, at):
    frame = spark.createDataFrame([("a", 1, at(second)) for second in (0, 4, 8, 20)], SCHEMA)
    counted = aggregate(frame, by=["page"], time="at", gap="5s")
    assert rows(counted) == [
        ("a", naive(at(0)), naive(at(13)), 3),
        ("a", naive(at(20)), naive(at(25)), 1),
    ]


def test_a_stream_updates_its_windows_and_counts_what_is_late(stream, results, at):
    clicks = stream(
        SCHEMA,
        [("a", 1, at(1)), ("a", 1, at(40))],
        [("a", 1, at(41))],
        [("a", 1, at(35)), ("a", 1, at(2))],  # late within the bound, and 39 s late
    )
    batches = results(aggregate(clicks, by=["page"], time="at", window="10s", watermark="10s"), "update")
    first, second, third = batches[:3]
    assert sorted(row[3] for row in first) == [1, 1]
    assert second == [("a", naive(at(40)), naive(at(50)), 2)]
    assert third == [("a", naive(at(30)), naive(at(40)), 1)]
    dropped = [
        operator["numRowsDroppedByWatermark"]
        for progress in results.query.recentProgress
        for operator in progress["stateOperators"]
    ]
    assert sum(dropped) == 1


def test_a_stream_of_sessions_gives_each_once_it_is_over(stream, results, at):
    clicks = stream(SCHEMA, [("a", 1, at(0)), ("a", 1, at(3))], [("a", 1, at(60))], [("a", 1, at(61))])
    sessions = aggregate(clicks, by=["page"], time="at", gap="5s", watermark="1s")
    assert [row for batch in results(sessions) for row in batch] == [("a", naive(at(0)), naive(at(8)), 2)]


def test_what_is_no_column_is_named(spark, at):
    frame = spark.createDataFrame([("a", 1, at(0))], SCHEMA)
    with pytest.raises(PipelineError, match="by: there is no column 'pag'; did you mean 'page'"):
        aggregate(frame, by=["pag"], time="at", window="1s")
    with pytest.raises(PipelineError, match="either window"):
        aggregate(frame, time="at")
