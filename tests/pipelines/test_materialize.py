"""The latest value per key, tombstones honoured, on static and on streaming frames."""

import pytest

from distributedlog.pipelines.materialize import materialize

SCHEMA = "key BINARY, value BINARY, partition INT, offset LONG, timestamp TIMESTAMP"


@pytest.fixture
def change(at):
    return lambda offset, key, value, second=0: (
        key.encode(),
        value and value.encode(),
        0,
        offset,
        at(second),
    )


def table(rows):
    return {bytes(row[0]).decode(): row[1] and bytes(row[1]).decode() for row in rows}


def test_the_last_offset_counts_and_a_tombstone_deletes(spark, change):
    said = [change(0, "a", "1"), change(1, "b", "2"), change(2, "a", "3"), change(3, "b", None)]
    frame = spark.createDataFrame([*said, (None, b"nobody's", 0, 4, said[0][4])], SCHEMA)
    assert table(materialize(frame).collect()) == {"a": "3"}
    assert table(materialize(frame, deleted=True).collect()) == {"a": "3", "b": None}


def test_by_timestamp_where_offsets_mean_nothing(spark, change):
    frame = spark.createDataFrame([change(9, "a", "old", 0), change(0, "a", "new", 5)], SCHEMA)
    assert table(materialize(frame, order="timestamp").collect()) == {"a": "new"}
    assert table(materialize(frame).collect()) == {"a": "old"}


def test_a_stream_gives_each_change(stream, results, change):
    changes = stream(
        SCHEMA,
        [change(0, "a", "1"), change(1, "b", "2")],
        [change(2, "a", None)],
        [change(3, "a", "4"), change(4, "c", None)],
    )
    batches = [table(batch) for batch in results(materialize(changes, deleted=True), "update")]
    assert batches == [{"a": "1", "b": "2"}, {"a": None}, {"a": "4", "c": None}]
