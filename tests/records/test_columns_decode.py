"""Batches to Arrow: the same records as the pure-Python reader sees, and as aiokafka wrote."""

import struct

import pyarrow as pa
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st

from distributedlog.records import (
    Compression,
    ControlType,
    CorruptBatchError,
    InvalidRecordError,
    build_control_batch,
    columns_decode,
    encode_batch,
    iterate_records,
    set_log_append_time,
    write_crc,
)
from distributedlog.records.columns import COLUMNS, SCHEMA, AbortedTransaction, decode_chunk, decode_to_arrow

CODECS = list(Compression)


def batch(records, base_offset=0, **options):
    return bytes(encode_batch(records, base_offset=base_offset, **options))


def numbered(count, base_offset=0, **options):
    records = [(1000 + n, b"k%d" % n, b"v%d" % (base_offset + n), []) for n in range(count)]
    return batch(records, base_offset, **options)


def resealed(data, position, form, value):
    changed = bytearray(data)
    struct.pack_into(form, changed, position, value)
    write_crc(changed)
    return bytes(changed)


def rows(record_batch):
    """The columns as the tuples that `Record` is made of."""
    return list(
        zip(
            record_batch["offset"].to_pylist(),
            record_batch["timestamp"].cast(pa.int64()).to_pylist(),
            record_batch["key"].to_pylist(),
            record_batch["value"].to_pylist(),
            [
                tuple((header["key"], header["value"]) for header in headers or ())
                for headers in record_batch["headers"].to_pylist()
            ],
            strict=True,
        )
    )


def by_python(data, start_offset=0, end_offset=2**63):
    return [tuple(record) for record in iterate_records(data, start_offset) if record.offset < end_offset]


nullable_bytes = st.none() | st.binary(max_size=12) | st.binary(min_size=60, max_size=300)
header_lists = st.lists(st.tuples(st.text(max_size=5), nullable_bytes), max_size=3)
timestamps = st.integers(-1, 2**41) | st.integers(-(2**61), 2**61)
record_lists = st.lists(
    st.tuples(timestamps, nullable_bytes, nullable_bytes, st.just([]) | header_lists), min_size=1, max_size=12
)


@st.composite
def logs(draw):
    """Batches with gaps between their offsets, LogAppendTime and control batches among them."""
    data = bytearray()
    offset = draw(st.integers(0, 5))
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.integers(0, 4)) == 0:
            one = build_control_batch(
                ControlType.COMMIT, 5, producer_id=1, producer_epoch=0, base_offset=offset
            )
            count = 1
        else:
            records = draw(record_lists)
            one = encode_batch(records, base_offset=offset, compression=draw(st.sampled_from(CODECS)))
            count = len(records)
            if draw(st.integers(0, 3)) == 0:
                set_log_append_time(one, 0, draw(st.integers(0, 2**42)))
        data += one
        offset += count + draw(st.integers(0, 3))
    return bytes(data)


@settings(max_examples=150)
@given(logs(), st.integers(0, 70), st.integers(0, 30))
def test_same_records_as_the_pure_reader(data, cut, span):
    decoded = decode_to_arrow(data + data[: min(cut, 60)])
    decoded.validate(full=True)
    assert decoded.schema.equals(SCHEMA)
    assert rows(decoded) == by_python(data)
    ranged = decode_chunk(data, start_offset=cut, end_offset=cut + span).records
    assert rows(ranged) == by_python(data, cut, cut + span)


@settings(max_examples=60)
@given(logs(), st.lists(st.sampled_from(COLUMNS), unique=True))
def test_a_choice_of_columns_is_that_choice_of_all(data, chosen):
    everything = decode_to_arrow(data)
    some = decode_to_arrow(data, columns=chosen)
    some.validate(full=True)
    assert some.schema.names == chosen
    for name in chosen:
        assert some[name].equals(everything[name])


