"""Streams with streams and with tables, on static and on streaming frames."""

import pytest

from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.join import join
from distributedlog.pipelines.latest import latest_per_key

CLICKS = "user STRING, page STRING, at TIMESTAMP"
USERS = "id STRING, country STRING"
ORDERS = "buyer STRING, cents INT, time TIMESTAMP"


def rows(frame):
    return sorted((tuple(row) for row in frame.collect()), key=str)


def test_an_event_gets_what_the_table_says_of_it(spark, at):
    clicks = spark.createDataFrame([("ann", "/", at(0)), ("bob", "/", at(1))], CLICKS)
    users = spark.createDataFrame([("ann", "de")], USERS)
    inner = join(clicks, users, on={"user": "id"})
    assert inner.columns == ["user", "page", "at", "country"]
    assert [(row.user, row.country) for row in inner.collect()] == [("ann", "de")]
    left = join(clicks, users, on={"user": "id"}, how="left", prefix="user_")
    assert sorted((row.user, row.user_country) for row in left.collect()) == [("ann", "de"), ("bob", None)]


def test_a_column_of_both_sides_needs_a_prefix(spark, at):
    clicks = spark.createDataFrame([("ann", "/", at(0))], CLICKS)
    users = spark.createDataFrame([("ann", "/home")], "id STRING, page STRING")
    with pytest.raises(PipelineError, match="both sides have a column 'page'; give the right ones a prefix"):
        join(clicks, users, on={"user": "id"})
    with pytest.raises(PipelineError, match="on, right side: there is no column 'ids'; did you mean 'id'"):
        join(clicks, users, on={"user": "ids"})


def test_a_stream_sees_the_table_as_it_is_at_each_batch(spark, stream, results, tmp_path, at):
    """The table's files change between two runs of the query; its reader is planned anew each batch."""
    table = tmp_path / "users"
    changelog = "key BINARY, value BINARY, timestamp TIMESTAMP, partition INT, offset LONG"
    said = [(b"ann", b"de", at(0), 0, 0), (b"bob", b"fr", at(0), 0, 1), (b"bob", None, at(1), 0, 2)]
    spark.createDataFrame(said, changelog).write.parquet(str(table))
    users = latest_per_key(spark.read.schema(changelog).parquet(str(table))).where("value IS NOT NULL")
    named = users.selectExpr("cast(key as string) as id", "cast(value as string) as country")
    clicks = stream(CLICKS, [("ann", "/", at(0)), ("bob", "/", at(0))], [("ann", "/b", at(5))])
    joined = join(clicks, named, on={"user": "id"}, how="left")
    first, second = results(joined)
    assert sorted((row[0], row[3]) for row in first) == [("ann", "de"), ("bob", None)]
    assert [(row[1], row[3]) for row in second] == [("/b", "de")]


def test_two_static_frames_within_the_bound(spark, at):
    clicks = spark.createDataFrame([("ann", "/", at(100))], CLICKS)
    orders = spark.createDataFrame(
        [("ann", second, at(second)) for second in (94, 95, 100, 160, 161)], ORDERS
    )
    joined = join(
        clicks,
        orders,
        on={"user": "buyer"},
        to="stream",
        time="at",
        right_time="time",
        before="5s",
        after="1m",
    )
    assert sorted(row.cents for row in joined.collect()) == [95, 100, 160]


def test_two_streams_and_those_without_a_partner(stream, results, at):
    clicks = stream(
        CLICKS, [("ann", "/", at(0)), ("bob", "/", at(1))], [("eve", "/", at(300))], [("eve", "/", at(301))]
    )
    orders = stream(ORDERS, [("ann", 5, at(20))], [("joe", 7, at(300))], [("joe", 7, at(301))])
    joined = join(
        clicks,
        orders,
        on={"user": "buyer"},
        to="stream",
        how="left",
        time="at",
        right_time="time",
        after="1m",
    )
    found = sorted((row[0], row[3]) for batch in results(joined) for row in batch)
    assert found == [("ann", 5), ("bob", None)]
