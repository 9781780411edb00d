"""Finding in a log: whole batches up to a bound, and times exact to the record."""

import pytest

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES
from distributedlog.log.reading import find_max_timestamp, find_timestamp, read_region
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.records import BatchBuilder, Compression, set_log_append_time, write_crc
from partition_files import batch

T0 = 1_700_000_000_000


def timed(base_offset, timestamps, compression=Compression.NONE, leader_epoch=0):
    builder = BatchBuilder(compression)
    for timestamp in timestamps:
        builder.append(T0 + timestamp, None, b"v" * 50)
    return bytes(builder.build(base_offset, leader_epoch))


def log_of(directory, *segments):
    """Segments as lists of batches; each begins where its first batch does."""
    opened = []
    for batches in segments:
        base_offset = int.from_bytes(batches[0][:8])
        (directory / f"{base_offset:020}.log").write_bytes(b"".join(batches))
        opened.append(Segment(REAL_FILES, directory, base_offset, index_interval_bytes=0))
    return SegmentList(opened)


def read(segments, offset, upper_offset, bytes_max=1 << 20, at_least_one_batch=True):
    region = read_region(segments, offset, upper_offset, bytes_max, at_least_one_batch=at_least_one_batch)
    return None if region is None else region.read()


@pytest.fixture
def batches():
    return [batch(0, [b"a"] * 3), batch(3, [b"b"] * 3), batch(6, [b"c"] * 3), batch(9, [b"d"] * 3)]


@pytest.fixture
def segments(tmp_path, batches):
    return log_of(tmp_path, batches[:3], batches[3:])


def test_a_read_begins_with_the_batch_that_holds_the_offset(segments, batches):
    for offset in (3, 4, 5):
        assert read(segments, offset, 12) == batches[1] + batches[2]


def test_a_read_stays_within_one_segment(segments, batches):
    assert read(segments, 0, 12) == b"".join(batches[:3])
    assert read(segments, 9, 12) == batches[3]


@pytest.mark.parametrize(
    ("upper_offset", "count"), [(9, 3), (8, 2), (7, 2), (6, 2), (5, 1), (3, 1), (2, 0), (1, 0)]
)
def test_only_batches_wholly_below_the_bound_are_read(segments, batches, upper_offset, count):
    assert read(segments, 0, upper_offset) == (b"".join(batches[:count]) or None)


def test_the_last_batch_of_a_read_may_be_cut(segments, batches):
    size = len(batches[0]) + 10
    assert read(segments, 0, 12, bytes_max=size) == (batches[0] + batches[1])[:size]


def test_a_first_batch_beyond_the_limit_is_given_all_the_same(segments, batches):
    """KIP-74: a consumer must not be stuck at a batch larger than its limit."""
    assert read(segments, 4, 12, bytes_max=1) == batches[1]
    assert read(segments, 4, 12, bytes_max=0) == batches[1]
    assert read(segments, 4, 12, bytes_max=len(batches[1]) - 1, at_least_one_batch=False) is None
    assert read(segments, 4, 12, bytes_max=len(batches[1]), at_least_one_batch=False) == batches[1]


def test_a_read_in_a_gap_begins_with_the_next_batch(tmp_path):
    batches = [batch(0, [b"a"] * 3), batch(7, [b"b"]), batch(20, [b"c"])]
    segments = log_of(tmp_path, batches[:2], batches[2:])
    assert read(segments, 4, 21) == batches[1]
    assert read(segments, 9, 21) == batches[2]
    assert read(segments, 9, 15) is None
    assert read(segments, 0, 5) == batches[0]


@pytest.mark.parametrize("codec", Compression)
def test_a_time_is_exact_to_the_record_in_batches_of_every_codec(tmp_path, codec):
    segments = log_of(
        tmp_path,
        [timed(0, [0, 10, 20], codec), timed(3, [30, 40], codec)],
        [timed(5, [50, 60], codec, leader_epoch=3)],
    )
    assert find_timestamp(segments, T0 - 5, 0, 7) == (T0, 0, 0)
    assert find_timestamp(segments, T0 + 11, 0, 7) == (T0 + 20, 2, 0)
    assert find_timestamp(segments, T0 + 40, 0, 7) == (T0 + 40, 4, 0)
    assert find_timestamp(segments, T0 + 41, 0, 7) == (T0 + 50, 5, 3)
    assert find_timestamp(segments, T0 + 61, 0, 7) is None


