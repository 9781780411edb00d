"""Rows become the records that Kafka's own producers would have made, in the partitions of their keys."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from distributedlog.client.producer.partitioners import by_murmur2
from distributedlog.records import Compression, decode_batch
from distributedlog.records.batches import write_crc
from distributedlog.records.columns import HEADERS_TYPE
from distributedlog.spark.output_batches import Encoding, UnwritableRow, encode_chunk, topics_of
from distributedlog.spark.output_columns import OutputColumns, UnwritableFrame

NOW = 1_700_000_000_000
HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
TYPES = {
    "topic": (StringType(), pa.string()),
    "key": (BinaryType(), pa.binary()),
    "value": (BinaryType(), pa.binary()),
    "partition": (IntegerType(), pa.int32()),
    "timestamp": (TimestampType(), pa.timestamp("us", tz="UTC")),
    "headers": (ArrayType(HEADER), HEADERS_TYPE),
}


def schema_of(**types):
    return StructType([StructField(name, kind) for name, kind in types.items()])


def written(rows, names, *, topic=None, counts=None, number=0, **encoding):
    """What lies in each partition after the rows were made into batches."""
    chunk = pa.RecordBatch.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows],
        schema=pa.schema([(name, TYPES[name][1]) for name in names]),
    )
    columns = OutputColumns.of(schema_of(**{name: TYPES[name][0] for name in names}), topic)
    fields = {"batch_size": 1000, "compression": Compression.NONE, "request_size_max": 10_000, **encoding}
    found = {}
    for partition, data in encode_chunk(
        chunk, columns, counts or {"t": 4}, Encoding(**fields),
        default_topic=topic, keyless_number=number, timestamp_ms=NOW,
    ):  # fmt: skip
        write_crc(data)
        found.setdefault(tuple(partition), []).extend(decode_batch(bytes(data)))
    return found


rows_of_records = st.lists(
    st.tuples(
        st.none() | st.binary(max_size=8),
        st.none() | st.binary(max_size=40),
        st.none() | st.lists(st.tuples(st.text(max_size=4), st.none() | st.binary(max_size=4)), max_size=3),
    ),
    max_size=40,
)


@settings(deadline=None)
@given(rows_of_records, st.booleans(), st.integers(1, 9), st.sampled_from(Compression))
def test_every_row_is_a_record_in_its_partition_and_in_order(rows, with_headers, count, compression):
    names = ["key", "value", "headers"] if with_headers else ["key", "value"]
    given_rows = [
        (key, value, None if headers is None else [{"key": k, "value": v} for k, v in headers])[: len(names)]
        for key, value, headers in rows
    ]
    found = written(given_rows, names, topic="t", counts={"t": count}, number=7, compression=compression)
    expected = {}
    for key, value, headers in rows:
        partition = 7 % count if key is None else by_murmur2("", key, count)
        kept = tuple(headers or ()) if with_headers else ()
        expected.setdefault(("t", partition), []).append((key, value, kept))
    assert {
        place: [(each.key, each.value, tuple(each.headers)) for each in records]
        for place, records in found.items()
    } == expected


def test_rows_go_to_the_topics_and_partitions_that_they_name():
    rows = [("a", 2, b"1"), ("b", None, b"2"), ("a", 0, b"3"), ("a", 2, b"4"), ("b", 1, b"5")]
    found = written(rows, ["topic", "partition", "value"], counts={"a": 3, "b": 2}, number=1)
    assert {place: [each.value for each in records] for place, records in found.items()} == {
        ("a", 2): [b"1", b"4"],
        ("a", 0): [b"3"],
        ("b", 1): [b"2", b"5"],
    }


def test_the_option_overrides_the_column_topic():
    assert list(written([("a", b"1")], ["topic", "value"], topic="t")) == [("t", 0)]


def test_a_timestamp_of_the_row_counts_and_the_time_of_writing_where_there_is_none():
    rows = [(b"1", NOW * 1000 + 5_999), (b"2", None)]
    [records] = written(rows, ["value", "timestamp"], topic="t").values()
    assert [each.timestamp for each in records] == [NOW + 5, NOW]
    [records] = written([(b"1",)], ["value"], topic="t").values()
    assert records[0].timestamp == NOW


def test_batches_keep_to_their_size():
    rows = [(b"x" * 100,) for _ in range(50)]
    columns = OutputColumns.of(schema_of(value=BinaryType()), "t")
    chunk = pa.record_batch({"value": [value for (value,) in rows]})
    encoding = Encoding(1000, Compression.NONE, 10_000)
    batches = encode_chunk(
        chunk, columns, {"t": 1}, encoding, default_topic="t", keyless_number=0, timestamp_ms=NOW
    )
    sizes = [len(batch.data) for batch in batches]
    assert len(sizes) >= 6
    assert max(sizes) <= 1000


@pytest.mark.parametrize(
    ("rows", "names", "words"),
    [
        ([(b"x" * 20_000,)], ["value"], "max.request.size"),
        ([(4, b"x")], ["partition", "value"], "partition 4 of topic 't', which has 4"),
        ([(-1, b"x")], ["partition", "value"], "partition -1"),
    ],
)
def test_a_row_that_cannot_be_written_is_named(rows, names, words):
    with pytest.raises(UnwritableRow, match=words):
        written(rows, names, topic="t")


def test_a_row_without_a_topic_is_refused():
    columns = OutputColumns.of(schema_of(topic=StringType(), value=BinaryType()), None)
    with pytest.raises(UnwritableRow, match="no topic"):
        topics_of(pa.record_batch({"topic": pa.array(["a", None]), "value": [b"1", b"2"]}), columns)


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ({"value": DoubleType()}, "column 'value' is double.*to_json"),
        ({"key": LongType(), "value": BinaryType()}, "column 'key' is bigint"),
        ({"value": StringType(), "partition": LongType()}, "cast it to int"),
        ({"value": StringType(), "headers": StringType()}, "array of struct"),
        ({"value": StringType(), "timestamp": LongType()}, "cast it to timestamp"),
        ({"key": StringType()}, "no column 'value'"),
        ({"value": StringType(), "topic": BinaryType()}, "column 'topic' is binary"),
    ],
)
def test_a_frame_of_the_wrong_columns_is_refused(types, words):
    with pytest.raises(UnwritableFrame, match=words):
        OutputColumns.of(schema_of(**types), "t")


def test_a_frame_without_a_topic_is_refused():
    with pytest.raises(UnwritableFrame, match="no topic is named"):
        OutputColumns.of(schema_of(value=StringType()), None)


def test_names_are_found_in_any_case_and_other_columns_left_alone():
    columns = OutputColumns.of(schema_of(Key=StringType(), offset=LongType(), VALUE=StringType()), "t")
    assert (columns.key, columns.value) == (0, 2)


def test_many_partitions_are_told_apart():
    partitions = np.arange(3000, dtype=np.int32) % 1500
    rows = [(int(partition), str(row).encode()) for row, partition in enumerate(partitions)]
    found = written(rows, ["partition", "value"], topic="t", counts={"t": 1500})
    assert len(found) == 1500
    assert [each.value for each in found["t", 7]] == [b"7", b"1507"]
