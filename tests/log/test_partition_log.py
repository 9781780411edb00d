"""One partition's log, case by case; `model/test_partition_log.py` goes through their combinations."""

import os

import pytest

from distributedlog.log import REAL_FILES, AppendOrigin, LogConfig, open_partition_log
from distributedlog.log.errors import (
    InvalidConfig,
    InvalidRecord,
    InvalidTimestamp,
    LogClosed,
    OffsetOutOfRange,
    RecordTooLarge,
)
from distributedlog.log.offset_journal import OffsetKind
from distributedlog.log.truncation import truncate_fully_and_start_at, truncate_to
from distributedlog.records import (
    Compression,
    CorruptBatchError,
    decode_batch,
    iterate_records,
    parse_header,
    write_crc,
)
from partition_files import batch, marker

NOW_MS = 1_700_000_000_000
NEVER_EXPIRES_MS = 2**62


def open_log(directory, *, was_clean=True, recovery_point=0, log_start_offset=0, now_ms=NOW_MS, **config):
    config = {"index_interval_bytes": 0} | config
    log, _ = open_partition_log(
        REAL_FILES,
        directory,
        LogConfig(**config),
        was_clean=was_clean,
        now_ms=now_ms,
        recovery_point=recovery_point,
        log_start_offset=log_start_offset,
        producer_id_expiration_ms=NEVER_EXPIRES_MS,
    )
    return log


@pytest.fixture
def log(tmp_path):
    log = open_log(tmp_path)
    yield log
    log.abandon()


def produced(count=3, timestamp=NOW_MS, **options):
    return batch(0, [b"v" * 20] * count, timestamp=timestamp, **options)


def append(log, *batches, now_ms=NOW_MS, **options):
    return log.append(b"".join(batches or [produced()]), now_ms=now_ms, **options)


def bases(log):
    return [segment.base_offset for segment in log.segments]


# -- appending ----------------------------------------------------------------------------------------


def test_batches_get_their_offsets_and_the_leader_epoch(log):
    append(log, produced(3), leader_epoch=5)
    result = append(log, produced(2), produced(4), leader_epoch=6)
    assert (result.first_offset, result.last_offset) == (3, 8)
    data = log.read(3, 10_000).read()
    headers = [parse_header(data), parse_header(data, parse_header(data).size)]
    assert [(header.base_offset, header.partition_leader_epoch) for header in headers] == [(3, 6), (5, 6)]
    assert [record.offset for record in decode_batch(data)] == [3, 4]


def test_a_writable_buffer_is_patched_in_place_and_bytes_are_copied(log):
    writable = bytearray(produced())
    unchanged = produced()
    append(log)
    log.append(writable, leader_epoch=1, now_ms=NOW_MS)
    assert parse_header(writable).base_offset == 3
    log.append(unchanged, leader_epoch=1, now_ms=NOW_MS)
    log.append(memoryview(unchanged), leader_epoch=1, now_ms=NOW_MS)
    assert parse_header(unchanged).base_offset == 0
    assert log.log_end_offset == 12


def damaged(position, value):
    data = bytearray(produced())
    data[position] = value
    return bytes(data)


def miscounted(count):
    data = bytearray(produced())
    data[57:61] = count.to_bytes(4, signed=True)
    write_crc(data)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", CorruptBatchError),
        (produced()[:60], CorruptBatchError),
        (produced()[:-1], CorruptBatchError),
        (produced() + b"\0", CorruptBatchError),
        (damaged(16, 1), CorruptBatchError),
        (damaged(80, 0), CorruptBatchError),
        (produced() + damaged(80, 0), CorruptBatchError),
        (produced() + miscounted(2), InvalidRecord),
        (miscounted(0), InvalidRecord),
        (miscounted(-1), InvalidRecord),
        (miscounted(4), InvalidRecord),
    ],
)
def test_what_is_refused_leaves_the_log_as_it_was(log, data, error):
    append(log)
    before = (log.segments.active.path(".log").read_bytes(), log.log_end_offset, log.leader_epochs.entries)
    with pytest.raises(error):
        log.append(data, leader_epoch=9, now_ms=NOW_MS)
    assert before == (
        log.segments.active.path(".log").read_bytes(),
        log.log_end_offset,
        log.leader_epochs.entries,
    )
    assert append(log).first_offset == 3