@pytest.mark.parametrize("codec", CODECS)
def test_batches_of_aiokafka(codec):
    builder = DefaultRecordBatchBuilder(2, int(codec), 0, -1, -1, -1, 1 << 20)
    written = []
    for n in range(300):
        key = None if n % 3 == 0 else b"key-%d" % n
        value = None if n % 7 == 0 else b"value" * (n % 50)
        headers = [("trace", b"%d" % n), ("empty", b""), ("nothing", None)][: n % 4]
        builder.append(n, 1_700_000_000_000 + n * 1000 - n * n, key, value, headers)
        written.append((n, 1_700_000_000_000 + n * 1000 - n * n, key, value, tuple(headers)))
    assert rows(decode_to_arrow(bytes(builder.build()))) == written


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, pa.py_buffer])
def test_any_buffer_is_read(form):
    data = numbered(4) + numbered(2, 4, compression=Compression.ZSTD)
    assert rows(decode_to_arrow(form(data))) == by_python(data)


def test_nothing_decodes_to_no_rows():
    for data in (b"", numbered(3)[:-1], b"\x00" * 60):
        chunk = decode_chunk(data, start_offset=7)
        assert chunk.records.num_rows == 0
        assert chunk.records.schema.equals(SCHEMA)
        assert (chunk.consumed, chunk.next_offset, chunk.is_cut) == (0, 7, False)


def test_a_partial_batch_is_left_and_the_next_call_goes_on_there():
    first, second = numbered(3), numbered(4, 3)
    chunk = decode_chunk(first + second[:-1])
    assert (chunk.consumed, chunk.next_offset) == (len(first), 3)
    rest = (first + second)[chunk.consumed :]
    assert rows(decode_to_arrow(rest, start_offset=chunk.next_offset)) == by_python(second)


def test_next_offset_passes_what_was_left_out_but_not_the_end_offset():
    marker = bytes(build_control_batch(ControlType.COMMIT, 5, producer_id=1, producer_epoch=0, base_offset=3))
    data = numbered(3) + marker
    assert decode_chunk(data).next_offset == 4
    assert decode_chunk(data, end_offset=2).next_offset == 2
    assert decode_chunk(data, start_offset=9).next_offset == 9


def test_log_append_time_is_every_records_timestamp():
    data = encode_batch([(1, None, b"a", []), (2**62, None, b"b", [])])
    set_log_append_time(data, 0, 4711)
    decoded = decode_to_arrow(data)
    assert decoded["timestamp"].cast(pa.int64()).to_pylist() == [4711, 4711]
    assert decoded["timestamp_type"].to_pylist() == [1, 1]


def test_records_without_headers_have_null_and_names_that_are_no_text_are_mended():
    data = batch([(1, None, b"a", []), (1, None, b"b", [("xx", None)])])
    broken = resealed(data, data.index(b"xx"), "2s", b"x\xff")
    assert decode_to_arrow(broken)["headers"].to_pylist() == [None, [{"key": "x\ufffd", "value": None}]]
    assert rows(decode_to_arrow(broken)) == by_python(broken)


def test_aborted_transactions_are_left_out():
    def transactional(producer, offset):
        return numbered(
            2, offset, producer_id=producer, producer_epoch=0, base_sequence=0, is_transactional=True
        )

    def marker(kind, producer, offset):
        return bytes(build_control_batch(kind, 1, producer_id=producer, producer_epoch=0, base_offset=offset))

    data = b"".join(
        [
            transactional(1, 0),
            transactional(2, 2),
            numbered(1, 4),
            marker(ControlType.ABORT, 1, 5),
            transactional(1, 6),
            marker(ControlType.COMMIT, 2, 8),
            marker(ControlType.COMMIT, 1, 9),
            transactional(2, 10),
            marker(ControlType.ABORT, 2, 12),
        ]
    )
    aborted = [AbortedTransaction(2, 10), AbortedTransaction(1, 0)]
    seen = decode_to_arrow(data, aborted=aborted)["offset"].to_pylist()
    assert seen == [2, 3, 4, 6, 7]
    assert decode_to_arrow(data)["offset"].to_pylist() == [0, 1, 2, 3, 4, 6, 7, 10, 11]
    late = decode_to_arrow(data, start_offset=6, aborted=aborted)["offset"].to_pylist()
    assert late == [6, 7]


