"""A data directory: its files, the marker of a clean close, and what its checkpoints say."""

import os
import uuid

import pytest

from distributedlog.log import LogConfig, LogDirectory
from distributedlog.log.directory import CLEAN_SHUTDOWN_NAME
from distributedlog.log.errors import (
    DirectoryLocked,
    InconsistentTopicId,
    InvalidTopicName,
    LogClosed,
    UnsupportedDirectoryVersion,
)
from partition_files import batch

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig(segment_bytes=1000)


def append(log, count=1):
    for _ in range(count):
        log.append(batch(0, [b"v" * 300]), now_ms=NOW_MS)
    log.advance_high_watermark(log.log_end_offset)


def checkpoint(path, name):
    version, count, *lines = (path / name).read_text().splitlines()
    assert version == "0"
    assert int(count) == len(lines)
    return sorted(lines)


def test_the_files_of_a_directory_are_those_of_kafka(tmp_path):
    with LogDirectory(tmp_path / "data") as directory:
        append(directory.open_log("orders", 0, CONFIG), 3)
        append(directory.open_log("orders-2", 7, CONFIG))
    assert sorted(os.listdir(tmp_path / "data")) == [
        ".kafka_cleanshutdown",
        ".lock",
        "cleaner-offset-checkpoint",
        "log-start-offset-checkpoint",
        "meta.properties",
        "offsets.journal",
        "orders-0",
        "orders-2-7",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
    ]
    assert checkpoint(tmp_path / "data", "recovery-point-offset-checkpoint") == ["orders 0 3", "orders-2 7 1"]
    assert checkpoint(tmp_path / "data", "replication-offset-checkpoint") == ["orders 0 3", "orders-2 7 1"]
    assert (tmp_path / "data" / "offsets.journal").stat().st_size == 0


def test_all_partitions_are_found_and_opened(tmp_path):
    with LogDirectory(tmp_path) as directory:
        for topic, partition in (("b", 1), ("a", 0), ("a-1", 10)):
            append(directory.open_log(topic, partition, CONFIG), partition)
    (tmp_path / "no-partition-x").mkdir()
    (tmp_path / "file-3").write_bytes(b"")
    asked = []
    with LogDirectory(tmp_path) as directory:
        assert directory.partitions_on_disk() == [("a", 0), ("a-1", 10), ("b", 1)]
        logs = directory.open_all(lambda topic, partition: (asked.append((topic, partition)), CONFIG)[1])
        assert {key: log.log_end_offset for key, log in logs.items()} == {
            ("a", 0): 0, ("a-1", 10): 10, ("b", 1): 1,
        }  # fmt: skip
    assert asked == [("a", 0), ("a-1", 10), ("b", 1)]


def test_an_open_log_is_the_same_one_for_everybody(tmp_path):
    with LogDirectory(tmp_path) as directory:
        assert directory.open_log("a", 0, CONFIG) is directory.open_log("a", 0, CONFIG)


def test_the_marker_is_gone_before_anything_is_written(tmp_path):
    LogDirectory(tmp_path).close()
    assert (tmp_path / CLEAN_SHUTDOWN_NAME).exists()
    directory = LogDirectory(tmp_path)
    assert directory.was_clean
    assert not (tmp_path / CLEAN_SHUTDOWN_NAME).exists()
    directory.abandon()
    directory = LogDirectory(tmp_path)
    assert not directory.was_clean
    directory.close()


def test_an_abandoned_log_is_recovered_from_its_recovery_point(tmp_path):
    directory = LogDirectory(tmp_path)
    log = directory.open_log("a", 0, CONFIG)
    append(log, 5)
    log.flush()
    append(log)
    directory.abandon()
    directory = LogDirectory(tmp_path)
    log = directory.open_log("a", 0, CONFIG)
    report = directory.reports["a", 0]
    assert not report.was_clean
    assert log.log_end_offset == 6
    assert 0 < log.recovery_point <= 5
    assert report.segments_scanned < len(log.segments)
    directory.close()


def test_deleted_records_stay_deleted_whether_the_writer_closed_or_died(tmp_path):
    for close in (LogDirectory.abandon, LogDirectory.close):
        directory = LogDirectory(tmp_path)
        log = directory.open_log("a", 0, CONFIG)
        append(log, 3)
        start = log.log_start_offset + 1
        log.delete_records_before(start)
        close(directory)
        directory = LogDirectory(tmp_path)
        assert directory.open_log("a", 0, CONFIG).log_start_offset == start
        directory.close()


def test_logs_that_were_not_opened_keep_their_lines(tmp_path):
    with LogDirectory(tmp_path) as directory:
        for topic in ("a", "b"):
            append(directory.open_log(topic, 0, CONFIG), 2)
        directory.logs["b", 0].delete_records_before(1)
    with LogDirectory(tmp_path) as directory:
        append(directory.open_log("a", 0, CONFIG))
    assert checkpoint(tmp_path, "recovery-point-offset-checkpoint") == ["a 0 3", "b 0 2"]
    assert checkpoint(tmp_path, "log-start-offset-checkpoint") == ["b 0 1"]


