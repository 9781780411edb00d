"""Good records to one topic, the others to the dead-letter topic, on static and on streaming frames."""

import pytest

from distributedlog.pipelines.validate import validate

SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP, "
    "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
)
RULES = {
    "topic": "good",
    "dead_letter_topic": "bad",
    "schema": "id STRING, amount DOUBLE",
    "required": ["id"],
    "rules": {"positive": "amount > 0"},
}


@pytest.fixture
def record(at):
    return lambda offset, value, headers=None: (
        b"k",
        value if value is None else value.encode(),
        "orders",
        0,
        offset,
        at(offset),
        headers,
    )


def headers_of(row):
    return {header.key: bytes(header.value).decode() for header in row.headers}


CASES = {
    '{"id":"a","amount":1}': None,
    '{"id":"a","amount":1,"more":true}': None,
    None: None,
    "no json": "the value does not fit the schema",
    '{"id":"a","amount":"much"}': "the value does not fit the schema",
    '{"amount":1}': "id is missing",
    '{"amount":-1}': "id is missing; rule positive is broken: amount > 0",
    '{"id":"a"}': "rule positive is broken: amount > 0",
}


def test_each_record_goes_where_it_belongs_with_the_reason(spark, record):
    frame = spark.createDataFrame([record(offset, value) for offset, value in enumerate(CASES)], SCHEMA)
    judged = validate(frame, **RULES).collect()
    assert len(judged) == len(CASES)
    for row in judged:
        value = None if row.value is None else bytes(row.value).decode()
        reason = CASES[value]
        assert row.topic == ("good" if reason is None else "bad"), value
        headers = headers_of(row)
        assert headers.get("dlog.error.reason") == reason
        if reason is not None:
            assert headers["dlog.error.topic"] == "orders"
            assert int(headers["dlog.error.offset"]) == row.timestamp.second


def test_headers_of_its_own_stay(spark, record):
    frame = spark.createDataFrame([record(0, "no json", [("trace", b"7")])], SCHEMA)
    (row,) = validate(frame, **RULES).collect()
    assert headers_of(row)["trace"] == "7"
    assert bytes(row.key) == b"k"


def test_without_schema_all_is_good(spark, record):
    frame = spark.createDataFrame([record(0, "no json")], SCHEMA).drop("headers", "timestamp", "offset")
    (row,) = validate(frame, topic="good", dead_letter_topic="bad").collect()
    assert (row.topic, row.headers) == ("good", [])


def test_a_stream(stream, results, record):
    records = stream(SCHEMA, [record(0, "no json")], [record(1, '{"id":"a","amount":1}')])
    assert [row[-1] for batch in results(validate(records, **RULES)) for row in batch] == ["bad", "good"]
