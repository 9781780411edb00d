import pytest
from aiokafka.record.util import decode_varint as aiokafka_decode_varint
from aiokafka.record.util import encode_varint as aiokafka_encode_varint
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.varint import UNZIGZAG, VARINT, encode_varint, read_varint, read_varlong

int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (8191, "fe7f"),
        (8192, "808001"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
        (2**63 - 1, "feffffffffffffffff01"),
        (-(2**63), "ffffffffffffffffff01"),
    ],
)
def test_values_worked_out_by_hand(value, encoded):
    assert encode_varint(value).hex() == encoded
    assert read_varlong(bytes.fromhex(encoded), 0) == (value, len(encoded) // 2)


@given(int32)
def test_int32_comes_back(value):
    encoded = encode_varint(value)
    assert len(encoded) <= 5
    assert read_varint(b"?" + encoded + b"?", 1) == (value, 1 + len(encoded))


@given(int64)
def test_int64_comes_back(value):
    encoded = encode_varint(value)
    assert len(encoded) <= 10
    assert read_varlong(b"?" + encoded + b"?", 1) == (value, 1 + len(encoded))


@given(int64)
def test_agrees_with_aiokafka(value):
    theirs = bytearray()
    aiokafka_encode_varint(value, theirs.append)
    assert encode_varint(value) == theirs
    assert aiokafka_decode_varint(encode_varint(value)) == (value, len(theirs))


def test_tables_hold_what_the_functions_say():
    assert len(VARINT) == 8192
    assert all(encoded == encode_varint(number) for number, encoded in enumerate(VARINT))
    assert all(UNZIGZAG[byte] == read_varint(bytes([byte]), 0)[0] for byte in range(128))
    assert len(UNZIGZAG) == 128


@pytest.mark.parametrize("encoded", ["8080808080", "808080808000", "ffffffff7f", "8080808010"])
def test_more_than_an_int32_is_refused(encoded):
    with pytest.raises(CorruptBatchError):
        read_varint(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("encoded", ["80" * 10, "80" * 10 + "00", "ff" * 9 + "02", "ff" * 30])
def test_more_than_an_int64_is_refused(encoded):
    with pytest.raises(CorruptBatchError):
        read_varlong(bytes.fromhex(encoded), 0)


@pytest.mark.parametrize("read", [read_varint, read_varlong])
@pytest.mark.parametrize("encoded", ["", "80", "ffff"])
def test_the_end_of_the_data_is_an_index_error(read, encoded):
    with pytest.raises(IndexError):
        read(bytes.fromhex(encoded), 0)