def test_batches_are_limited_in_size_each_for_itself(tmp_path):
    size = len(produced())
    log = open_log(tmp_path, max_message_bytes=size)
    append(log, produced(), produced())
    with pytest.raises(RecordTooLarge) as caught:
        append(log, produced(), produced(4))
    assert caught.value.max_message_bytes == size
    assert log.log_end_offset == 6
    log.abandon()


def test_what_no_segment_can_hold_is_refused_by_leaders_and_followers_alike(tmp_path):
    """Else a follower could never fetch what its leader has taken."""
    size = len(produced())
    log = open_log(tmp_path, segment_bytes=size - 1)
    with pytest.raises(RecordTooLarge):
        append(log)
    with pytest.raises(RecordTooLarge):
        log.append_as_follower(produced(), now_ms=NOW_MS)
    log.abandon()


def test_create_times_must_lie_within_bounds_of_the_clock(tmp_path):
    log = open_log(tmp_path, message_timestamp_before_max_ms=1000, message_timestamp_after_max_ms=2000)
    append(log, produced(1, NOW_MS - 1000))
    append(log, produced(1, NOW_MS + 2000))
    with pytest.raises(InvalidTimestamp):
        append(log, produced(1, NOW_MS - 1001))
    with pytest.raises(InvalidTimestamp):
        append(log, produced(1, NOW_MS + 2001))
    log.abandon()


@pytest.mark.parametrize("codec", Compression)
def test_log_append_time_overrides_what_producers_say(tmp_path, codec):
    log = open_log(
        tmp_path,
        message_timestamp_type="LogAppendTime",
        message_timestamp_before_max_ms=0,
        message_timestamp_after_max_ms=0,
    )
    result = append(log, produced(2, 5, compression=codec), now_ms=NOW_MS + 9)
    assert result.log_append_time_ms == NOW_MS + 9
    records = decode_batch(log.read(0, 10_000).read())
    assert [record.timestamp for record in records] == [NOW_MS + 9] * 2
    assert log.offset_for_timestamp(NOW_MS) == (NOW_MS + 9, 0, 0)
    log.abandon()


def test_a_follower_takes_offsets_and_epochs_as_they_are(tmp_path):
    log = open_log(tmp_path)
    log.append_as_follower(
        batch(3, [b"a"], leader_epoch=2) + batch(10, [b"b"] * 2, leader_epoch=4), now_ms=NOW_MS
    )
    assert log.log_end_offset == 12
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(2, 3), (4, 10)]
    with pytest.raises(InvalidRecord, match="offset 11 where 12"):
        log.append_as_follower(batch(11, [b"c"]), now_ms=NOW_MS)
    for second in (12, 13):
        with pytest.raises(InvalidRecord, match="14 or more"):
            log.append_as_follower(batch(12, [b"c"] * 2) + batch(second, [b"d"]), now_ms=NOW_MS)
    assert log.log_end_offset == 12
    log.abandon()


# -- rolling ------------------------------------------------------------------------------------------


def test_a_segment_is_as_large_as_it_may_be_and_not_larger(tmp_path):
    size = len(produced())
    log = open_log(tmp_path, segment_bytes=2 * size)
    for _ in range(5):
        append(log)
    assert bases(log) == [0, 6, 12]
    log.abandon()


def test_the_age_of_a_segment_counts_in_record_time_from_its_first_batch(tmp_path):
    log = open_log(tmp_path, segment_ms=1000)
    append(log, produced(1, NOW_MS - 5000))
    append(log, produced(1, NOW_MS - 4000), now_ms=NOW_MS + 10**9)
    assert bases(log) == [0]
    append(log, produced(1, NOW_MS - 3999))
    assert bases(log) == [0, 2]
    append(log, produced(1, NOW_MS - 2999))
    assert bases(log) == [0, 2]
    log.close()
    log = open_log(tmp_path, segment_ms=1000)
    append(log, produced(1, NOW_MS - 2998))
    assert bases(log) == [0, 2, 4]
    log.abandon()


