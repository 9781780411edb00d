from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.records.strategies import INT32_MAX, INT64_MAX, headers, nullable_blobs, records, timestamps

from distributedlog.records import (
    BatchBuilder,
    Compression,
    InvalidRecordError,
    Record,
    decode_batch,
    encode_batch,
    encode_single,
    iterate_records,
    parse_header,
    validate_batch,
    validate_produced,
    validate_records,
)

INT16_MAX = 2**15 - 1


@given(records, st.sampled_from(Compression), st.integers(0, 2**62), st.integers(-1, INT32_MAX))
def test_what_is_appended_is_read(appended, compression, base_offset, leader_epoch):
    builder = BatchBuilder(compression)
    assert [builder.append(*record) for record in appended] == list(range(len(appended)))
    batch = builder.build(base_offset, leader_epoch)

    header = validate_records(batch)
    assert header.size == len(batch)
    assert (header.base_offset, header.partition_leader_epoch) == (base_offset, leader_epoch)
    assert header.compression is compression
    assert header.records_count == len(appended) == builder.records_count
    assert header.last_offset == base_offset + len(appended) - 1
    assert header.base_timestamp == appended[0][0]
    assert header.max_timestamp == max(record[0] for record in appended)
    if not compression:
        assert builder.size == len(batch)
    expected = [Record(base_offset + index, *record) for index, record in enumerate(appended)]
    assert decode_batch(batch) == expected
    assert list(iterate_records(memoryview(batch))) == expected
    validate_produced(parse_header(builder.build()))


@given(records)
def test_one_by_one_and_all_at_once_are_the_same_bytes(appended):
    one_by_one = BatchBuilder()
    for record in appended:
        one_by_one.append(*record)
    at_once = BatchBuilder()
    at_once.extend(appended[:2])
    at_once.extend(iter(appended[2:]))
    assert at_once.build() == one_by_one.build() == encode_batch(appended)
    assert at_once.size == one_by_one.size


@given(
    st.one_of(timestamps, st.sampled_from([INT64_MAX, -INT64_MAX - 1])),
    nullable_blobs,
    nullable_blobs,
    headers,
    st.integers(0, INT64_MAX),
    st.integers(-1, INT32_MAX),
)
@example(0, None, b"v" * 8185, (), 0, -1)
@example(0, None, b"v" * 8184, (), 0, -1)
@example(0, b"k" * 8192, b"v" * 2**20, (), 0, -1)
def test_a_single_record_is_the_same_bytes(timestamp, key, value, record_headers, base_offset, leader_epoch):
    builder = BatchBuilder()
    builder.append(timestamp, key, value, record_headers)
    single = encode_single(timestamp, key, value, record_headers, base_offset, leader_epoch)
    assert type(single) is bytes
    assert single == builder.build(base_offset, leader_epoch)


def test_an_empty_key_is_not_a_null_key():
    batch = encode_batch([(0, b"", b"", [("", b"")]), (0, None, None, [("", None)])])
    assert decode_batch(batch) == [
        Record(0, 0, b"", b"", (("", b""),)),
        Record(1, 0, None, None, (("", None),)),
    ]


def test_the_producers_fields():
    batch = encode_batch(
        [(0, None, b"v", ())] * 3,
        producer_id=INT64_MAX,
        producer_epoch=INT16_MAX,
        base_sequence=INT32_MAX,
        is_transactional=True,
    )
    header = validate_batch(batch)
    assert (header.producer_id, header.producer_epoch) == (INT64_MAX, INT16_MAX)
    assert (header.base_sequence, header.last_sequence) == (INT32_MAX, 1)
    assert header.is_transactional
    assert not header.is_control
    validate_produced(header)


def test_without_a_producer():
    header = parse_header(encode_batch([(0, None, b"v", ())]))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert header.attributes == 0
    assert header.partition_leader_epoch == -1


