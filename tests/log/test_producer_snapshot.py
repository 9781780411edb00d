import struct

import pytest
from crc32c import crc32c
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.errors import CorruptLog
from distributedlog.log.producer_entry import BatchMetadata, ProducerStateEntry
from distributedlog.log.producer_snapshot import decode_snapshot, encode_snapshot


def facts(entry):
    return {name: getattr(entry, name) for name in ProducerStateEntry.__slots__}


def test_golden_bytes():
    in_transaction = ProducerStateEntry(
        7,
        producer_epoch=2,
        coordinator_epoch=5,
        last_timestamp=1000,
        current_txn_first_offset=90,
        batches=[BatchMetadata(0, 9, 80, 89, 900), BatchMetadata(10, 19, 90, 99, 1000)],
    )
    after_a_marker = ProducerStateEntry(256, producer_epoch=1, coordinator_epoch=6, last_timestamp=1001)
    entries = bytes.fromhex(
        "00000002"
        "0000000000000007" "0002" "00000013" "0000000000000063" "00000009" "00000000000003e8" "00000005"
        "000000000000005a"
        "0000000000000100" "0001" "ffffffff" "ffffffffffffffff" "00000000" "00000000000003e9" "00000006"
        "ffffffffffffffff"
    )  # fmt: skip
    golden = bytes.fromhex("0001") + crc32c(entries).to_bytes(4, "big") + entries
    assert encode_snapshot([in_transaction, after_a_marker]) == golden
    assert len(golden) == 10 + 2 * 46

    first, second = decode_snapshot("p", golden)
    assert first.batches == [BatchMetadata(10, 19, 90, 99, 1000)], "of the batches, the newest"
    assert (first.last_sequence, first.current_txn_first_offset) == (19, 90)
    assert facts(second) == facts(after_a_marker)


def test_empty_snapshot():
    assert encode_snapshot([]) == bytes.fromhex("0001" "48674bc7" "00000000")  # fmt: skip
    assert decode_snapshot("p", encode_snapshot([])) == []


int64s, int32s = st.integers(0, 2**63 - 1), st.integers(0, 2**31 - 1)


@st.composite
def entries(draw):
    batches = []
    timestamp = draw(int64s)
    if draw(st.booleans()):
        delta, last_sequence = draw(int32s), draw(st.integers(-1, 2**31 - 1))
        last_offset = draw(st.integers(delta, 2**63 - 1))
        first_sequence = -1 if last_sequence < 0 else (last_sequence - delta) % 2**31
        batches = [BatchMetadata(first_sequence, last_sequence, last_offset - delta, last_offset, timestamp)]
    return ProducerStateEntry(
        draw(int64s),
        producer_epoch=draw(st.integers(-1, 2**15 - 1)),
        coordinator_epoch=draw(st.integers(-1, 2**31 - 1)),
        last_timestamp=timestamp,
        current_txn_first_offset=draw(st.integers(-1, 2**63 - 1)),
        batches=batches,
    )


@given(st.lists(entries(), max_size=5))
def test_round_trip(entries):
    decoded = decode_snapshot("p", encode_snapshot(entries))
    assert [facts(entry) for entry in decoded] == [facts(entry) for entry in entries]


@given(st.lists(entries(), max_size=3), st.data())
def test_any_flipped_bit_or_lost_byte_is_noticed(entries, data):
    whole = encode_snapshot(entries)
    bit = data.draw(st.integers(0, len(whole) * 8 - 1))
    flipped = bytearray(whole)
    flipped[bit // 8] ^= 1 << bit % 8
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    for damaged in (bytes(flipped), cut, whole + b"\0"):
        with pytest.raises(CorruptLog):
            decode_snapshot("p", damaged)


def signed(version, body):
    return struct.pack(">hI", version, crc32c(body)) + body


@pytest.mark.parametrize(
    ("data", "position", "words"),
    [
        (b"", 0, "header"),
        (signed(2, b"\0\0\0\0"), 0, "version 2"),
        (b"\0\1" + bytes(8), 6, "CRC32C"),
        (signed(1, b"\0\0\0\1"), 6, "1 entries"),
        (signed(1, b"\x7f\xff\xff\xff" + bytes(46)), 6, "2147483647 entries"),
        (signed(1, b"\xff\xff\xff\xff"), 6, "-1 entries"),
    ],
)
def test_damage_is_named(data, position, words):
    with pytest.raises(CorruptLog, match=words) as caught:
        decode_snapshot("p", data)
    assert (caught.value.path, caught.value.position) == ("p", position)
