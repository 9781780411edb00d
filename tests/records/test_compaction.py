"""Compaction of batches: both ways against each other, against a plain model, and case by case."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distributedlog.records import (
    Compression,
    ControlType,
    CorruptBatchError,
    build_control_batch,
    decode_batch,
    encode_batch,
    iterate_batches,
    set_log_append_time,
    validate_records,
    write_crc,
)
from distributedlog.records.compaction import Treatment, make_compactor
from distributedlog.records.compaction_compiled import LOAD_MAX, CompiledCompactor
from distributedlog.records.compaction_python import PythonCompactor

HASH_KEY = bytes(range(16))
HORIZON = 1_800_000_000_000
MEMORY = 1 << 20


def compactor(form, memory=MEMORY):
    if form is PythonCompactor:
        return PythonCompactor(memory, HASH_KEY, keys_max=compactor(CompiledCompactor, memory).keys_max)
    return CompiledCompactor(memory, HASH_KEY)


both = pytest.mark.parametrize("form", [CompiledCompactor, PythonCompactor])


def batch(records, base_offset=0, **options):
    """Records as (key, value) or (key, value, timestamp)."""
    full = [(record[2] if len(record) > 2 else 1000 + n, *record[:2], []) for n, record in enumerate(records)]
    return bytes(encode_batch(full, base_offset=base_offset, **options))


def compacted(form, data, treatment=Treatment.NONE, start_offset=0, mapped=None):
    """The whole way: fill the map from `mapped` (or the data itself), then compact the data by it."""
    one = compactor(form)
    mapped = data if mapped is None else mapped
    one.map_keys(mapped, [True] * len(list(iterate_batches(mapped))), start_offset)
    treatments = [treatment] * len(list(iterate_batches(data)))
    return one.compact(data, treatments, HORIZON)


def contents(data):
    """(offset, key, value) of every record, checked on the way."""
    found = []
    for position, _ in iterate_batches(data):
        validate_records(data, position)
        found += [(record.offset, record.key, record.value) for record in decode_batch(data, position)]
    return found


def headers_of(data):
    return [header for _, header in iterate_batches(data)]


keys = st.none() | st.sampled_from([b"", b"a", b"b", b"c" * 15, b"d" * 16, b"d" * 17, b"e" * 300])
values = st.none() | st.binary(max_size=3) | st.binary(min_size=70, max_size=80)
timestamps = st.integers(0, 2**42) | st.sampled_from([-1, -(2**61), 2**61])
header_lists = st.just([]) | st.lists(st.tuples(st.text(max_size=2), values), max_size=2)
record_lists = st.lists(st.tuples(timestamps, keys, values, header_lists), min_size=1, max_size=8)
treatments = st.sampled_from(
    [
        Treatment.NONE,
        Treatment.KEEP_EMPTY,
        Treatment.DROP_TOMBSTONES,
        Treatment.DROP_TOMBSTONES | Treatment.KEEP_EMPTY,
        Treatment.KEEP_RECORDS,
        Treatment.KEEP_RECORDS | Treatment.SET_HORIZON,
        Treatment.DISCARD_RECORDS,
        Treatment.DISCARD_RECORDS | Treatment.KEEP_EMPTY,
    ]
)


@st.composite
def logs(draw, codecs=tuple(Compression)):
    """(batches, whether each is mapped, its treatment)."""
    data = bytearray()
    offset = draw(st.integers(0, 3))
    count = draw(st.integers(0, 6))
    for _ in range(count):
        records = draw(record_lists)
        one = encode_batch(records, base_offset=offset, compression=draw(st.sampled_from(codecs)))
        if draw(st.integers(0, 3)) == 0:
            set_log_append_time(one, 0, draw(st.integers(0, 2**42)))
        data += one
        offset += len(records) + draw(st.integers(0, 2))
    taken = draw(st.lists(st.booleans() | st.just(True), min_size=count, max_size=count))
    return bytes(data), taken, draw(st.lists(treatments, min_size=count, max_size=count))


@settings(max_examples=200)
@given(logs(), st.integers(0, 20), st.sampled_from([100, 200, 300, MEMORY]), st.integers(0, 60))
def test_both_ways_give_the_same_bytes(log, start_offset, memory, cut):
    data, taken, wanted = log
    data += data[: min(cut, 60)]
    compiled = compactor(CompiledCompactor, memory)
    plain = compactor(PythonCompactor, memory)
    assert compiled.map_keys(data, taken, start_offset) == plain.map_keys(data, taken, start_offset)
    assert compiled.size == plain.size
    assert compiled.latest_offset == plain.latest_offset
    result = compiled.compact(data, wanted, HORIZON)
    assert result == plain.compact(data, wanted, HORIZON)
    again = compiled.compact(result.batches, [Treatment.NONE] * len(headers_of(result.batches)), HORIZON)
    assert again == plain.compact(result.batches, [Treatment.NONE] * len(headers_of(result.batches)), HORIZON)


@settings(max_examples=150)
@given(logs())
def test_what_survives_is_what_a_plain_model_says(log):
    data, taken, wanted = log
    last, latest_offset = {}, -1
    survivors = []
    for (position, header), is_taken in zip(iterate_batches(data), taken, strict=True):
        latest_offset = header.last_offset
        for record in decode_batch(data, position):
            if is_taken and record.key is not None:
                last[record.key] = record.offset
    for (position, _), treatment in zip(iterate_batches(data), wanted, strict=True):
        for record in decode_batch(data, position):
            if treatment & Treatment.DISCARD_RECORDS:
                continue
            is_last = record.key is not None and last.get(record.key, -1) <= record.offset
            is_over = record.value is None and bool(treatment & Treatment.DROP_TOMBSTONES)
            if treatment & Treatment.KEEP_RECORDS or (is_last and not is_over):
                survivors.append((record.offset, record.timestamp, record.key, record.value, record.headers))
    for form in (CompiledCompactor, PythonCompactor):
        one = compactor(form)
        assert one.map_keys(data, taken, 0) == len(taken)
        assert one.latest_offset == latest_offset
        result = one.compact(data, wanted, HORIZON)
        found = []
        for position, header in iterate_batches(result.batches):
            validate_records(result.batches, position)
            records = decode_batch(result.batches, position)
            found += [tuple(record) for record in records]
            if records:
                assert header.max_timestamp >= max(record.timestamp for record in records)
        assert found == survivors
        assert result.records_kept == len(survivors)


@both
def test_the_last_record_of_a_key_survives_with_its_offset(form):
    data = batch([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")], 10) + batch([(b"b", b"4"), (b"c", b"5")], 13)
    result = compacted(form, data)
    assert contents(result.batches) == [(12, b"a", b"3"), (13, b"b", b"4"), (14, b"c", b"5")]
    assert (result.records_read, result.records_kept, result.records_without_key) == (5, 3, 0)
    first, second = headers_of(result.batches)
    assert (first.base_offset, first.last_offset, first.records_count) == (10, 12, 1)
    assert (second.base_offset, second.last_offset, second.records_count) == (13, 14, 2)


@both
@pytest.mark.parametrize("codec", list(Compression))
def test_a_rebuilt_batch_keeps_codec_producer_and_sequence(form, codec):
    data = batch(
        [(b"a", b"1"), (b"a", b"2", 500), (b"b", b"3", 700)],
        5,
        compression=codec,
        producer_id=8,
        producer_epoch=2,
        base_sequence=77,
        is_transactional=True,
        leader_epoch=4,
    )
    result = compacted(form, data)
    assert contents(result.batches) == [(6, b"a", b"2"), (7, b"b", b"3")]
    (header,) = headers_of(result.batches)
    assert (header.compression, header.is_transactional) == (codec, True)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (8, 2, 77)
    assert (header.last_sequence, header.partition_leader_epoch) == (79, 4)
    assert (header.base_timestamp, header.max_timestamp) == (1000, 700)


@both
def test_a_batch_of_which_all_survives_is_copied_as_it_is(form):
    data = batch([(b"a", b"1")]) + batch([(b"b", b"1")], 1, compression=Compression.ZSTD)
    assert compacted(form, data).batches == data


@both
def test_records_behind_the_map_survive_even_without_a_key(form):
    mapped = batch([(b"a", b"1"), (None, b"2"), (b"b", b"3")])
    later = batch([(b"a", b"4"), (None, b"5")], 3)
    result = compacted(form, mapped + later, mapped=mapped)
    assert contents(result.batches) == [(0, b"a", b"1"), (2, b"b", b"3"), (3, b"a", b"4"), (4, None, b"5")]
    assert result.records_without_key == 1


@both
def test_only_records_from_the_start_offset_are_mapped(form):
    data = batch([(b"a", b"1"), (b"a", b"2"), (b"a", b"3")])
    one = compactor(form)
    assert one.map_keys(data, [True], 5) == 1
    assert (one.size, one.latest_offset) == (0, -1)
    assert one.map_keys(data, [True], 2) == 1
    assert (one.size, one.latest_offset) == (1, 2)


@both
def test_batches_that_are_not_taken_count_as_seen_but_hide_nothing(form):
    data = batch([(b"a", b"1")]) + batch([(b"a", b"aborted")], 1)
    one = compactor(form)
    assert one.map_keys(data, [True, False], 0) == 2
    assert (one.size, one.latest_offset) == (1, 1)
    result = one.compact(data, [Treatment.NONE, Treatment.DISCARD_RECORDS], HORIZON)
    assert contents(result.batches) == [(0, b"a", b"1")]


@both
def test_a_batch_that_must_stay_stays_empty(form):
    data = batch(
        [(b"a", b"1"), (b"a", None)],
        3,
        producer_id=5,
        producer_epoch=1,
        base_sequence=9,
        compression=Compression.GZIP,
    )
    newer = batch([(b"a", b"2")], 5)
    result = compacted(form, data, Treatment.KEEP_EMPTY, mapped=data + newer)
    (header,) = headers_of(result.batches)
    assert (header.records_count, header.base_offset, header.last_offset) == (0, 3, 4)
    assert (header.last_sequence, header.max_timestamp, header.base_timestamp) == (10, 1001, -1)
    assert header.compression is Compression.NONE
    assert compacted(form, result.batches, Treatment.KEEP_EMPTY).batches == result.batches
    assert compacted(form, result.batches).batches == b""


@both
@pytest.mark.parametrize("codec", [Compression.NONE, Compression.LZ4])
def test_a_tombstone_gets_a_horizon_and_goes_when_it_is_past(form, codec):
    data = batch([(b"a", b"1", 1000), (b"a", None, 1000 + 2**35), (b"b", b"2", 900)], compression=codec)
    first = compacted(form, data)
    (header,) = headers_of(first.batches)
    assert header.delete_horizon_ms == HORIZON
    assert header.max_timestamp == 1000 + 2**35
    assert [record.timestamp for record in decode_batch(first.batches)] == [1000 + 2**35, 900]
    second = compacted(form, first.batches)
    assert second.batches == first.batches
    third = compacted(form, first.batches, Treatment.DROP_TOMBSTONES)
    assert contents(third.batches) == [(2, b"b", b"2")]
    (header,) = headers_of(third.batches)
    assert (header.delete_horizon_ms, header.max_timestamp) == (HORIZON, 900)
    assert [record.timestamp for record in decode_batch(third.batches)] == [900]


@both
def test_a_marker_is_kept_with_a_horizon_once_its_transaction_is_gone(form):
    marker = bytes(build_control_batch(ControlType.ABORT, 77, producer_id=1, producer_epoch=0, base_offset=4))
    kept = compacted(form, marker, Treatment.KEEP_RECORDS, mapped=b"")
    assert kept.batches == marker
    marked = compacted(form, marker, Treatment.KEEP_RECORDS | Treatment.SET_HORIZON, mapped=b"")
    (header,) = headers_of(marked.batches)
    assert (header.delete_horizon_ms, header.is_control, header.max_timestamp) == (HORIZON, True, 77)
    assert decode_batch(marked.batches) == decode_batch(marker)
    assert compacted(form, marked.batches, Treatment.DISCARD_RECORDS, mapped=b"").batches == b""


@both
def test_log_append_time_survives_a_new_horizon(form):
    data = bytearray(batch([(b"a", b"1"), (b"a", None)]))
    set_log_append_time(data, 0, 5555)
    result = compacted(form, bytes(data))
    (header,) = headers_of(result.batches)
    assert (header.delete_horizon_ms, header.max_timestamp) == (HORIZON, 5555)
    assert [record.timestamp for record in decode_batch(result.batches)] == [5555]


@both
def test_a_timestamp_too_far_from_the_horizon_leaves_the_batch_without_one(form):
    data = batch([(b"a", None, -(2**63) + 5)])
    assert compacted(form, data).batches == data


@both
def test_a_full_map_says_how_far_it_came(form):
    memory = 24 * 8 * 5 // 4
    one = compactor(form, memory)
    room = int(8 * LOAD_MAX)
    first = batch([(b"k%d" % n, b"v") for n in range(room)])
    second = batch([(b"k0", b"new"), (b"more", b"v")], room)
    third = batch([(b"k1", b"v")], room + 2)
    data = first + second + third
    assert one.map_keys(data, [True] * 3, 0) == 1
    assert (one.size, one.latest_offset) == (room, room - 1)
    kept = contents(one.compact(data, [Treatment.NONE] * 3, HORIZON).batches)
    assert kept == contents(data)[1:]


@both
def test_many_keys_make_the_map_grow(form):
    one = compactor(form, 8 << 20)
    parts, offset = [], 0
    for _ in range(2):
        for start in range(0, 30_000, 1000):
            part = batch([(b"key-%d" % n, b"v") for n in range(start, start + 1000)], offset)
            parts.append(part)
            offset += 1000
            assert one.map_keys(part, [True], 0) == 1
    assert (one.size, one.latest_offset) == (30_000, 59_999)
    data = b"".join(parts)
    result = one.compact(data, [Treatment.NONE] * len(parts), HORIZON)
    assert result.batches == b"".join(parts[30:])
    assert (result.records_read, result.records_kept) == (60_000, 30_000)


@both
def test_damage_is_not_sealed_under_a_new_crc(form):
    data = bytearray(batch([(b"a", b"1"), (b"a", b"2")]))
    data[-3] ^= 1
    for treatment in (Treatment.NONE, Treatment.DISCARD_RECORDS):
        with pytest.raises(CorruptBatchError, match="CRC"):
            compactor(form).compact(bytes(data), [treatment], HORIZON)
    with pytest.raises(CorruptBatchError, match="CRC"):
        compactor(form).map_keys(bytes(data), [True], 0)
    write_crc(data)
    struct.pack_into(">b", data, 61, 40)
    write_crc(data)
    with pytest.raises(CorruptBatchError):
        compactor(form).compact(bytes(data), [Treatment.NONE], HORIZON)
    with pytest.raises(CorruptBatchError):
        compactor(form).map_keys(bytes(data), [True], 0)


@both
def test_every_batch_needs_its_entry(form):
    data = batch([(b"a", b"1")])
    with pytest.raises(ValueError, match="2 entries"):
        compactor(form).map_keys(data, [True, True], 0)
    with pytest.raises(ValueError, match="0 entries"):
        compactor(form).compact(data, [], HORIZON)


def test_the_hash_key_must_be_of_full_length():
    assert isinstance(make_compactor(MEMORY, HASH_KEY), CompiledCompactor)
    with pytest.raises(ValueError, match="15 bytes"):
        make_compactor(MEMORY, bytes(15))


def test_payloads_are_opened_a_few_at_a_time(monkeypatch):
    from distributedlog.records import compaction_compiled

    parts = [
        batch([(b"a", b"x" * 400), (b"b%d" % n, b"x")], 2 * n, compression=Compression.ZSTD) for n in range(9)
    ]
    data = b"".join(parts)
    expected = compacted(PythonCompactor, data, Treatment.KEEP_EMPTY)
    monkeypatch.setattr(compaction_compiled, "PAYLOAD_SIZE_MAX", 900)
    assert compacted(CompiledCompactor, data, Treatment.KEEP_EMPTY) == expected