def test_a_batch_can_be_built_again():
    builder = BatchBuilder(producer_id=1, producer_epoch=0, base_sequence=0)
    builder.append(5, None, b"first")
    first = builder.build()
    kept = bytes(first)
    builder.base_sequence = 9
    builder.append(6, None, b"second")
    second = builder.build(base_offset=100)
    assert first == kept
    assert parse_header(second).base_sequence == 9
    assert [(record.offset, record.value) for record in decode_batch(second)] == [
        (100, b"first"),
        (101, b"second"),
    ]


def test_what_fails_to_be_appended_leaves_nothing_behind():
    builder = BatchBuilder()
    with pytest.raises(TypeError):
        builder.append(10**15, None, "no bytes")
    builder.append(5, None, b"a")
    with pytest.raises(TypeError):
        builder.append(10**15, "no bytes", b"")
    with pytest.raises(TypeError):
        builder.extend([(7, None, b"b", ()), (10**15, None, 1.5, ()), (8, None, b"never reached", ())])
    batch = builder.build()
    assert decode_batch(batch) == [Record(0, 5, None, b"a"), Record(1, 7, None, b"b")]
    assert parse_header(batch).max_timestamp == 7


def test_more_records_than_the_table_of_varints_has():
    count = 20_000
    batch = encode_batch((0, None, b"", ()) for _ in range(count))
    decoded = decode_batch(batch)
    assert [record.offset for record in decoded] == list(range(count))


def test_an_empty_batch_is_not_built():
    with pytest.raises(InvalidRecordError, match="without records"):
        BatchBuilder().build()


@pytest.mark.parametrize("timestamp", [2**63, -(2**63) - 1])
def test_a_timestamp_of_more_than_64_bits(timestamp):
    with pytest.raises(InvalidRecordError):
        encode_single(timestamp, None, b"")
    with pytest.raises(InvalidRecordError):
        encode_batch([(timestamp, None, b"", ())])


def test_timestamps_too_far_apart():
    builder = BatchBuilder()
    builder.append(-(2**63), None, b"")
    with pytest.raises(InvalidRecordError, match="apart"):
        builder.append(2**63 - 1, None, b"")


@pytest.mark.parametrize("field", ["producer_id", "producer_epoch", "base_sequence"])
def test_a_field_that_does_not_fit(field):
    with pytest.raises(InvalidRecordError, match="does not fit"):
        encode_batch([(0, None, b"", ())], **{field: 2**70})


VIEWS = [memoryview(array("i", [1, -2, 300])), memoryview(b"abcdef")[::2], bytearray(b"abc"), memoryview(b"")]


@pytest.mark.parametrize("data", VIEWS, ids=["integers", "every other byte", "bytearray", "empty"])
def test_a_view_counts_by_its_bytes_and_not_by_its_items(data):
    appended = [
        (5, data, data, ()),
        (5, None, data, ()),
        (5, b"k", data, (("h", data),)),
        (5, data, b"v", ()),
    ]
    expected = [
        (
            key if key is None else bytes(key),
            bytes(value),
            tuple((name, bytes(each)) for name, each in headers),
        )
        for _, key, value, headers in appended
    ]
    one_by_one = BatchBuilder()
    for record in appended:
        one_by_one.append(*record)
    for batch in (one_by_one.build(), encode_batch(appended)):
        assert [(each.key, each.value, each.headers) for each in decode_batch(batch)] == expected
    for record, one in zip(appended, expected, strict=True):
        [read] = decode_batch(encode_single(*record))
        assert (read.key, read.value, read.headers) == one


@pytest.mark.parametrize("data", [array("i", [1, 2, 3]), [1, 2], "text", 7], ids=repr)
def test_what_is_no_bytes_is_refused_and_leaves_nothing_behind(data):
    builder = BatchBuilder()
    builder.append(5, None, b"first")
    before = bytes(builder.build())
    for record in (
        (5, data, b"v", ()),
        (5, None, data, ()),
        (5, data, data, ()),
        (5, b"k", b"v", (("h", data),)),
    ):
        with pytest.raises(TypeError):
            encode_single(*record)
        with pytest.raises(TypeError):
            encode_batch([record])
        with pytest.raises(TypeError):
            builder.append(*record)
        assert builder.build() == before
