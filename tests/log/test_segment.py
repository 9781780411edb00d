"""One segment: where index entries stand, what is believed of them, what is found through them."""

import os
import struct

import pytest

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES
from distributedlog.log.segment import Segment
from distributedlog.log.segment_files import rename_to_deleted
from partition_files import batch

T0 = 1_700_000_000_000
BASE = 100
SIZE = 113
VALUE = bytes(SIZE - len(batch(BASE, [b""])))


def new_segment(directory, base_offset=BASE, **options):
    options = {"index_interval_bytes": 100} | options
    segment = Segment(REAL_FILES, directory, base_offset, **options)
    segment.create()
    return segment


def opened(directory, **options):
    options = {"index_interval_bytes": 100} | options
    return Segment(REAL_FILES, directory, BASE, **options)


def append(segment, timestamp=T0, offset=None, records=1):
    """One batch of ``SIZE`` bytes (for one record), at the segment's end."""
    if offset is None:
        offset = max((at.last_offset for at in segment.batches()), default=segment.base_offset - 1) + 1
    data = batch(offset, [VALUE] * records, timestamp=timestamp)
    segment.write(data, len(data))
    segment.note_batch(len(data), offset + records - 1, timestamp + records - 1)
    return data


@pytest.fixture
def segment(tmp_path):
    return new_segment(tmp_path)


def index_entries(directory, base_offset=BASE):
    offsets = (directory / f"{base_offset:020}.index").read_bytes()
    times = (directory / f"{base_offset:020}.timeindex").read_bytes()
    return list(struct.iter_unpack(">ii", offsets)), list(struct.iter_unpack(">qi", times))


def test_files_are_named_by_the_base_offset_in_twenty_digits(tmp_path):
    segment = new_segment(tmp_path, 12345)
    append(segment)
    segment.seal()
    assert sorted(os.listdir(tmp_path)) == [
        "00000000000000012345.index",
        "00000000000000012345.log",
        "00000000000000012345.timeindex",
    ]


def test_a_batch_is_indexed_when_more_than_the_interval_lies_before_it(segment, tmp_path):
    """Batches of 113 bytes, an interval of 300: the fourth is the first with more than that before it."""
    segment.index_interval_bytes = 300
    assert len(append(segment)) == SIZE
    for number in range(1, 8):
        append(segment, T0 + number)
    segment.seal()
    assert index_entries(tmp_path) == (
        [(3, 3 * SIZE), (6, 6 * SIZE)],
        [(T0 + 3, 3), (T0 + 6, 6), (T0 + 7, 7)],
    )
    assert (tmp_path / f"{BASE:020}.index").read_bytes() == bytes.fromhex(
        "00000003 00000153 00000006 000002a6"
    )


def test_no_entry_for_exactly_the_interval(segment, tmp_path):
    segment.index_interval_bytes = 226
    for _ in range(4):
        append(segment)
    segment.seal()
    assert index_entries(tmp_path)[0] == [(3, 3 * SIZE)]


def test_an_entry_names_the_last_offset_of_its_batch(segment, tmp_path):
    append(segment, records=5)
    append(segment, records=7)
    segment.seal()
    assert [relative for relative, _ in index_entries(tmp_path)[0]] == [11]


def test_the_time_index_holds_the_running_maximum(segment, tmp_path):
    """Time goes back at the third batch: no new entry until it has passed the old maximum."""
    for timestamp in (5, 9, 3, 9, 10):
        append(segment, T0 + timestamp)
    segment.seal()
    offsets, times = index_entries(tmp_path)
    assert [relative for relative, _ in offsets] == [1, 2, 3, 4]
    assert times == [(T0 + 9, 1), (T0 + 10, 4)]


def test_records_without_timestamps_leave_the_time_index_empty(segment, tmp_path):
    for _ in range(4):
        append(segment, -1)
    segment.seal()
    offsets, times = index_entries(tmp_path)
    assert len(offsets) == 3
    assert times == []
    assert segment.max_timestamp == -1


@pytest.fixture
def filled(tmp_path):
    """Ten batches from offset 100 on, one second apart, sealed and closed."""
    segment = new_segment(tmp_path)
    for number in range(10):
        append(segment, T0 + 1000 * number)
    segment.seal()
    segment.close()
    return tmp_path


