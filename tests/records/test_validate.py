import struct

import pytest

from distributedlog.records import (
    Compression,
    ControlType,
    CorruptBatchError,
    InvalidRecordError,
    build_control_batch,
    decode_batch,
    encode_batch,
    iterate_records,
    parse_header,
    validate_batch,
    validate_produced,
    validate_records,
    write_crc,
)

BATCH = bytes(encode_batch([(0, None, b"a", ()), (1, b"k", b"b", ()), (2, None, None, ())]))


def altered(batch=BATCH, **fields):
    """The batch with other header fields, and a CRC that fits them."""
    places = {
        "base_offset": (0, ">q"),
        "attributes": (21, ">h"),
        "last_offset_delta": (23, ">i"),
        "base_timestamp": (27, ">q"),
        "records_count": (57, ">i"),
    }
    batch = bytearray(batch)
    for name, value in fields.items():
        position, code = places[name]
        struct.pack_into(code, batch, position, value)
    write_crc(batch)
    return batch


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
@pytest.mark.parametrize("validate", [validate_batch, validate_records])
def test_a_sound_batch_gives_its_header(kind, validate):
    assert validate(kind(b"??" + BATCH + b"??"), 2) == parse_header(BATCH)


@pytest.mark.parametrize("validate", [validate_batch, validate_records, decode_batch])
def test_a_batch_cut_anywhere(validate):
    for size in range(len(BATCH)):
        with pytest.raises(CorruptBatchError):
            validate(BATCH[:size])


@pytest.mark.parametrize("validate", [validate_batch, validate_records, decode_batch])
def test_a_flipped_bit_anywhere_that_the_crc_covers(validate):
    for position in range(16, len(BATCH)):
        damaged = bytearray(BATCH)
        damaged[position] ^= 0x10
        with pytest.raises(CorruptBatchError):
            validate(damaged)


@pytest.mark.parametrize(
    "fields",
    [
        {"records_count": -1},
        {"records_count": 4},
        {"records_count": 2**31 - 1},
        {"records_count": 4, "last_offset_delta": 2**31 - 1},
        {"records_count": 2**31 - 1, "last_offset_delta": 2**31 - 1},
        {"last_offset_delta": -1},
        {"last_offset_delta": 1},
        {"base_offset": -1},
        {"base_offset": 2**63 - 2},
        {"attributes": 5},
        {"attributes": 7},
    ],
)
def test_headers_that_cannot_be_right(fields):
    with pytest.raises(CorruptBatchError):
        validate_batch(altered(**fields))
    with pytest.raises(CorruptBatchError):
        decode_batch(altered(**fields))


def test_only_a_look_at_the_records_shows_a_wrong_count():
    batch = altered(records_count=2)
    validate_batch(batch)
    with pytest.raises(CorruptBatchError, match="do not end where the batch ends"):
        validate_records(batch)


def test_a_compressed_batch_may_hold_more_records_than_bytes():
    batch = encode_batch(((0, None, b"", ()) for _ in range(5000)), compression=Compression.ZSTD)
    assert len(batch) < 5000
    assert validate_batch(batch).records_count == 5000
    assert validate_records(batch).records_count == 5000


def test_an_empty_batch_that_compaction_left():
    header_only = bytearray(BATCH[:61])
    struct.pack_into(">i", header_only, 8, 49)
    batch = altered(header_only, records_count=0, last_offset_delta=6, base_offset=100)
    header = validate_records(batch)
    assert (header.records_count, header.last_offset) == (0, 106)
    assert decode_batch(batch) == []
    assert list(iterate_records(bytes(batch) + BATCH)) == decode_batch(BATCH)


def test_offsets_with_gaps_after_compaction():
    batch = bytearray(BATCH[:61]) + b"".join(bytes([12, 0, 0, delta << 1, 1, 1, 0]) for delta in (1, 4, 9))
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    assert validate_records(altered(batch, last_offset_delta=20)).last_offset == 20
    decoded = decode_batch(altered(batch, last_offset_delta=20, base_offset=100))
    assert [record.offset for record in decoded] == [101, 104, 109]
    with pytest.raises(CorruptBatchError, match="behind the batch's last"):
        decode_batch(altered(batch, last_offset_delta=8))


@pytest.mark.parametrize("deltas", [(0, 0, 1), (0, 2, 1), (-1, 0, 1)])
def test_offsets_must_increase(deltas):
    batch = bytearray(BATCH[:61]) + b"".join(
        bytes([12, 0, 0, delta << 1 if delta >= 0 else 1, 1, 1, 0]) for delta in deltas
    )
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    with pytest.raises(CorruptBatchError, match="do not increase"):
        validate_records(altered(batch))


def test_records_above_the_cap():
    batch = encode_batch([(0, None, bytes(100_000), ())], compression=Compression.GZIP)
    validate_records(batch, decompressed_size_max=200_000)
    for refuse in (validate_records, decode_batch):
        with pytest.raises(CorruptBatchError, match="expands to more"):
            refuse(batch, decompressed_size_max=100_000)
    with pytest.raises(CorruptBatchError, match="expands to more"):
        list(iterate_records(batch, decompressed_size_max=100_000))


class TestWhatProducersMaySend:
    def test_a_plain_batch(self):
        validate_produced(parse_header(BATCH))

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"base_offset": 5}, "base offset 5"),
            ({"records_count": 2}, "2 records at 3 offsets"),
            ({"records_count": 0, "last_offset_delta": -1}, "0 records"),
            ({"records_count": 0}, "0 records"),
            ({"attributes": 0x20}, "control batch"),
            ({"attributes": 0x10}, "names no producer"),
        ],
    )
    def test_is_refused(self, fields, message):
        with pytest.raises(InvalidRecordError, match=message):
            validate_produced(parse_header(altered(**fields)))

    def test_markers_are_refused(self):
        marker = build_control_batch(ControlType.COMMIT, 0, producer_id=1, producer_epoch=0)
        with pytest.raises(InvalidRecordError, match="control batch"):
            validate_produced(parse_header(marker))

    @pytest.mark.parametrize(("producer_epoch", "base_sequence"), [(-1, 0), (0, -1)])
    def test_half_an_idempotent_producer_is_refused(self, producer_epoch, base_sequence):
        batch = encode_batch(
            [(0, None, b"", ())], producer_id=0, producer_epoch=producer_epoch, base_sequence=base_sequence
        )
        with pytest.raises(InvalidRecordError, match="producer 0"):
            validate_produced(parse_header(batch))
