import pytest
from crc32c import crc32c

from distributedlog.records import (
    CorruptBatchError,
    TimestampType,
    decode_batch,
    encode_batch,
    iterate_batches,
    parse_header,
    patch_base_offset,
    set_log_append_time,
    validate_batch,
    verify_crc,
)

FIRST = encode_batch([(10, None, b"a", ()), (11, b"k", b"b", ())])
SECOND = encode_batch([(12, None, b"c" * 100, ())], base_offset=2)
THIRD = encode_batch([(13, b"k", None, ())], base_offset=3)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_walk(kind):
    buffer = kind(FIRST + SECOND + THIRD)
    walked = list(iterate_batches(buffer))
    assert [position for position, _ in walked] == [0, len(FIRST), len(FIRST) + len(SECOND)]
    assert [header.base_offset for _, header in walked] == [0, 2, 3]
    assert list(iterate_batches(buffer, len(FIRST))) == walked[1:]


def test_a_partial_batch_at_the_end_is_left_out_wherever_it_is_cut():
    whole = FIRST + SECOND
    for cut in range(len(FIRST), len(whole)):
        assert [header.size for _, header in iterate_batches(whole[:cut])] == [len(FIRST)]
    assert len(list(iterate_batches(whole))) == 2


def test_an_empty_buffer_has_no_batches():
    assert list(iterate_batches(b"")) == []


def test_a_length_of_zero_does_not_walk_for_ever():
    damaged = FIRST + SECOND
    damaged[len(FIRST) + 8 : len(FIRST) + 12] = bytes(4)
    walk = iterate_batches(damaged)
    next(walk)
    with pytest.raises(CorruptBatchError, match=f"position {len(FIRST)}"):
        next(walk)


def test_placing_a_batch_leaves_its_crc_right():
    buffer = bytearray(b"12345") + FIRST
    before = parse_header(buffer, 5)
    patch_base_offset(memoryview(buffer), 5, 2**62, 77)
    header = validate_batch(buffer, 5)
    assert (header.base_offset, header.partition_leader_epoch) == (2**62, 77)
    assert (header.crc, header.batch_length) == (before.crc, before.batch_length)
    assert buffer[:5] == b"12345"
    assert [record.offset for record in decode_batch(buffer, 5)] == [2**62, 2**62 + 1]


def test_log_append_time():
    buffer = bytearray(b"12345") + FIRST + SECOND
    set_log_append_time(buffer, 5, 999)
    header = validate_batch(buffer, 5)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.max_timestamp == 999
    assert header.base_timestamp == 10
    assert header.crc == crc32c(buffer[5 + 21 : 5 + len(FIRST)])
    assert [record.timestamp for record in decode_batch(buffer, 5)] == [999, 999]
    assert buffer[5 + len(FIRST) :] == SECOND


def test_log_append_time_keeps_the_other_attributes():
    batch = encode_batch([(1, None, b"v", ())], producer_id=5, producer_epoch=0, is_transactional=True)
    set_log_append_time(memoryview(batch), 0, 2)
    assert validate_batch(batch).is_transactional


def test_every_flipped_bit_behind_the_crc_is_noticed():
    header = parse_header(FIRST)
    verify_crc(FIRST, 0, header)
    for position in range(21, len(FIRST)):
        for bit in range(8):
            damaged = bytearray(FIRST)
            damaged[position] ^= 1 << bit
            with pytest.raises(CorruptBatchError, match="CRC"):
                verify_crc(damaged, 0, header)