@pytest.fixture
def rebuilds(monkeypatch):
    """How often indexes were made anew."""
    counted = []
    original = Segment.rebuild_indexes
    monkeypatch.setattr(
        Segment, "rebuild_indexes", lambda self: (counted.append(self.base_offset), original(self))
    )
    return counted


def test_a_sound_index_is_believed(filled, rebuilds):
    segment = opened(filled)
    assert segment.find(105).base_offset == 105
    assert segment.max_timestamp == T0 + 9000
    assert rebuilds == []


def change(path, change_bytes):
    path.write_bytes(change_bytes(path.read_bytes()))


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        (".index", lambda data: b""),
        (".index", lambda data: data[:-8]),
        (".index", lambda data: data[:-3]),
        (".index", lambda data: bytes(len(data))),
        (".index", lambda data: data[:-1] + b"\x01"),
        (".index", lambda data: data[:-8] + struct.pack(">ii", 8, 9 * SIZE)),
        (".index", lambda data: data + struct.pack(">ii", 12, 12 * SIZE)),
        (".index", lambda data: data + struct.pack(">ii", 12, -1)),
        (".timeindex", lambda data: b""),
        (".timeindex", lambda data: data[:-5]),
        (".timeindex", lambda data: bytes(len(data))),
        (".timeindex", lambda data: data[:-12] + struct.pack(">qi", T0 + 9001, 9)),
        (".timeindex", lambda data: data[:-12] + struct.pack(">qi", T0 + 9000, 8)),
        (".timeindex", lambda data: data[:-12] + struct.pack(">qi", T0 + 9000, -1)),
        (".timeindex", lambda data: data + struct.pack(">qi", T0 + 9999, 77)),
    ],
)
def test_a_damaged_index_is_made_anew_and_kept(filled, rebuilds, suffix, damage):
    sound = index_entries(filled)
    change(filled / f"{BASE:020}{suffix}", damage)
    segment = opened(filled)
    for offset in range(100, 110):
        assert segment.find(offset).base_offset == offset
    assert segment.find_by_timestamp(T0 + 8500, BASE).base_offset == 109
    assert rebuilds == [BASE]
    segment.close()
    assert index_entries(filled) == sound
    assert opened(filled).find(105).base_offset == 105
    assert rebuilds == [BASE]


def test_a_missing_index_is_made_anew(filled, rebuilds):
    sound = index_entries(filled)
    (filled / f"{BASE:020}.index").unlink()
    (filled / f"{BASE:020}.timeindex").unlink()
    assert opened(filled).find(109).position == 9 * SIZE
    assert rebuilds == [BASE]
    assert index_entries(filled) == sound


def test_a_reader_makes_indexes_anew_in_memory_only(filled):
    change(filled / f"{BASE:020}.index", lambda data: data[:-8])
    segment = opened(filled, writable=False)
    assert segment.find(109).position == 9 * SIZE
    assert (filled / f"{BASE:020}.index").stat().st_size == 8 * 8


def test_appends_go_on_where_the_index_stopped(filled):
    segment = opened(filled)
    segment.activate()
    append(segment, T0 + 10_000)
    append(segment, T0 + 11_000)
    segment.seal()
    offsets, times = index_entries(filled)
    assert offsets == [(number, number * SIZE) for number in range(1, 12)]
    assert times == [(T0 + 1000 * number, number) for number in range(1, 12)]


def test_find_gives_the_batch_that_holds_an_offset_or_the_next(segment):
    append(segment, offset=103, records=4)
    append(segment, offset=120, records=2)
    assert segment.find(100).base_offset == 103
    assert segment.find(106).base_offset == 103
    assert segment.find(107).base_offset == 120
    assert segment.find(121).base_offset == 120
    assert segment.find(122) is None


def test_find_reads_no_more_than_lies_between_two_index_entries(filled, monkeypatch):
    segment = opened(filled)
    assert segment.find(108) is not None
    reads = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: (reads.append(at), pread(fd, size, at))[1])
    assert segment.find(107).position == 7 * SIZE
    assert reads == [7 * SIZE]


def test_find_names_the_place_where_no_batch_is(filled):
    segment = opened(filled)
    assert segment.find(105) is not None
    with open(filled / f"{BASE:020}.log", "r+b") as file:
        file.seek(5 * SIZE + 16)
        file.write(b"\x01")
    with pytest.raises(CorruptLog, match=f"{BASE:020}.log is damaged at byte {5 * SIZE}"):
        segment.find(105)