def test_times_may_go_back(tmp_path):
    """The first record by offset counts, whatever stands behind it."""
    segments = log_of(tmp_path, [timed(0, [50, 10]), timed(2, [20, 90])], [timed(4, [5, 70]), timed(6, [95])])
    assert find_timestamp(segments, T0 + 15, 0, 7) == (T0 + 50, 0, 0)
    assert find_timestamp(segments, T0 + 15, 1, 7) == (T0 + 20, 2, 0)
    assert find_timestamp(segments, T0 + 60, 0, 7) == (T0 + 90, 3, 0)
    assert find_timestamp(segments, T0 + 60, 4, 7) == (T0 + 70, 5, 0)
    assert find_timestamp(segments, T0 + 91, 0, 7) == (T0 + 95, 6, 0)


def test_a_time_is_looked_for_between_the_bounds_only(tmp_path):
    segments = log_of(tmp_path, [timed(0, [10, 20, 30]), timed(3, [40, 50, 60])])
    assert find_timestamp(segments, T0, 2, 6) == (T0 + 30, 2, 0)
    assert find_timestamp(segments, T0 + 45, 0, 4) is None
    assert find_timestamp(segments, T0 + 45, 0, 5) == (T0 + 50, 4, 0)
    assert find_timestamp(segments, T0 + 45, 0, 3) is None


def test_a_header_that_promises_more_than_its_records_hold_is_passed(tmp_path):
    """Compaction may take the youngest record of a batch and leave the header as it was."""
    thinned = bytearray(timed(0, [10]))
    thinned[23:27] = (1).to_bytes(4)  # last offset delta
    thinned[35:43] = (T0 + 99).to_bytes(8)  # max timestamp
    write_crc(thinned)
    segments = log_of(tmp_path, [bytes(thinned), timed(2, [100])])
    assert find_timestamp(segments, T0 + 50, 0, 3) == (T0 + 100, 2, 0)


def test_records_of_log_append_time_have_the_time_of_their_batch(tmp_path):
    stamped = bytearray(timed(0, [10, 20, 30]))
    set_log_append_time(stamped, 0, T0 + 500)
    segments = log_of(tmp_path, [bytes(stamped)])
    assert find_timestamp(segments, T0 + 31, 0, 3) == (T0 + 500, 0, 0)
    assert find_timestamp(segments, T0 + 31, 1, 3) == (T0 + 500, 1, 0)
    assert find_max_timestamp(segments, 0, 3) == (T0 + 500, 0, 0)


def test_of_the_records_that_share_the_largest_time_the_first_is_given(tmp_path):
    segments = log_of(
        tmp_path, [timed(0, [10, 90, 20])], [timed(3, [90, 90], leader_epoch=1)], [timed(5, [80])]
    )
    assert find_max_timestamp(segments, 0, 6) == (T0 + 90, 1, 0)
    assert find_max_timestamp(segments, 2, 6) == (T0 + 90, 3, 1)
    assert find_max_timestamp(segments, 4, 6) == (T0 + 90, 4, 1)
    assert find_max_timestamp(segments, 5, 6) == (T0 + 80, 5, 0)


def test_the_largest_time_counts_between_the_bounds_only(tmp_path):
    """A header speaks for the whole batch; the bounds may cut it."""
    segments = log_of(tmp_path, [timed(0, [90, 10, 20]), timed(3, [30, 80, 15, 85])])
    assert find_max_timestamp(segments, 1, 7) == (T0 + 85, 6, 0)
    assert find_max_timestamp(segments, 1, 6) == (T0 + 80, 4, 0)
    assert find_max_timestamp(segments, 1, 4) == (T0 + 30, 3, 0)
    assert find_max_timestamp(segments, 1, 3) == (T0 + 20, 2, 0)
    assert find_max_timestamp(segments, 1, 1) is None


def test_a_damaged_batch_is_named_with_its_file_and_place(tmp_path):
    good = timed(0, [10])
    bad = bytearray(timed(1, [20]))
    bad[-3] ^= 0xFF
    segments = log_of(tmp_path, [good, bytes(bad)])
    with pytest.raises(CorruptLog, match=rf"{0:020}\.log is damaged at byte {len(good)}"):
        find_timestamp(segments, T0 + 15, 0, 2)
    with pytest.raises(CorruptLog):
        find_max_timestamp(segments, 0, 2)
