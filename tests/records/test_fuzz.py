"""Batches damaged at random: records or a RecordsError come out, nothing else, and in bounded memory."""

import random
import struct
import tracemalloc

import pytest

from distributedlog.records import (
    Compression,
    ControlType,
    RecordsError,
    build_control_batch,
    compress,
    decode_batch,
    decompress,
    encode_batch,
    iterate_batches,
    iterate_records,
    parse_control_record,
    parse_header,
    set_log_append_time,
    validate_batch,
    validate_produced,
    validate_records,
    write_crc,
)

CAP = 2**18
SHARDS = 4
INTERESTING = [
    0,
    1,
    -1,
    2,
    7,
    63,
    64,
    127,
    128,
    255,
    2**15 - 1,
    2**31 - 1,
    -(2**31),
    2**62,
    2**63 - 1,
    -(2**63),
]
HEADER_FIELDS = [
    (0, "q"),
    (8, "i"),
    (16, "b"),
    (21, "h"),
    (23, "i"),
    (27, "q"),
    (35, "q"),
    (43, "q"),
    (57, "i"),
]


def sound_batches():
    rows = [
        [(0, None, None, ())],
        [(1_700_000_000_000 + index, None, b"v" * index, ()) for index in range(12)],
        [(5, b"key", b"value", [("header", b"x"), ("é", None)]), (1, b"", b"", [("", b"")])],
        [(index * 10_000, b"k" * 70, b"v" * 200, ()) for index in range(3)],
        [(-1, None, b"same" * 300, ())],
    ]
    batches = [encode_batch(row, compression=codec) for row in rows for codec in Compression]
    batches.append(build_control_batch(ControlType.COMMIT, 0, producer_id=1, producer_epoch=1))
    batches.append(
        encode_batch(rows[1], producer_id=9, producer_epoch=1, base_sequence=0, is_transactional=True)
    )
    batches.append(encode_batch(rows[1]))
    set_log_append_time(batches[-1], 0, 77)
    batches.append(encode_batch(rows[1]) + encode_batch(rows[2], base_offset=12))
    return batches


BATCHES = sound_batches()


def damage(source, generator):
    """A copy of a sound buffer with one to four mutations."""
    batch = bytearray(source)
    for _ in range(generator.randint(1, 4)):
        place = generator.randrange(len(batch) + 1)
        match generator.randrange(8):
            case 0 if batch:
                batch[place - 1] ^= 1 << generator.randrange(8)
            case 1 if batch:
                batch[place - 1] = generator.choice([0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF])
            case 2:
                del batch[place:]
            case 3:
                del batch[place : place + generator.randint(1, 9)]
            case 4:
                batch[place:place] = generator.randbytes(generator.randint(1, 9))
            case 5:
                batch[place : place + 5] = b"\xff" * generator.randint(1, 12)
            case 6:
                other = generator.choice(BATCHES)
                batch[place:] = other[generator.randrange(len(other)) :]
            case 7:
                position, code = generator.choice(HEADER_FIELDS)
                if position + struct.calcsize(code) <= len(batch):
                    bits = 8 * struct.calcsize(code)
                    value = generator.choice(INTERESTING)
                    value = (value + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1)
                    struct.pack_into(">" + code, batch, position, value)
    return batch


def mend(batch):
    """Make magic, length and CRC right again, so that what lies behind them is reached."""
    if len(batch) >= 61:
        batch[16] = 2
        struct.pack_into(">i", batch, 8, len(batch) - 12)
        write_crc(batch)


def outcome(function, *arguments, **options):
    """What the function gives, or the RecordsError class it raises; anything else fails the test."""
    try:
        return function(*arguments, **options)
    except RecordsError as error:
        return type(error)


def check(batch):
    """Whether the batch was taken as sound, after every entrance has been tried and agrees with it."""
    header = outcome(validate_records, batch, decompressed_size_max=CAP)
    decoded = outcome(decode_batch, bytes(batch), decompressed_size_max=CAP)
    outcome(lambda: list(iterate_batches(batch)))
    outcome(lambda: list(iterate_records(batch, 3, decompressed_size_max=CAP)))
    outcome(lambda: list(iterate_records(batch, check_crc=False, decompressed_size_max=CAP)))
    sound = outcome(validate_batch, batch)
    if isinstance(header, type):
        return False
    assert sound == header == parse_header(batch)
    assert len(decoded) == header.records_count
    offsets = [record.offset for record in decoded]
    assert offsets == sorted(set(offsets))
    assert all(header.base_offset <= offset <= header.last_offset for offset in offsets)
    for record in decoded:
        assert -(2**63) <= record.timestamp < 2**63
        assert record.key is None or type(record.key) is bytes
        assert record.value is None or type(record.value) is bytes
        assert all(type(key) is str for key, _ in record.headers)
        if header.is_control:
            outcome(parse_control_record, record)
    outcome(validate_produced, header)
    return True


@pytest.mark.fuzz
@pytest.mark.parametrize("shard", range(SHARDS))
def test_damaged_batches(shard, fuzz_cases):
    taken = 0
    cases = fuzz_cases(60_000) // SHARDS
    for case in range(cases):
        seed = shard << 40 | case
        generator = random.Random(seed)
        batch = damage(generator.choice(BATCHES), generator)
        mended = generator.random() < 0.5
        if mended:
            mend(batch)
        try:
            taken += check(batch)
        except Exception as error:
            error.add_note(f"seed {seed}, mended: {mended}, batch: {batch.hex()}")
            raise
    # Were it none, the mending would not work any more; were it nearly all, the damage.
    assert cases < 1000 or 0.02 * cases < taken < 0.5 * cases


@pytest.mark.fuzz
@pytest.mark.parametrize("codec", list(Compression)[1:])
def test_damaged_compressed_data(codec, fuzz_cases):
    content = b"".join(b"%d" % (number * number) for number in range(500))
    sound = compress(codec, content)
    for seed in range(fuzz_cases(60_000) // 20):
        generator = random.Random(seed)
        damaged = damage(sound, generator)
        try:
            result = outcome(decompress, codec, damaged, CAP)
            assert isinstance(result, type) or len(result) <= CAP
        except Exception as error:
            error.add_note(f"seed {seed}, data: {damaged.hex()}")
            raise


def test_memory_is_bounded_by_the_batch_and_the_cap():
    tracemalloc.start()
    try:
        for seed in range(300):
            generator = random.Random(seed)
            batch = damage(generator.choice(BATCHES), generator)
            mend(batch)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            check(batch)
            assert tracemalloc.get_traced_memory()[1] - before < 4 * CAP + 100 * len(batch), f"seed {seed}"
    finally:
        tracemalloc.stop()
