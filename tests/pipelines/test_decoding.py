"""From records to fields and from results back to records."""

import json

import pytest

from distributedlog.pipelines.decoding import decode
from distributedlog.pipelines.encoding import encode
from distributedlog.pipelines.errors import PipelineError
from distributedlog.pipelines.spec_keys import parse_section
from distributedlog.pipelines.spec_sections import SOURCE_KEYS

SCHEMA = "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP"


def source(**keys):
    return parse_section("[source]", {"subscribe": "t", **keys}, SOURCE_KEYS)


@pytest.fixture
def records(spark, at):
    def make(*values):
        rows = [(b"k", value, "t", 0, offset, at(offset)) for offset, value in enumerate(values)]
        return spark.createDataFrame(rows, SCHEMA)

    return make


def test_json_becomes_columns_beside_the_record(records, at):
    frame = decode(records(b'{"id":"a","n":1}', None), source(value="json", schema="id STRING, n INT"))
    (row,) = frame.collect()
    assert (row.id, row.n, bytes(row.record.key), row.record.offset) == ("a", 1, b"k", 0)
    assert row.timestamp == at(0).replace(tzinfo=None)


def test_a_field_of_the_same_name_comes_first(records):
    (row,) = decode(records(b'{"timestamp":7}'), source(value="json", schema="timestamp LONG")).collect()
    assert row.timestamp == 7


def test_further_columns_and_a_condition(records):
    keys = {"columns": {"length": "length(value)"}, "where": "length > 1"}
    rows = decode(records(b"a", b"bb"), source(value="text", **keys)).collect()
    assert [(row.value, row.length) for row in rows] == [("bb", 2)]


def test_avro_and_its_file(spark, records, tmp_path):
    import io

    import fastavro

    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "string"}]}
    (tmp_path / "order.avsc").write_text(json.dumps(schema))
    out = io.BytesIO()
    fastavro.schemaless_writer(out, schema, {"id": "a"})
    frame = decode(records(out.getvalue()), source(value="avro", schema=str(tmp_path / "order.avsc")))
    (row,) = frame.collect()
    assert (row.id, row.record.offset) == ("a", 0)


def test_what_has_no_fields_is_said(records):
    with pytest.raises(PipelineError, match=r"\[source\] schema: 'id STRNG' is no list of fields"):
        decode(records(b"1"), source(value="json", schema="id STRNG"))


def test_rows_become_json_with_their_key(spark, at):
    frame = spark.createDataFrame([("a", at(0), 2)], "page STRING, window_start TIMESTAMP, count INT")
    (row,) = encode(frame, ["page", "window_start"]).collect()
    assert json.loads(bytes(row.key)) == {"page": "a", "window_start": "2026-01-01T00:00:00.000Z"}
    assert json.loads(bytes(row.value)) == {
        "page": "a",
        "window_start": "2026-01-01T00:00:00.000Z",
        "count": 2,
    }
    assert bytes(encode(frame, ["page"]).collect()[0].key) == b"a"
    assert encode(frame).collect()[0].key is None


def test_records_stay_records(records):
    frame = records(b"v")
    assert encode(frame).columns == ["key", "value", "timestamp"]
    assert encode(frame, routing=("topic",)).columns == ["key", "value", "timestamp", "topic"]
    (row,) = encode(frame, ["topic"]).collect()
    assert (bytes(row.key), bytes(row.value)) == (b"t", b"v")


def test_a_key_that_is_no_column(records):
    with pytest.raises(PipelineError, match=r"\[sink\] key: there is no column 'kay'; did you mean 'key'"):
        encode(records(b"v"), ["kay"])
