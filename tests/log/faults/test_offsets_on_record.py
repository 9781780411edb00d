"""What checkpoints and the journal say of a log must never outlive what it was said of: each of these
histories ends with the death of the process, and a restart that believes them."""

import pytest

from distributedlog.log import LogConfig, LogDirectory
from distributedlog.log.segment_writer import SegmentWriter
from distributedlog.log.truncation import truncate_fully_and_start_at, truncate_to
from distributedlog.records import BatchBuilder

NOW_MS = 1_700_000_000_000
COMPACTED = LogConfig.from_kafka({"segment.bytes": "400", "cleanup.policy": "compact"})
CONFIG = LogConfig.from_kafka({"segment.bytes": "400", "retention.ms": "-1"})


def append(log, count, size=1):
    """So many batches of so many records; the end offset."""
    for _ in range(count):
        builder = BatchBuilder()
        for _ in range(size):
            builder.append(NOW_MS, b"k", b"v" * 30, ())
        log.append(builder.build(), now_ms=NOW_MS)
    log.advance_high_watermark(log.log_end_offset)
    return log.log_end_offset


def reopened(path, topic="t"):
    """As after the death of the process: nothing is closed properly, and nothing needs a repair."""
    directory = LogDirectory(path, clock_ms=lambda: NOW_MS)
    return directory, directory.open_log(topic, 0, CONFIG)


@pytest.fixture
def opened(memory_path):
    return reopened(memory_path)


def test_a_truncation_inside_a_batch_does_not_leave_a_recovery_point_beyond_the_end(opened, memory_path):
    directory, log = opened
    append(log, 10, size=3)
    log.flush()
    truncate_to(log, 16, NOW_MS)
    assert log.log_end_offset == 15
    directory.abandon()
    directory, log = reopened(memory_path)
    assert log.log_end_offset == 15
    directory.close()


def test_a_log_emptied_to_begin_further_on_opens_wherever_the_process_dies(opened, memory_path, monkeypatch):
    """A follower that is too far behind: the old segments are gone before the new one is there."""
    directory, log = opened
    append(log, 30)
    log.flush()
    directory.write_checkpoints()

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(SegmentWriter, "begin", die)
    with pytest.raises(KeyboardInterrupt):
        truncate_fully_and_start_at(log, 500, NOW_MS)
    directory.abandon()
    monkeypatch.undo()
    directory, log = reopened(memory_path)
    assert append(log, 3) >= 3
    directory.close()


@pytest.mark.parametrize("cut", [truncate_to, truncate_fully_and_start_at])
def test_a_start_that_was_cut_off_does_not_hide_what_is_appended_in_its_place(opened, memory_path, cut):
    directory, log = opened
    append(log, 20)
    log.flush()
    log.delete_records_before(17)
    cut(log, 12, NOW_MS)
    assert log.log_start_offset == 12
    assert append(log, 10) == 22
    log.flush()
    directory.abandon()
    directory, log = reopened(memory_path)
    assert (log.log_start_offset, log.log_end_offset) == (12, 22)
    directory.close()


def test_a_new_log_of_a_deleted_ones_name_does_not_inherit_its_offsets(opened, memory_path):
    directory, log = opened
    append(log, 30)
    log.flush()
    log.delete_records_before(20)
    directory.write_checkpoints()
    directory.delete_log("t", 0)
    log = directory.open_log("t", 0, CONFIG)
    append(log, 5)
    log.flush()
    directory.abandon()
    directory, log = reopened(memory_path)
    assert (log.log_start_offset, log.log_end_offset) == (0, 5)
    directory.close()


def test_a_log_that_was_not_opened_is_not_called_clean_by_the_close_of_another(opened, memory_path):
    directory, log = opened
    append(directory.open_log("other", 0, CONFIG), 3)
    append(log, 3)
    directory.abandon()
    torn = memory_path / "other-0" / f"{0:020d}.log"
    torn.write_bytes(torn.read_bytes() + bytes(100))
    directory, log = reopened(memory_path)
    directory.close()
    directory, log = reopened(memory_path, "other")
    assert not directory.was_clean
    assert directory.reports["other", 0].bytes_cut == 100
    directory.open_log("t", 0, CONFIG)
    directory.close()
    directory, log = reopened(memory_path, "other")
    assert directory.was_clean
    directory.close()


def test_a_start_beyond_a_lost_end_does_not_come_true_later(opened, memory_path):
    """Records that were never flushed, and of which a deletion was noted, are lost with the power."""
    directory, log = opened
    append(log, 5)
    log.flush()
    active = log.segments.active
    size = active.size
    append(log, 3)
    assert log.segments.active is active
    log.delete_records_before(8)
    directory.abandon()
    path = active.path(".log")
    path.write_bytes(path.read_bytes()[:size])
    for _ in range(2):
        directory, log = reopened(memory_path)
        assert (log.log_start_offset, log.log_end_offset) == (5, 5)
        directory.abandon()
    directory, log = reopened(memory_path)
    assert append(log, 6) == 11
    log.flush()
    directory.abandon()
    directory, log = reopened(memory_path)
    assert (log.log_start_offset, log.log_end_offset) == (5, 11)
    directory.close()


@pytest.mark.parametrize("are_checkpointed", [True, False], ids=["checkpoints", "journal"])
@pytest.mark.parametrize("end_offset", [0, 5])
def test_what_comes_after_a_truncation_of_compacted_records_stays_dirty(
    memory_path, end_offset, are_checkpointed
):
    directory = LogDirectory(memory_path, clock_ms=lambda: NOW_MS)
    log = directory.open_log("t", 0, COMPACTED)
    append(log, 30)
    log.flush()
    job = log.begin_compaction(NOW_MS, even_if_little=True)
    job.run()
    log.complete_compaction(job)
    directory.write_checkpoints()
    assert log.first_dirty_offset > 20
    truncate_fully_and_start_at(log, end_offset, NOW_MS)
    append(log, 30)
    if are_checkpointed:
        directory.write_checkpoints()
    directory.abandon()
    directory = LogDirectory(memory_path, clock_ms=lambda: NOW_MS)
    assert directory.open_log("t", 0, COMPACTED).first_dirty_offset == end_offset
    directory.close()
