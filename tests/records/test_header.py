import struct

import pytest

from distributedlog.records import (
    HEADER,
    HEADER_SIZE,
    LOG_OVERHEAD,
    BatchHeader,
    Compression,
    CorruptBatchError,
    RecordsError,
    TimestampType,
    parse_header,
)
from distributedlog.records import header as header_module

# Put together field by field from the format's description.
GOLDEN = bytes.fromhex(
    "0000000000000102"  # base offset 258
    "00000040"  # batch length 64
    "00000007"  # partition leader epoch
    "02"  # magic
    "cafebabe"  # CRC, wrong
    "001c"  # attributes: transactional, log append time, zstd
    "00000002"  # last offset delta
    "0000018bcfe56800"  # base timestamp 1700000000000
    "0000018bcfe56805"  # max timestamp
    "000000000000002a"  # producer id
    "0003"  # producer epoch
    "7ffffffe"  # base sequence
    "00000003"  # records count
)


def make_header(**fields):
    values = {
        "base_offset": 0,
        "batch_length": 49,
        "partition_leader_epoch": -1,
        "magic": 2,
        "crc": 0,
        "attributes": 0,
        "last_offset_delta": 0,
        "base_timestamp": 0,
        "max_timestamp": 0,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": -1,
        "records_count": 1,
    }
    return BatchHeader(**(values | fields))


def test_a_header_written_by_hand():
    assert len(GOLDEN) == HEADER_SIZE == HEADER.size == 61
    assert LOG_OVERHEAD == 12
    header = parse_header(GOLDEN)
    assert header == BatchHeader(
        258, 64, 7, 2, 0xCAFEBABE, 0x1C, 2, 1_700_000_000_000, 1_700_000_000_005, 42, 3, 2**31 - 2, 3
    )
    assert header.size == 76
    assert header.last_offset == 260
    assert header.next_offset == 261
    assert header.compression is Compression.ZSTD
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert header.is_transactional
    assert not header.is_control
    assert header.delete_horizon_ms is None


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_header_is_found_at_its_position_in_any_buffer(kind):
    assert parse_header(kind(b"\xff" * 9 + GOLDEN + b"\xff"), 9) == parse_header(GOLDEN)


@pytest.mark.parametrize(
    ("position", "code", "field"),
    [
        (header_module.BASE_OFFSET_POSITION, "q", "base_offset"),
        (header_module.BATCH_LENGTH_POSITION, "i", "batch_length"),
        (header_module.LEADER_EPOCH_POSITION, "i", "partition_leader_epoch"),
        (header_module.MAGIC_POSITION, "b", "magic"),
        (header_module.CRC_POSITION, "I", "crc"),
        (header_module.ATTRIBUTES_POSITION, "h", "attributes"),
        (header_module.LAST_OFFSET_DELTA_POSITION, "i", "last_offset_delta"),
        (header_module.BASE_TIMESTAMP_POSITION, "q", "base_timestamp"),
        (header_module.MAX_TIMESTAMP_POSITION, "q", "max_timestamp"),
        (header_module.PRODUCER_ID_POSITION, "q", "producer_id"),
        (header_module.PRODUCER_EPOCH_POSITION, "h", "producer_epoch"),
        (header_module.BASE_SEQUENCE_POSITION, "i", "base_sequence"),
        (header_module.RECORDS_COUNT_POSITION, "i", "records_count"),
    ],
)
def test_positions_of_the_fields(position, code, field):
    assert struct.unpack_from(">" + code, GOLDEN, position)[0] == getattr(parse_header(GOLDEN), field)


@pytest.mark.parametrize(
    ("base_sequence", "last_offset_delta", "last_sequence"),
    [
        (0, 0, 0),
        (5, 9, 14),
        (2**31 - 1, 0, 2**31 - 1),
        (2**31 - 1, 1, 0),
        (2**31 - 2, 5, 3),
        (-1, 7, -1),
    ],
)
def test_sequences_wrap_to_zero(base_sequence, last_offset_delta, last_sequence):
    header = make_header(base_sequence=base_sequence, last_offset_delta=last_offset_delta)
    assert header.last_sequence == last_sequence


def test_attributes():
    assert [make_header(attributes=codec).compression for codec in range(5)] == list(Compression)
    assert make_header(attributes=0x20).is_control
    assert not make_header(attributes=0x10).is_control
    assert make_header(attributes=0x10).is_transactional
    assert not make_header(attributes=0x20).is_transactional
    assert make_header(attributes=0x37).timestamp_type is TimestampType.CREATE_TIME
    assert make_header(attributes=0x40, base_timestamp=99).delete_horizon_ms == 99


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_compression_is_no_value_error_of_the_enum(codec):
    with pytest.raises(CorruptBatchError, match=f"compression {codec}"):
        _ = make_header(attributes=codec).compression


@pytest.mark.parametrize("size", [0, 1, 16, 17, 60])
def test_too_few_bytes(size):
    with pytest.raises(CorruptBatchError, match=f"{size} bytes at position 3"):
        parse_header(b"abc" + GOLDEN[:size], 3)


def test_a_position_behind_the_end():
    with pytest.raises(CorruptBatchError, match="0 bytes"):
        parse_header(GOLDEN, 1000)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [17, 34, 61])
def test_old_formats_are_named(magic, size):
    old = bytearray(GOLDEN[:size])
    old[16] = magic
    with pytest.raises(CorruptBatchError, match=f"magic {magic}.*before Kafka 0.11"):
        parse_header(old)
    with pytest.raises(CorruptBatchError, match=f"magic {magic}"):
        parse_header(memoryview(old))


@pytest.mark.parametrize(("byte", "magic"), [(3, 3), (127, 127), (255, -1), (128, -128)])
def test_other_magics_are_refused(byte, magic):
    other = bytearray(GOLDEN)
    other[16] = byte
    with pytest.raises(CorruptBatchError, match=f"magic {magic};"):
        parse_header(other)


@pytest.mark.parametrize("length", [48, 0, -1, -(2**31)])
def test_a_length_that_cannot_hold_the_header(length):
    damaged = bytearray(GOLDEN)
    struct.pack_into(">i", damaged, 8, length)
    with pytest.raises(CorruptBatchError, match=f"{length} bytes long"):
        parse_header(damaged)


def test_errors_are_value_errors():
    assert issubclass(CorruptBatchError, RecordsError)
    assert issubclass(RecordsError, ValueError)