def test_a_look_up_by_time_takes_the_first_batch_whatever_comes_later(segment):
    for timestamp in (50, 70, 20, 70, 90):
        append(segment, T0 + timestamp)
    find = segment.find_by_timestamp
    assert find(T0, BASE).base_offset == 100
    assert find(T0 + 50, BASE).base_offset == 100
    assert find(T0 + 51, BASE).base_offset == 101
    assert find(T0 + 71, BASE).base_offset == 104
    assert find(T0 + 60, 102).base_offset == 103
    assert find(T0 + 91, BASE) is None
    assert find(T0, 105) is None


@pytest.mark.parametrize("kept", range(11))
def test_a_cut_takes_what_the_indexes_say_of_it(filled, rebuilds, kept):
    segment = opened(filled)
    segment.activate()
    segment.truncate(kept * SIZE, BASE + kept)
    assert segment.size == (filled / f"{BASE:020}.log").stat().st_size == kept * SIZE
    assert segment.max_timestamp == (T0 + 1000 * (kept - 1) if kept else -1)
    for number in range(kept, 10):
        append(segment, T0 + 500 + 1000 * number)
    segment.seal()
    segment.close()
    again = opened(filled)
    for offset in range(100, 110):
        assert again.find(offset).position == (offset - 100) * SIZE
    assert rebuilds == []


def test_recovery_stops_at_the_first_unsound_batch_and_indexes_what_is_before(filled):
    with open(filled / f"{BASE:020}.log", "r+b") as file:
        file.seek(6 * SIZE + 80)
        file.write(b"!")
    segment = opened(filled)
    seen = []
    scan_end = segment.recover(seen.append)
    assert scan_end.position == 6 * SIZE
    assert "CRC" in scan_end.reason
    assert [at.base_offset for at in seen] == list(range(100, 106))
    segment.truncate(scan_end.position, 106)
    segment.seal()
    assert index_entries(filled)[0] == [(number, number * SIZE) for number in range(1, 6)]


def test_what_relative_offsets_can_say(segment):
    assert segment.can_hold(BASE + 2**31 - 1)
    assert not segment.can_hold(BASE + 2**31)


def test_the_index_is_full_one_entry_before_its_last(tmp_path):
    """Of 60 bytes: five entries of the time index, the last of which is for the seal."""
    segment = new_segment(tmp_path, index_bytes_max=60)
    for number in range(4):
        append(segment, T0 + number)
        assert not segment.is_index_full()
    append(segment, T0 + 4)
    assert segment.is_index_full()


def test_a_region_outlives_its_segment(segment):
    """A consumer may be slow: what it was given stays readable, deleted or closed."""
    data = append(segment)
    region = segment.region(0, len(data))
    for path in rename_to_deleted(REAL_FILES, segment.directory, segment.base_offset):
        path.unlink()
    segment.close()
    assert region.read() == data
    fd = region.fileno()
    del region
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_closed_segment_opens_again_on_use(filled):
    segment = opened(filled)
    assert segment.find(104).base_offset == 104
    segment.close()
    assert segment.find(105).base_offset == 105


def test_a_torn_write_is_cut_back_to_the_last_batch(segment, tmp_path):
    first = append(segment)
    segment.write(b"half of a batch", 15)
    segment.cut_torn_write()
    second = append(segment)
    assert (tmp_path / f"{BASE:020}.log").read_bytes() == first + second


def test_the_log_of_a_segment_that_is_gone_needs_no_sync(filled):
    segment = opened(filled)
    for path in rename_to_deleted(REAL_FILES, segment.directory, segment.base_offset):
        path.unlink()
    segment.sync_log()
    segment.sync_indexes()
    assert os.listdir(filled) == []


def test_a_follower_sees_whole_batches_only(tmp_path):
    writer = new_segment(tmp_path)
    append(writer)
    follower = opened(tmp_path, writable=False)
    follower.begin_following()
    assert follower.follow(BASE) == 101
    data = batch(101, [b"x"])
    writer.write(data[:-1], len(data) - 1)
    assert follower.follow(101) == 101
    writer.write(data, len(data))
    assert follower.follow(101) == 102
    assert follower.find(101).base_offset == 101
