"""Arrow to batches: read back by the pure-Python reader, by the kernels and by aiokafka."""

import struct

import numpy as np
import pyarrow as pa
import pytest
from aiokafka.record.memory_records import MemoryRecords
from hypothesis import given, settings
from hypothesis import strategies as st

from distributedlog.records import (
    HEADER_SIZE,
    Compression,
    InvalidRecordError,
    encode_batch,
    iterate_batches,
    iterate_records,
    validate_records,
)
from distributedlog.records.columns import HEADERS_TYPE, decode_to_arrow, encode_from_arrow

nullable_bytes = st.none() | st.binary(max_size=12) | st.binary(min_size=60, max_size=300)
header_lists = st.lists(st.tuples(st.text(max_size=5), nullable_bytes), max_size=3)
timestamps = st.integers(-1, 2**41) | st.integers(-(2**61), 2**61)
record_lists = st.lists(
    st.tuples(timestamps, nullable_bytes, nullable_bytes, st.just([]) | header_lists), max_size=20
)


def table_of(records):
    return pa.record_batch(
        {
            "timestamp": pa.array([record[0] for record in records], pa.int64()),
            "key": pa.array([record[1] for record in records], pa.binary()),
            "value": pa.array([record[2] for record in records], pa.binary()),
            "headers": pa.array([record[3] or None for record in records], HEADERS_TYPE),
        }
    )


def as_written(records, base_offset=0):
    return [
        (base_offset + n, timestamp, key, value, tuple(headers))
        for n, (timestamp, key, value, headers) in enumerate(records)
    ]


def as_read(data):
    return [tuple(record) for record in iterate_records(data)]


def values(*contents, **more):
    return pa.record_batch({"value": pa.array(contents, pa.binary()), **more})


@settings(max_examples=150)
@given(
    record_lists,
    st.sampled_from(list(Compression)),
    st.integers(1, 700),
    st.integers(0, 9),
    st.integers(0, 9),
)
def test_what_is_written_is_read(records, codec, batch_size_max, skipped_before, skipped_behind):
    table = table_of(records)
    sliced = table.slice(skipped_before, max(len(records) - skipped_before - skipped_behind, 0))
    kept = records[skipped_before : max(len(records) - skipped_behind, 0)]
    data = encode_from_arrow(
        sliced, batch_size_max=batch_size_max, compression=codec, base_offset=40, leader_epoch=3
    )
    assert as_read(data) == as_written(kept, 40)
    offset = 40
    for position, header in iterate_batches(data):
        assert validate_records(data, position).base_offset == offset
        assert header.partition_leader_epoch == 3
        assert header.last_offset_delta == header.records_count - 1
        offset = header.next_offset
    assert offset == 40 + len(kept)


@settings(max_examples=60)
@given(record_lists.filter(bool))
def test_one_batch_is_the_same_bytes_as_the_builder_writes(records):
    options = {"producer_id": 9, "producer_epoch": 2, "base_sequence": 5, "is_transactional": True}
    built = encode_batch(records, base_offset=7, leader_epoch=1, **options)
    assert encode_from_arrow(table_of(records), base_offset=7, leader_epoch=1, **options) == built


@pytest.mark.parametrize("codec", list(Compression))
def test_aiokafka_reads_it(codec):
    records = [
        (1_700_000_000_000 + n, None if n % 3 else b"key%d" % n, b"value%d" % n, [("h", b"%d" % n)])
        for n in range(200)
    ]
    data = encode_from_arrow(table_of(records), batch_size_max=1000, compression=codec)
    read = []
    stream = MemoryRecords(bytes(data))
    while stream.has_next():
        batch = stream.next_batch()
        assert batch.validate_crc()
        read += [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]
    assert read == as_written(records)


def test_decoded_columns_can_be_encoded_again():
    records = [(n, b"k", b"v%d" % n, [("a", None)] if n % 2 else []) for n in range(50)]
    decoded = decode_to_arrow(encode_from_arrow(table_of(records)))
    assert decode_to_arrow(encode_from_arrow(decoded, batch_size_max=100)).equals(decoded)


def test_no_batch_is_larger_than_allowed_but_for_a_record_that_is():
    sizes = [10, 200, 30, 5000, 30, 30, 30]
    data = encode_from_arrow(values(*[b"x" * size for size in sizes]), batch_size_max=300)
    found = [(header.size, header.records_count) for _, header in iterate_batches(data)]
    assert [count for _, count in found] == [2, 1, 1, 3]
    assert [size > 300 for size, _ in found] == [False, False, True, False]
    exact = HEADER_SIZE + 2 * (1 + 1 + 1 + 1 + 1 + 1 + 10 + 1)
    data = encode_from_arrow(values(*[b"x" * 10] * 6), batch_size_max=exact)
    assert [header.size for _, header in iterate_batches(data)] == [exact] * 3


