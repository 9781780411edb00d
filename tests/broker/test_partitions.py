import pytest
from tests.broker.stage import NOW_MS, Stage, batch_of, id_of, values_of

from distributedlog.log import FlushPolicy
from distributedlog.log.errors import LogError
from distributedlog.wire import ErrorCode


def test_partitions_are_found_by_name_and_by_id(stage):
    stage.add(partitions=2)
    table = stage.partitions
    assert table.get("orders", 1) is table.get_by_id(id_of("orders"), 1)
    assert table.get("orders", 2) is table.get("other", 0) is table.get_by_id(bytes(16), 0) is None
    assert [partition.index for partition in table.of_topic("orders")] == [0, 1]
    assert len(table) == len(list(table)) == 2


def test_why_a_partition_is_missing(stage, tmp_path):
    stage.add()
    (tmp_path / "data" / "broken-0").write_bytes(b"in the way")
    with pytest.raises(LogError):
        stage.add("broken")
    table = stage.partitions
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert table.why_missing("no", None, 0) == table.why_missing("orders", None, 1) == unknown
    assert table.why_missing("", id_of("no"), 0) == ErrorCode.UNKNOWN_TOPIC_ID
    assert table.why_missing("", id_of("orders"), 1) == unknown
    assert table.why_missing("broken", None, 0) == ErrorCode.KAFKA_STORAGE_ERROR
    assert table.why_missing("", id_of("broken"), 0) == ErrorCode.KAFKA_STORAGE_ERROR
    table.forget("broken")
    assert table.why_missing("broken", None, 0) == unknown


def test_a_forgotten_topic_is_found_no_more(stage):
    partition = stage.add(partitions=2)
    gone = stage.partitions.forget("orders")
    assert [one.index for one in gone] == [0, 1]
    assert partition.is_deleted
    assert stage.partitions.get("orders", 0) is None
    assert stage.partitions.get_by_id(id_of("orders"), 0) is None
    assert stage.partitions.forget("orders") == []


def test_after_a_restart_everything_that_was_safe_can_be_read(tmp_path):
    stage = Stage(tmp_path, flush="ack")
    partition = stage.add(leader_epoch=2)
    partition.append(batch_of(b"a"), now_ms=NOW_MS)
    stage.scheduler.run()
    stage.close()
    stage = Stage(tmp_path, flush="ack")
    partition = stage.add(leader_epoch=2)
    assert partition.log.high_watermark == 1
    assert values_of(partition.log.read(0, 1000).read()) == [b"a"]
    stage.directory.abandon()


def test_after_a_crash_what_is_shown_is_on_the_disk(tmp_path):
    stage = Stage(tmp_path, flush="os")
    stage.add().append(batch_of(b"a"), now_ms=NOW_MS)
    stage.directory.abandon()
    stage = Stage(tmp_path, flush="ack")
    log = stage.add().log
    assert log.recovery_point == log.high_watermark == log.log_end_offset == 1
    stage.directory.abandon()


def test_a_new_leader_epoch_begins_at_the_logs_end(tmp_path):
    stage = Stage(tmp_path)
    stage.add(leader_epoch=1).append(batch_of(b"a"), now_ms=NOW_MS)
    stage.close()
    stage = Stage(tmp_path)
    log = stage.add(leader_epoch=2).log
    assert [(entry.epoch, entry.start_offset) for entry in log.leader_epochs.entries] == [(1, 0), (2, 1)]
    stage.directory.abandon()


def test_a_full_disk_is_helped_by_retention_of_any_log(stage):
    old = stage.add("old", segment_bytes=200, retention_bytes=0)
    partition = stage.add("new")
    for _ in range(3):
        old.append(batch_of(bytes(100)), now_ms=NOW_MS)
    assert old.log.log_start_offset == 0
    assert partition.log.writer.make_room()
    assert old.log.log_start_offset > 0
    assert not partition.log.writer.make_room()


def test_configurations_take_effect_on_running_logs(stage):
    partition = stage.add(partitions=2)
    config = type(partition.log.config).from_kafka({"segment.bytes": "1000"})
    stage.partitions.configure("orders", config, FlushPolicy("interval"))
    for one in stage.partitions:
        assert one.log.config is one.log.writer.config is config
        assert one.flush_policy.flush == "interval"
