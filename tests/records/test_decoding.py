import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.records import (
    ControlType,
    CorruptBatchError,
    Record,
    build_control_batch,
    decode_batch,
    encode_batch,
    iterate_records,
    set_log_append_time,
    write_crc,
)
from distributedlog.records.varint import encode_varint

NULL = b"\x01"


def batch_of(*records, count=None, base_timestamp=1000, last_offset_delta=1000):
    """A batch of records given as raw bytes, whose CRC is right whatever else is wrong."""
    batch = encode_batch([(base_timestamp, None, b"", ())])[:61] + b"".join(records)
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 23, last_offset_delta)
    struct.pack_into(">i", batch, 57, len(records) if count is None else count)
    write_crc(batch)
    return batch


def record(body, length=None):
    return encode_varint(len(body) if length is None else length) + body


def body(timestamp=b"\0", offset=b"\0", key=NULL, value=NULL, headers=b"\0", attributes=b"\0"):
    return attributes + timestamp + offset + key + value + headers


def test_a_record_written_by_hand():
    raw = bytes.fromhex(
        "32"  # length 25
        "00"  # attributes
        "0f"  # timestamp delta -8
        "06"  # offset delta 3
        "04" "6b31"  # key "k1"
        "06" "76616c"  # value "val"
        "06"  # three headers
        "02" "61" "02" "62"  # a = b
        "00" "01"  # the empty key = null
        "04" "c3a9" "00"  # é = nothing
    )  # fmt: skip
    raw = record(raw[1:])
    assert decode_batch(batch_of(raw)) == [
        Record(3, 992, b"k1", b"val", (("a", b"b"), ("", None), ("é", b"")))
    ]


def test_attributes_of_a_record_mean_nothing():
    assert decode_batch(batch_of(record(body(attributes=b"\xff")))) == [Record(0, 1000, None, None)]


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (record(body(), length=5), "do not end where their lengths say"),
        (record(body(), length=7), "do not end where their lengths say"),
        (record(body(), length=0), "do not end where their lengths say"),
        (record(body(), length=-1), "do not end where their lengths say"),
        (record(body(), length=-7), "do not end where their lengths say"),
        (record(body(), length=2**31 - 1), "do not end where their lengths say"),
        (record(body(key=b"\x03")), "key of negative length"),
        (record(body(key=b"\xff\x7f")), "key of negative length"),
        (record(body(value=b"\x03")), "value of negative length"),
        (record(body(value=b"\x81\x01")), "value of negative length"),
        (record(body(value=b"\xff\xff\xff\xff\x0f")), "value of negative length"),
        (record(body(headers=b"\x01")), "-1 headers"),
        (record(body(headers=b"\x02\x01\x00")), "header's key has a negative length"),
        (record(body(headers=b"\x02\x00\x03")), "header's value has a negative length"),
        (record(body(key=encode_varint(100))), "too early"),
        (record(body(key=encode_varint(2**31 - 1))), "too early"),
        (record(body(value=encode_varint(100))), "too early"),
        (record(body(value=encode_varint(2**31 - 1))), "too early"),
        (record(body(headers=encode_varint(2**31 - 1))), "too early"),
        (record(body(headers=b"\x02" + encode_varint(2**31 - 1))), "too early"),
        (record(body(headers=b"\x02\x00" + encode_varint(2**31 - 1))), "do not end where"),
        (record(body(offset=b"\x01")), "do not increase"),
        (record(body(offset=encode_varint(1001))), "behind the batch's last"),
        (record(body(offset=b"\xff" * 6)), "longer than 5 bytes"),
        (record(body(timestamp=b"\xff" * 11)), "longer than 10 bytes"),
        (b"\x80" * 10, "longer than 5 bytes"),
        (record(body()) + b"\0", "do not end where the batch ends"),
        (record(body()) + b"\0" * 500, "do not end where the batch ends"),
    ],
)
def test_hostile_records(broken, message):
    with pytest.raises(CorruptBatchError, match=message):
        decode_batch(batch_of(broken))
    # with another batch behind it, into which a length may reach
    with pytest.raises(CorruptBatchError):
        list(iterate_records(batch_of(broken) + batch_of(record(body(value=b"\x7e" + bytes(63))))))