def test_sequence_numbers_run_on_over_batches_and_wrap():
    data = encode_from_arrow(
        pa.Table.from_batches([values(b"a", b"b"), values(b"c", b"d")]),
        batch_size_max=1,
        producer_id=1,
        producer_epoch=0,
        base_sequence=2**31 - 2,
    )
    headers = [header for _, header in iterate_batches(data)]
    assert [header.base_sequence for header in headers] == [2**31 - 2, 2**31 - 1, 0, 1]
    assert [header.base_offset for header in headers] == [0, 1, 2, 3]


def test_timestamps_of_any_unit_and_none():
    seconds = pa.array([5, None], pa.timestamp("s"))
    microseconds = pa.array([5_000_999, None], pa.timestamp("us", tz="Europe/Berlin"))
    plain = pa.array([5000, None], pa.int32())
    for column in (seconds, microseconds, plain):
        data = encode_from_arrow(values(b"a", b"b", timestamp=column), timestamp_ms=77)
        assert [record.timestamp for record in iterate_records(data)] == [5000, 77]
    assert [record.timestamp for record in iterate_records(encode_from_arrow(values(b"a")))] == [-1]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(["ä", None, ""]),
        pa.array(["ä", None, ""], pa.large_string()),
        pa.array(["ä".encode(), None, b""], pa.large_binary()),
        pa.array(["ä", None, ""]).dictionary_encode(),
        pa.array(["ä".encode(), None, b""], pa.binary_view()),
        pa.chunked_array([["ä"], [None, ""]]),
    ],
    ids=lambda column: str(column.type),
)
def test_columns_of_any_binary_type(column):
    data = encode_from_arrow(pa.table({"value": column}))
    assert [record.value for record in iterate_records(data)] == ["ä".encode(), None, b""]


def test_nulls_may_hide_bytes():
    offsets = pa.py_buffer(np.array([0, 1, 3, 4], np.int32))
    validity = pa.py_buffer(b"\x05")
    column = pa.Array.from_buffers(pa.binary(), 3, [validity, offsets, pa.py_buffer(b"aXXb")])
    data = encode_from_arrow(pa.record_batch({"value": column}))
    assert [record.value for record in iterate_records(data)] == [b"a", None, b"b"]


def test_no_rows_are_no_batches():
    assert encode_from_arrow(values()) == bytearray()
    assert encode_from_arrow(values().schema.empty_table(), compression=Compression.GZIP) == bytearray()


def test_wrong_columns_are_refused():
    with pytest.raises(ValueError, match="no column 'valeu'"):
        encode_from_arrow(pa.table({"valeu": [b"a"]}))
    with pytest.raises(ValueError, match="no column 'value'"):
        encode_from_arrow(pa.table({"key": [b"a"]}))
    with pytest.raises(ValueError, match="twice"):
        encode_from_arrow(pa.table([[b"a"], [b"b"]], names=["value", "value"]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"value": pa.array([1])}, "'value' cannot be read as binary"),
        ({"value": [b"a"], "timestamp": ["now"]}, "'timestamp' is string"),
        ({"value": [b"a", b"b"], "timestamp": [-(2**63), 2**63 - 1]}, "further apart"),
        ({"value": [b"a"], "headers": ["text"]}, "'headers' cannot be read"),
        ({"value": [b"a"], "headers": pa.array([[("k", b"v"), None]], HEADERS_TYPE)}, "without a key"),
        ({"value": [b"a"], "headers": pa.array([[(None, b"v")]], HEADERS_TYPE)}, "without a key"),
    ],
)
def test_what_cannot_be_a_record_is_refused(columns, message):
    with pytest.raises(InvalidRecordError, match=message):
        encode_from_arrow(pa.table(columns))


@pytest.mark.parametrize(
    "field",
    [
        {"base_offset": 2**63 - 1},
        {"leader_epoch": 2**31},
        {"producer_id": 2**63},
        {"producer_epoch": 2**15},
        {"base_sequence": 2**31},
    ],
    ids=str,
)
def test_fields_that_do_not_fit_the_header_are_refused(field):
    with pytest.raises(InvalidRecordError, match="does not fit"):
        encode_from_arrow(values(b"a"), **field)


@pytest.mark.parametrize("offset", [5, -1, 2**31 - 1, -(2**31)])
def test_columns_whose_offsets_lie_are_refused(offset):
    buffers = [None, pa.py_buffer(struct.pack("=3i", 0, offset, 4)), pa.py_buffer(b"abcd")]
    column = pa.Array.from_buffers(pa.binary(), 2, buffers)
    with pytest.raises(InvalidRecordError):
        encode_from_arrow(pa.record_batch({"value": column}))
