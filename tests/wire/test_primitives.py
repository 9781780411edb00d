"""Varints beyond one byte, and the caches behind arrays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.wire import EncodeError, ProtocolError
from distributedlog.wire.primitives import (
    PACK_ARRAYS,
    UNPACK_ARRAYS,
    VARINTS,
    ArrayStructs,
    long_text_varint,
    long_varint,
    read_varint,
    skip_tags,
)


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, "00"), (127, "7f"), (128, "8001"), (16383, "ff7f"), (16384, "808001"), (2**32 - 1, "ffffffff0f")],
)
def test_a_varint_has_seven_bits_in_each_byte_and_the_low_ones_first(value, data):
    assert long_varint(value) == bytes.fromhex(data)
    if value < 128:
        assert VARINTS[value] == bytes.fromhex(data)


@given(st.integers(128, 2**32 - 1), st.binary(max_size=3))
def test_a_varint_comes_back_and_stops_where_it_ends(value, rest):
    data = long_varint(value)
    assert read_varint(data + rest, 1, data[0]) == (value, len(data))


def test_a_varint_longer_than_it_need_be_is_read_as_kafka_reads_it():
    assert read_varint(bytes.fromhex("80808000"), 1, 0x80) == (0, 4)


@pytest.mark.parametrize("data", ["ffffffff10", "8080808080", "ffffffffff01"])
def test_a_varint_of_more_than_32_bits_is_refused(data):
    with pytest.raises(ProtocolError, match="longer than 32 bits"):
        read_varint(bytes.fromhex(data), 1, int(data[:2], 16))


def test_a_section_of_many_tags_is_skipped():
    data = b"".join(long_varint(tag) + b"\x01x" for tag in range(200))
    count = long_varint(200)
    assert skip_tags(count + data, 1, count[0]) == len(count) + len(data)


def test_text_lengths_end_at_kafkas_limit():
    assert long_text_varint(32768) == long_varint(32768)
    with pytest.raises(EncodeError, match="32768 bytes, 32767 are allowed"):
        long_text_varint(32769)


@given(st.lists(st.integers(-(2**31), 2**31 - 1), max_size=300))
def test_arrays_of_numbers_come_back(numbers):
    data = PACK_ARRAYS["i"][len(numbers)](*numbers)
    assert list(UNPACK_ARRAYS["i"][len(numbers)](data, 0)) == numbers


def test_only_the_functions_of_short_arrays_are_kept():
    structs = ArrayStructs("i", "pack")
    for count in (0, 256, 257, 10_000):
        assert len(structs[count](*range(count))) == 4 * count
    assert sorted(structs) == [0, 256]