def test_without_record_times_the_clock_counts(tmp_path):
    log = open_log(tmp_path, segment_ms=1000)
    append(log, batch(0, [b"v"], timestamp=-1))
    append(log, batch(0, [b"v"], timestamp=-1), now_ms=NOW_MS + 1000)
    assert bases(log) == [0]
    append(log, batch(0, [b"v"], timestamp=-1), now_ms=NOW_MS + 1001)
    assert bases(log) == [0, 2]
    log.abandon()


def test_a_full_index_ends_its_segment(tmp_path):
    log = open_log(tmp_path, segment_index_bytes=48)
    for _ in range(8):
        append(log, produced(1))
    assert bases(log) == [0, 4]
    log.abandon()


def test_a_segment_ends_before_its_relative_offsets_overflow(tmp_path):
    log = open_log(tmp_path, log_start_offset=7, cleanup_policy=("compact",))
    append(log, produced(1))
    log.append_as_follower(batch(7 + 2**31 - 2, [b"v"] * 2), now_ms=NOW_MS)
    assert bases(log) == [7]
    append(log, produced(1))
    assert bases(log) == [7, 7 + 2**31]
    assert log.read(7 + 2**31 - 1, 10_000) is not None
    log.close()
    log = open_log(tmp_path, cleanup_policy=("compact",))
    assert log.log_end_offset == 7 + 2**31 + 1
    log.abandon()


def test_the_active_segment_is_rolled_by_hand_unless_it_is_empty(log):
    append(log)
    log.roll(NOW_MS)
    log.roll(NOW_MS)
    assert bases(log) == [0, 3]


def test_behind_a_gap_wider_than_a_segment_the_snapshot_stands_where_the_next_begins(tmp_path):
    """So that it outlives the segments before it, and with it the producers who wrote there."""
    log = open_log(tmp_path, cleanup_policy=("compact", "delete"), retention_bytes=0)
    append(log, produced(1, producer_id=7, producer_epoch=0, base_sequence=0))
    far = 2**31 + 50
    log.append_as_follower(batch(far, [b"v"]), now_ms=NOW_MS)
    log.advance_high_watermark(log.log_end_offset)
    assert bases(log) == [0, far]
    assert log.snapshots.offsets() == [far]
    log.remove_files(log.delete_old_segments(NOW_MS, roll_expired=False))
    assert bases(log) == [far]
    log.abandon()
    log = open_log(tmp_path, was_clean=False, recovery_point=far, cleanup_policy=("compact", "delete"))
    assert log.producer_states.entry(7).last_sequence == 0
    log.abandon()


# -- flushing -----------------------------------------------------------------------------------------


def test_what_is_flushed_is_what_was_appended_when_the_job_was_made(log):
    append(log)
    job = log.begin_flush()
    append(log)
    job.run()
    assert log.recovery_point == 0
    log.complete_flush(job)
    assert log.recovery_point == 3
    log.flush()
    assert log.recovery_point == 6
    assert log.begin_flush() is None


def test_records_that_took_the_place_of_flushed_ones_are_not_flushed(log):
    """The job synced offsets 0 to 5; those that are 3 to 5 now, it never saw."""
    append(log)
    append(log)
    job = log.begin_flush()
    job.run()
    truncate_to(log, 3, NOW_MS)
    append(log)
    log.complete_flush(job)
    assert log.recovery_point <= 3
    log.flush()
    assert log.recovery_point == 6


def test_a_job_outlives_the_segments_that_a_truncation_takes(tmp_path):
    log = open_log(tmp_path)
    append(log)
    log.roll(NOW_MS)
    append(log)
    log.roll(NOW_MS)
    log.close()
    log = open_log(tmp_path)
    append(log)
    job = log.begin_flush()
    truncate_to(log, 2, NOW_MS)
    job.run()
    log.complete_flush(job)
    assert log.recovery_point == 0
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".log")) == [f"{0:020}.log"]
    log.abandon()