def test_payload_limit_leaves_whole_batches_for_the_next_call():
    parts = [numbered(5, 0), numbered(5, 5, compression=Compression.LZ4), numbered(5, 10), numbered(5, 15)]
    data = b"".join(parts)
    got, position, offset, calls = [], 0, 0, 0
    while position < len(data):
        chunk = decode_chunk(data[position:], start_offset=offset, payload_size_max=120)
        got += rows(chunk.records)
        position += chunk.consumed
        offset = chunk.next_offset
        calls += 1
        assert chunk.is_cut == (position < len(data))
    assert got == by_python(data)
    assert calls == 2
    smallest = decode_chunk(data, payload_size_max=1)
    assert (smallest.records.num_rows, smallest.consumed, smallest.is_cut) == (5, len(parts[0]), True)


def test_more_than_a_column_holds_is_refused_with_advice(monkeypatch):
    data = numbered(5) + numbered(5, 5)
    monkeypatch.setattr(columns_decode, "PAYLOAD_SIZE_MAX", 100)
    with pytest.raises(InvalidRecordError, match="use decode_chunk"):
        decode_to_arrow(data)


@pytest.mark.parametrize(
    ("position", "form", "value", "message"),
    [
        (16, ">b", 1, "magic 1"),
        (8, ">i", 48, "48 bytes long"),
        (57, ">i", 2, "end where the batch|left behind"),
        (57, ">i", 2**31 - 1, "says it has"),
        (57, ">i", -1, "says it has"),
        (23, ">i", 1, "says it has"),
        (23, ">i", -1, "says its offsets"),
        (0, ">q", -1, "says its offsets"),
        (0, ">q", 2**63 - 1, "says its offsets"),
        (21, ">h", 5, "compression 5"),
        (21, ">h", 4, "zstd"),
        (27, ">q", 2**63 - 1, "timestamp"),
        (61, ">b", 3, "length"),
        (61, ">b", 127, "length"),
        (61, ">b", 4, "delta"),
        (64, ">b", 1, "offset"),
        (65, ">b", -1, "key"),
        (65, ">b", 3, "key"),
        (68, ">b", 127, "value"),
        (71, ">b", 127, "headers"),
        (71, ">b", 1, "headers"),
    ],
)
def test_damage_behind_a_right_crc(position, form, value, message):
    data = resealed(batch([(n, b"kk", b"vv", []) for n in range(3)]), position, form, value)
    with pytest.raises(CorruptBatchError, match=message):
        decode_to_arrow(data)


def test_a_wrong_crc_is_found_unless_it_is_not_wanted():
    data = bytearray(numbered(3))
    data[-2] ^= 1
    with pytest.raises(CorruptBatchError, match="CRC"):
        decode_to_arrow(data)
    assert decode_to_arrow(data, check_crc=False).num_rows == 3


def test_damage_behind_sound_batches_says_where_it_is():
    with pytest.raises(CorruptBatchError, match=f"position {len(numbered(3))}"):
        decode_to_arrow(numbered(3) + b"\x01" * 80)


def test_expanding_beyond_the_cap_is_damage():
    data = batch([(0, None, bytes(100_000), [])], compression=Compression.ZSTD)
    with pytest.raises(CorruptBatchError, match="more than"):
        decode_chunk(data, decompressed_size_max=50_000)


def test_wrong_columns_are_refused():
    with pytest.raises(ValueError, match="no column 'topic'"):
        decode_to_arrow(b"", columns=["topic"])
    with pytest.raises(ValueError, match="twice"):
        decode_to_arrow(b"", columns=["key", "key"])
