"""Records of one shape are taken by columns: with the same outcome as one by one, whatever the bytes say."""

import random

import pytest

from distributedlog.records import CorruptBatchError, decode_batch, encode_batch
from distributedlog.records import decoding as decoding_module
from distributedlog.records.decoding_runs import RUN_RECORDS_MIN, find_run
from distributedlog.records.header import ATTRIBUTES_POSITION, HEADER_SIZE, TIMESTAMP_TYPE_BIT

TIMESTAMP = 1_700_000_000_000


@pytest.fixture
def runs(monkeypatch):
    """How many records each run had that was looked for, 0 where there was none."""
    counts = []

    def counting(*arguments):
        run = find_run(*arguments)
        counts.append(0 if run is None else run.records_count)
        return run

    monkeypatch.setattr(decoding_module, "find_run", counting)
    return counts


@pytest.fixture
def one_by_one(monkeypatch):
    def decode(batch):
        with monkeypatch.context() as patched:
            patched.setattr(decoding_module, "find_run", lambda *_: None)
            return outcome(batch)

    return decode


def outcome(batch):
    try:
        return decode_batch(batch, check_crc=False)
    except CorruptBatchError as error:
        return str(error)


def alike(count, key=None, value=bytes(90), every_ms=0.1):
    return [(TIMESTAMP + int(index * every_ms), key, value, ()) for index in range(count)]


@pytest.mark.parametrize(
    ("records", "taken_by_columns"),
    [
        (alike(160), 156),  # two were decoded before it was seen that they are alike, twice
        (alike(160, key=b"k" * 8, value=b"v"), 156),
        (alike(160, key=b"", value=None), 156),
        (alike(160, value=b"", every_ms=-0.1), 156),
        (alike(100, every_ms=80), 95),  # the first has a shorter time delta
        (alike(9000, value=b"12345678"), 8186),  # three shapes, and then offset deltas of three bytes
        (alike(RUN_RECORDS_MIN + 1), 0),
        (alike(20, value=bytes(range(200))), 18),
    ],
)
def test_what_is_alike_is_taken_by_columns(runs, records, taken_by_columns):
    decoded = decode_batch(bytes(encode_batch(records)))
    assert [tuple(record[1:]) for record in decoded] == records
    assert [record.offset for record in decoded] == list(range(len(records)))
    assert sum(runs) == taken_by_columns


def test_the_last_of_a_run_may_be_the_last_of_the_batch(runs):
    for count in range(1, 40):
        assert len(decode_batch(bytes(encode_batch(alike(count))))) == count
    assert max(runs) > RUN_RECORDS_MIN


def test_looking_for_runs_where_there_are_none_is_given_up(runs):
    """Pairs of records that are alike: each second one could begin a run."""
    records = [(TIMESTAMP, None, bytes(10 + index // 2 % 5), ()) for index in range(4000)]
    assert [record.value for record in decode_batch(bytes(encode_batch(records)))] == [r[2] for r in records]
    assert sum(runs) == 0
    assert len(runs) < 20


def test_a_batch_of_the_logs_own_time(runs):
    batch = bytearray(encode_batch(alike(50)))
    batch[ATTRIBUTES_POSITION + 1] |= TIMESTAMP_TYPE_BIT
    latest = TIMESTAMP + 4
    assert {record.timestamp for record in decode_batch(bytes(batch), check_crc=False)} == {latest}
    assert sum(runs) == 48


def random_records(rng):
    value = rng.randbytes(rng.choice((0, 1, 5, 70, 130)))
    key = rng.choice((None, b"", rng.randbytes(3), rng.randbytes(70)))
    every_ms = rng.choice((0, 0.1, 1, 50, 10_000, -1))
    records = alike(rng.randrange(1, 150), key, value, every_ms)
    for _ in range(rng.randrange(3)):
        index = rng.randrange(len(records))
        other = rng.choice(((TIMESTAMP, None, b"other", ()), (TIMESTAMP, key, value, (("name", b"x"),))))
        records[index] = other
    return records


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_damage_is_found_as_one_by_one(seed, one_by_one, fuzz_cases):
    rng = random.Random(seed)
    sound = damaged = 0
    for _ in range(fuzz_cases(400) // 20):
        batch = bytearray(encode_batch(random_records(rng)))
        assert outcome(bytes(batch)) == one_by_one(bytes(batch))
        for _ in range(20):
            mutated = bytearray(batch)
            for _ in range(rng.choice((1, 1, 2, 5))):
                mutated[rng.randrange(HEADER_SIZE, len(batch))] = rng.choice(
                    (0, 1, 2, 127, 128, 255, rng.randrange(256))
                )
            ours, theirs = outcome(bytes(mutated)), one_by_one(bytes(mutated))
            assert ours == theirs, f"seed {seed}: {bytes(mutated).hex()}"
            sound, damaged = sound + isinstance(ours, list), damaged + isinstance(ours, str)
    assert sound
    assert damaged