def test_the_recovery_point_is_noted_once_for_every_segment(tmp_path):
    log = open_log(tmp_path, segment_bytes=2 * len(produced()))
    noted = []
    log.note_offset = lambda *change: noted.append(change)
    for _ in range(5):
        append(log)
        log.flush()
    assert [offset for kind, offset, _ in noted if kind is OffsetKind.RECOVERY_POINT] == [9, 15]
    log.abandon()


# -- what readers may see -----------------------------------------------------------------------------


def test_the_high_watermark_never_steps_back_and_never_past_the_end(log):
    append(log)
    for offset, expected in ((2, 2), (1, 2), (99, 3)):
        log.advance_high_watermark(offset)
        assert log.high_watermark == expected


def transactional(producer_id, sequence=0):
    return produced(
        2, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, is_transactional=True
    )


def test_the_last_stable_offset_is_where_the_oldest_undecided_transaction_begins(log):
    append(log)
    append(log, transactional(7))
    append(log, transactional(8))
    log.advance_high_watermark(7)
    assert log.last_stable_offset == 3
    append(log, marker(0, 7, 1), origin=AppendOrigin.COORDINATOR)
    assert log.last_stable_offset == 3  # the marker is not replicated yet
    log.advance_high_watermark(8)
    assert log.last_stable_offset == 5
    append(log, marker(0, 8, 0), origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(9)
    assert log.last_stable_offset == 9
    assert [tuple(entry) for entry in log.aborted_transactions(0, 9)] == [(8, 5, 8, 9)]
    assert log.aborted_transactions(0, 5) == []


def test_the_last_stable_offset_is_never_below_the_start(log):
    append(log, transactional(7))
    log.advance_high_watermark(2)
    log.delete_records_before(1)
    assert log.log_start_offset == log.last_stable_offset == 1


def test_reads_outside_of_the_log_name_its_ends(log):
    append(log)
    log.advance_high_watermark(3)
    log.delete_records_before(1)
    for offset in (-1, 0, 4):
        with pytest.raises(OffsetOutOfRange, match=f"offset {offset} is outside") as caught:
            log.read(offset, 100)
        assert (caught.value.log_start_offset, caught.value.log_end_offset) == (1, 3)
    assert log.read(3, 100) is None
    assert log.read(1, 100) is not None


# -- deleting and cutting -----------------------------------------------------------------------------


def test_only_what_is_below_the_high_watermark_may_be_deleted(log):
    append(log)
    log.advance_high_watermark(2)
    for offset in (-1, 3):
        with pytest.raises(OffsetOutOfRange):
            log.delete_records_before(offset)
    log.delete_records_before(2)
    log.delete_records_before(1)
    assert log.log_start_offset == 2


def test_segments_below_the_start_go_at_the_next_retention(tmp_path):
    log = open_log(tmp_path, segment_bytes=len(produced()), retention_ms=-1)
    noted = []
    log.note_offset = lambda *change: noted.append(change)
    for _ in range(4):
        append(log)
    log.advance_high_watermark(12)
    log.delete_records_before(7)
    assert noted == [(OffsetKind.LOG_START_OFFSET, 7, False)]
    renamed = log.delete_old_segments(NOW_MS)
    assert bases(log) == [6, 9]
    assert log.log_start_offset == 7
    assert log.snapshots.offsets() == [6, 9]
    assert {path.name for path in renamed} == {
        f"{base:020}.{kind}.deleted" for base in (0, 3) for kind in ("log", "index", "timeindex")
    }
    log.abandon()


def test_what_a_reader_holds_of_deleted_segments_stays_readable(tmp_path):
    log = open_log(tmp_path, segment_bytes=len(produced()), retention_bytes=0)
    for _ in range(3):
        append(log)
    region = log.read(0, 10_000)
    log.advance_high_watermark(9)
    for path in log.delete_old_segments(NOW_MS):
        path.unlink()
    assert log.log_start_offset == 9
    assert [record.offset for record in decode_batch(region.read())] == [0, 1, 2]
    log.abandon()


def test_a_cut_inside_of_a_batch_takes_it_whole(log):
    append(log)
    append(log)
    assert truncate_to(log, 4, NOW_MS)
    assert log.log_end_offset == 3
    assert not truncate_to(log, 3, NOW_MS)
    assert append(log).first_offset == 3


def test_a_cut_in_a_gap_ends_the_log_where_a_restart_would(tmp_path):
    log = open_log(tmp_path, cleanup_policy=("compact",))
    log.append_as_follower(batch(0, [b"a"] * 3) + batch(10, [b"b"]), now_ms=NOW_MS)
    truncate_to(log, 8, NOW_MS)
    assert log.log_end_offset == 3
    log.flush()
    log.abandon()
    again = open_log(
        tmp_path, was_clean=False, recovery_point=log.recovery_point, cleanup_policy=("compact",)
    )
    assert again.log_end_offset == 3
    again.abandon()


def test_a_cut_opens_transactions_again_whose_markers_it_takes(log):
    append(log, transactional(7))
    append(log, marker(0, 7, 0), origin=AppendOrigin.COORDINATOR)
    log.advance_high_watermark(3)
    assert log.last_stable_offset == 3
    truncate_to(log, 2, NOW_MS)
    assert log.producer_states.first_undecided_offset == 0
    assert log.aborted_transactions(0, 2) == []
    assert log.last_stable_offset == 0


def test_a_cut_forgets_the_snapshots_behind_it(tmp_path):
    """One of them would later speak of records that are not those of these offsets any more."""
    log = open_log(tmp_path)
    for sequence in (0, 3):
        append(log, produced(producer_id=7, producer_epoch=0, base_sequence=sequence))
    log.roll(NOW_MS)
    assert log.snapshots.offsets() == [6]
    truncate_to(log, 0, NOW_MS)
    append(log, produced(producer_id=8, producer_epoch=0, base_sequence=0))
    truncate_to(log, 0, NOW_MS)
    append(log, produced(producer_id=9, producer_epoch=0, base_sequence=0))
    log.roll(NOW_MS)
    append(log, produced(producer_id=9, producer_epoch=0, base_sequence=3))
    log.roll(NOW_MS)
    truncate_to(log, 5, NOW_MS)
    assert log.snapshots.offsets() == [3]
    append(log)
    append(log)
    log.abandon()
    log = open_log(tmp_path, was_clean=False)
    assert {entry.producer_id: entry.last_sequence for entry in log.producer_states.entries()} == {9: 2}
    log.abandon()


def test_a_cut_forgets_leader_epochs(log):
    append(log, leader_epoch=1)
    append(log, leader_epoch=3)
    truncate_to(log, 3, NOW_MS)
    assert log.leader_epochs.latest_epoch == 1
    assert tuple(log.leader_epochs.end_offset_for(1, log.log_end_offset)) == (1, 3)


def test_an_emptied_log_goes_on_where_it_is_told(tmp_path):
    log = open_log(tmp_path)
    append(log, produced(producer_id=7, producer_epoch=0, base_sequence=0), leader_epoch=4)
    truncate_fully_and_start_at(log, 1000, NOW_MS)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (1000, 1000, 1000)
    assert len(log.producer_states) == 0
    assert log.leader_epochs.entries == ()
    assert append(log).first_offset == 1000
    log.close()
    assert sorted(name for name in os.listdir(tmp_path) if name.endswith(".log")) == [f"{1000:020}.log"]
    log = open_log(tmp_path)
    assert (log.log_start_offset, log.log_end_offset) == (1000, 1003)
    log.abandon()


# -- compaction ---------------------------------------------------------------------------------------


def test_a_log_that_is_not_to_be_compacted_says_so(log):
    append(log)
    with pytest.raises(InvalidConfig, match="cleanup"):
        log.begin_compaction(NOW_MS)


def test_a_compaction_that_retention_has_overtaken_leaves_what_is_left(tmp_path):
    log = open_log(
        tmp_path, cleanup_policy=("compact", "delete"), segment_bytes=len(produced()), retention_ms=-1
    )
    for _ in range(4):
        append(log)
    log.advance_high_watermark(12)
    assert log.begin_compaction(NOW_MS, even_if_little=True) is None  # nothing is on the disk yet
    log.flush()
    job = log.begin_compaction(NOW_MS, even_if_little=True)
    job.run()
    log.delete_records_before(3)
    log.delete_old_segments(NOW_MS)
    log.complete_compaction(job)
    log.remove_files([path for path in tmp_path.iterdir() if path.name.endswith(".deleted")])
    assert bases(log)[-1] == 9
    assert log.log_start_offset == 3
    assert not [name for name in os.listdir(tmp_path) if name.endswith((".cleaned", ".swapping"))]
    data = log.read(9, 10_000).read()
    assert [record.offset for record in decode_batch(data)] == [9, 10, 11]
    log.abandon()


def test_a_compaction_that_a_truncation_has_overtaken_brings_nothing_back(tmp_path):
    """The segment that was cut is full again, of other records, and sealed again."""
    log = open_log(tmp_path, cleanup_policy=("compact",), segment_bytes=3 * len(produced()), retention_ms=-1)
    for _ in range(7):
        append(log)
    log.advance_high_watermark(21)
    log.flush()
    job = log.begin_compaction(NOW_MS, even_if_little=True)
    job.run()
    truncate_to(log, 12, NOW_MS)
    for _ in range(4):
        append(log, batch(0, [b"w" * 20] * 3, timestamp=NOW_MS))
    assert bases(log) == [0, 9, 18]
    assert log.complete_compaction(job) == []
    assert not [name for name in os.listdir(tmp_path) if name.endswith((".cleaned", ".swapping"))]
    data = log.read(9, 10_000).read()
    values = [record.value for record in iterate_records(data)]
    assert values == [b"v" * 20] * 3 + [b"w" * 20] * 6
    log.abandon()


def test_what_comes_after_a_truncation_of_compacted_records_is_dirty(tmp_path):
    log = open_log(tmp_path, cleanup_policy=("compact",), segment_bytes=200, retention_ms=-1)
    noted = []
    log.note_offset = lambda kind, offset, durably: noted.append((kind, offset))
    for _ in range(6):
        append(log)
    log.advance_high_watermark(18)
    log.flush()
    job = log.begin_compaction(NOW_MS, even_if_little=True)
    job.run()
    log.complete_compaction(job)
    assert log.first_dirty_offset == 15
    truncate_to(log, 6, NOW_MS)
    end_offset = log.log_end_offset
    assert log.first_dirty_offset == end_offset <= 6
    assert (OffsetKind.FIRST_DIRTY_OFFSET, end_offset) in noted
    assert (OffsetKind.COMPACTED_TO, end_offset) in noted
    truncate_fully_and_start_at(log, 1, NOW_MS)
    assert log.first_dirty_offset == min(end_offset, 1)
    log.abandon()


# -- the end ------------------------------------------------------------------------------------------


def test_a_closed_log_takes_nothing_more(tmp_path):
    log = open_log(tmp_path)
    append(log)
    log.close()
    log.close()
    with pytest.raises(LogClosed):
        append(log)
    with pytest.raises(LogClosed):
        log.roll(NOW_MS)


def test_a_close_leaves_whole_indexes_and_a_snapshot(tmp_path):
    log = open_log(tmp_path)
    for _ in range(3):
        append(log, leader_epoch=2)
    log.close()
    assert sorted(os.listdir(tmp_path)) == [
        f"{0:020}.index",
        f"{0:020}.log",
        f"{0:020}.timeindex",
        f"{9:020}.snapshot",
        "leader-epoch-checkpoint",
    ]
    assert (tmp_path / f"{0:020}.index").stat().st_size == 2 * 8
    assert (tmp_path / f"{0:020}.timeindex").stat().st_size == 12
