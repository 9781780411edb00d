"""Some records of a batch: the same as all of them, and then chosen."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.records import Compression, CorruptBatchError, decode_batch, encode_batch, parse_header
from distributedlog.records.batches import write_crc
from distributedlog.records.compaction import Treatment
from distributedlog.records.compaction_python import PythonCompactor
from distributedlog.records.seeking import decode_range, find_timestamp_in_batch

RECORDS = st.lists(
    st.tuples(
        st.integers(-1, 2**40),
        st.sampled_from([None, b"", b"a", b"b", b"k" * 200]),
        st.sampled_from([None, b"", b"v", b"w" * 300, b"x" * 20_000]),
        st.sampled_from([(), (("h", b"1"),), (("h", None), ("i", b"z" * 100))]),
    ),
    min_size=1,
    max_size=30,
)


def thinned(batch):
    """The batch as compaction leaves it: the last record of each key, at its offset."""
    compactor = PythonCompactor(1 << 20, bytes(16))
    compactor.map_keys(batch, [True], 0)
    return bytes(compactor.compact(batch, [Treatment.KEEP_EMPTY], 0).batches)


@given(RECORDS, st.sampled_from(list(Compression)), st.booleans(), st.integers(0, 40), st.integers(0, 40))
def test_a_range_is_what_a_whole_decoding_has_of_it(records, compression, thin, start, end):
    batch = bytes(encode_batch(records, compression=compression, base_offset=5))
    if thin:
        batch = thinned(batch)
    expected = [tuple(record) for record in decode_batch(batch) if start <= record.offset < end]
    assert decode_range(batch, 0, parse_header(batch), start, end) == expected


@given(RECORDS, st.booleans(), st.integers(-1, 2**40), st.integers(0, 40), st.integers(0, 40))
def test_a_timestamp_is_found_where_a_whole_decoding_finds_it(records, thin, timestamp, start, end):
    batch = bytes(encode_batch(records, base_offset=5))
    if thin:
        batch = thinned(batch)
    expected = next(
        (
            (record.timestamp, record.offset)
            for record in decode_batch(batch)
            if record.timestamp >= timestamp and start <= record.offset < end
        ),
        None,
    )
    assert find_timestamp_in_batch(batch, 0, parse_header(batch), timestamp, start, end) == expected


@given(RECORDS, st.data())
def test_a_damaged_inside_gives_records_or_the_one_error(records, data):
    batch = encode_batch(records)
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(61, len(batch) - 1))] = data.draw(st.integers(0, 255))
    write_crc(batch)
    batch = bytes(batch)
    start, end = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 30))
    try:
        for offset, *_ in decode_range(batch, 0, parse_header(batch), start, end):
            assert start <= offset < end
    except CorruptBatchError:
        pass
    with suppress(CorruptBatchError):
        find_timestamp_in_batch(batch, 0, parse_header(batch), 10, start, end)


def test_lengths_that_lead_out_of_the_batch_are_damage():
    batch = encode_batch([(0, None, b"v", ()), (0, None, b"w", ())])
    batch[61] = 0x7E  # the first record claims 63 bytes
    write_crc(batch)
    batch = bytes(batch)
    with pytest.raises(CorruptBatchError):
        decode_range(batch, 0, parse_header(batch), 1, 2)
    with pytest.raises(CorruptBatchError):
        find_timestamp_in_batch(batch, 0, parse_header(batch), 10, 0, 2)