def test_a_record_may_not_reach_into_the_next_batch():
    follower = batch_of(record(body()), last_offset_delta=0)
    reaching = record(body(value=encode_varint(len(follower))))
    with pytest.raises(CorruptBatchError):
        list(iterate_records(batch_of(reaching) + follower + bytes(50)))


@pytest.mark.parametrize("count", [2, 1000, 2**31 - 1])
def test_fewer_records_than_the_count_says(count):
    with pytest.raises(CorruptBatchError, match=r"says it has|too early"):
        decode_batch(batch_of(record(body()), count=count, last_offset_delta=2**31 - 1))


@pytest.mark.parametrize(
    ("base_timestamp", "delta"), [(2**63 - 1, 1), (-(2**63), -1), (2**63 - 1, 8000), (1, 2**63 - 1)]
)
def test_timestamps_of_more_than_64_bits(base_timestamp, delta):
    batch = batch_of(record(body(timestamp=encode_varint(delta))), base_timestamp=base_timestamp)
    with pytest.raises(CorruptBatchError, match="more than 64 bits"):
        decode_batch(batch)


@pytest.mark.parametrize(
    ("base_timestamp", "delta"), [(2**63 - 1, 0), (2**63 - 2, 1), (-(2**63), 0), (-1, -(2**63) + 1)]
)
def test_timestamps_at_the_border(base_timestamp, delta):
    batch = batch_of(record(body(timestamp=encode_varint(delta))), base_timestamp=base_timestamp)
    assert decode_batch(batch)[0].timestamp == base_timestamp + delta


def test_a_header_key_that_is_not_utf8_does_not_stop_the_reader():
    broken = record(body(headers=b"\x02\x04\xff\x61\x01"))
    assert decode_batch(batch_of(broken))[0].headers == (("\N{REPLACEMENT CHARACTER}a", None),)


@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=5), st.integers(0, 2**62))
def test_log_append_time_goes_before_the_records_own(timestamps, append_time):
    batch = encode_batch([(timestamp, None, b"", ()) for timestamp in timestamps])
    set_log_append_time(batch, 0, append_time)
    assert {record.timestamp for record in decode_batch(batch)} == {append_time}


class TestIterateRecords:
    first = encode_batch([(0, None, b"0", ()), (0, None, b"1", ())])
    marker = build_control_batch(ControlType.ABORT, 0, producer_id=1, producer_epoch=0, base_offset=2)
    second = encode_batch([(0, None, b"3", ()), (0, None, b"4", ())], base_offset=3)

    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_from_any_offset(self, kind):
        buffer = kind(self.first + self.marker + self.second)
        for start in range(7):
            expected = [offset for offset in (0, 1, 3, 4) if offset >= start]
            assert [record.offset for record in iterate_records(buffer, start)] == expected

    def test_a_partial_batch_is_left_out(self):
        whole = self.first + self.second
        for cut in range(len(self.first), len(whole)):
            assert len(list(iterate_records(whole[:cut]))) == 2

    def test_a_damaged_batch_stops_it_when_its_turn_comes(self):
        damaged = self.first + self.second
        damaged[-1] ^= 1
        records = iterate_records(damaged)
        assert [next(records).value, next(records).value] == [b"0", b"1"]
        with pytest.raises(CorruptBatchError, match=f"position {len(self.first)}, offset 3"):
            next(records)

    def test_the_crc_may_be_left_unchecked(self):
        damaged = bytearray(self.first)
        damaged[17] ^= 1
        assert len(list(iterate_records(damaged, check_crc=False))) == 2
        assert len(decode_batch(damaged, check_crc=False)) == 2
        with pytest.raises(CorruptBatchError, match="CRC"):
            list(iterate_records(damaged))

    def test_the_buffer_may_be_used_again_at_once(self):
        buffer = bytearray(self.first)
        records = iterate_records(buffer)
        buffer[:] = bytes(len(buffer))
        assert [record.value for record in records] == [b"0", b"1"]


def test_records_are_tuples_with_names():
    (only,) = decode_batch(encode_batch([(7, b"k", b"v", [("h", b"x")])], base_offset=5))
    assert type(only) is Record
    assert only == (5, 7, b"k", b"v", (("h", b"x"),))
    assert (only.offset, only.timestamp, only.key, only.value) == (5, 7, b"k", b"v")
    assert only.headers == (("h", b"x"),)
    with pytest.raises(AttributeError):
        only.value = b"other"