def test_a_log_that_was_not_recovered_keeps_the_directory_unclean(tmp_path):
    directory = LogDirectory(tmp_path)
    for topic in ("a", "b"):
        append(directory.open_log(topic, 0, CONFIG))
    directory.abandon()
    with LogDirectory(tmp_path) as directory:
        directory.open_log("a", 0, CONFIG)
    with LogDirectory(tmp_path) as directory:
        assert not directory.was_clean
        directory.open_log("a", 0, CONFIG)
        assert directory.open_log("b", 0, CONFIG).log_end_offset == 1
    assert (tmp_path / CLEAN_SHUTDOWN_NAME).exists()


def test_a_deleted_log_leaves_nothing_behind(tmp_path):
    with LogDirectory(tmp_path) as directory:
        append(directory.open_log("a", 0, CONFIG), 5)
        directory.delete_log("a", 0)
        assert directory.partitions_on_disk() == []
        assert directory.open_log("a", 0, CONFIG).log_end_offset == 0
    assert checkpoint(tmp_path, "recovery-point-offset-checkpoint") == ["a 0 0"]


def test_a_deletion_that_a_crash_interrupted_is_finished(tmp_path):
    with LogDirectory(tmp_path) as directory:
        append(directory.open_log("a", 0, CONFIG))
    (tmp_path / "a-0").rename(tmp_path / f"a-0.{uuid.uuid4().hex}-delete")
    with LogDirectory(tmp_path) as directory:
        assert directory.partitions_on_disk() == []
    assert not [name for name in os.listdir(tmp_path) if name.endswith("-delete")]


def test_a_topic_of_the_same_name_and_another_id_is_refused(tmp_path):
    first, second = uuid.uuid4(), uuid.uuid4()
    with LogDirectory(tmp_path) as directory:
        append(directory.open_log("a", 0, CONFIG, topic_id=first))
    with LogDirectory(tmp_path) as directory:
        with pytest.raises(InconsistentTopicId):
            directory.open_log("a", 0, CONFIG, topic_id=second)
        assert directory.open_log("a", 0, CONFIG, topic_id=first).log_end_offset == 1


def test_a_directory_of_another_version_is_left_untouched(tmp_path):
    LogDirectory(tmp_path).close()
    properties = tmp_path / "meta.properties"
    properties.write_text(properties.read_text().replace("version=1", "version=9"))
    before = {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if name != ".lock"}
    with pytest.raises(UnsupportedDirectoryVersion, match="version '9'"):
        LogDirectory(tmp_path)
    assert before == {
        name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path) if name != ".lock"
    }
    properties.write_text(properties.read_text().replace("version=9", "version=1"))
    LogDirectory(tmp_path).close()


def test_a_directory_has_one_writer(tmp_path):
    with LogDirectory(tmp_path), pytest.raises(DirectoryLocked):
        LogDirectory(tmp_path)
    LogDirectory(tmp_path).close()


def test_several_directories_stand_side_by_side(tmp_path):
    with LogDirectory(tmp_path / "1") as first, LogDirectory(tmp_path / "2") as second:
        assert first.meta.directory_id != second.meta.directory_id
        append(first.open_log("a", 0, CONFIG), 2)
        append(second.open_log("a", 1, CONFIG), 3)
    with LogDirectory(tmp_path / "1") as first, LogDirectory(tmp_path / "2") as second:
        assert first.partitions_on_disk() == [("a", 0)]
        assert second.partitions_on_disk() == [("a", 1)]


def test_a_closed_directory_opens_no_logs(tmp_path):
    directory = LogDirectory(tmp_path)
    directory.close()
    directory.close()
    with pytest.raises(LogClosed):
        directory.open_log("a", 0, CONFIG)


@pytest.mark.parametrize("topic", ["", ".", "..", "a/b", "a b", "ä", "a\n", "x" * 250])
def test_names_that_kafka_does_not_allow_are_refused(tmp_path, topic):
    with LogDirectory(tmp_path) as directory, pytest.raises(InvalidTopicName):
        directory.open_log(topic, 0, CONFIG)
    assert not [entry.name for entry in os.scandir(tmp_path) if entry.is_dir()]


def test_offsets_noted_often_find_their_way_into_the_checkpoints(tmp_path, monkeypatch):
    monkeypatch.setattr("distributedlog.log.offset_journal.ENTRIES_MAX", 3)
    directory = LogDirectory(tmp_path)
    log = directory.open_log("a", 0, CONFIG)
    append(log, 20)
    for offset in range(1, 8):
        log.delete_records_before(offset)
    assert checkpoint(tmp_path, "log-start-offset-checkpoint") != []
    directory.abandon()
    directory = LogDirectory(tmp_path)
    assert directory.open_log("a", 0, CONFIG).log_start_offset == 7
    directory.close()
