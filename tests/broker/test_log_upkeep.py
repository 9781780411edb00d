"""Retention, compaction and the rest on a broker that serves meanwhile, on a clock that the test moves."""

import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.requests import alter, create, delete, topic

from distributedlog.log.files import Files
from distributedlog.records import encode_batch, iterate_records

MINUTE_MS = 60_000


@pytest.fixture
def stage(tmp_path):
    made = BrokerStage(
        tmp_path / "data",
        configs={
            "log.retention.check.interval.ms": str(MINUTE_MS),
            "log.cleaner.backoff.ms": "1000",
            "log.segment.delete.delay.ms": str(5 * MINUTE_MS),
        },
    )
    yield made
    made.broker.directory.abandon()


def append(stage, name, key, value, *, producer_id=-1, sequence=-1):
    now_ms = stage.scheduler.now_ms()
    batch = encode_batch(
        [(now_ms, key, value, ())], producer_id=producer_id, producer_epoch=0, base_sequence=sequence
    )
    stage.broker.partitions.get(name, 0).append(batch, now_ms=now_ms)
    stage.scheduler.run()


def files(stage, name, suffix):
    return sorted(path.name for path in (stage.path / f"{name}-0").glob(f"*{suffix}"))


def records(stage, name):
    log = stage.broker.partitions.get(name, 0).log
    found, offset = [], log.log_start_offset
    while region := log.read(offset, 1 << 20, upper_offset=log.high_watermark):
        batch = list(iterate_records(region.read(), offset))
        if not batch:
            break
        found += batch
        offset = found[-1].offset + 1
    return [(record.offset, record.key, record.value) for record in found]


# -- retention ------------------------------------------------------------------------------------------


def test_old_segments_go_and_their_files_follow_after_the_delay(stage):
    create(stage, topic("orders", retention_ms=10 * MINUTE_MS, segment_bytes=100))
    for number in range(4):
        append(stage, "orders", b"k", b"%d" % number)
        stage.scheduler.advance(MINUTE_MS)
    assert len(files(stage, "orders", ".log")) == 4
    stage.scheduler.advance(8 * MINUTE_MS)
    log = stage.broker.partitions.get("orders", 0).log
    assert log.log_start_offset == 2
    assert len(files(stage, "orders", ".log")) == 2
    assert files(stage, "orders", ".log.deleted")
    stage.scheduler.advance(5 * MINUTE_MS + 1)
    assert not [name for name in files(stage, "orders", ".log.deleted") if int(name.split(".")[0]) < 2]


def test_a_retention_changed_at_run_time_counts_at_the_next_look(stage):
    create(stage, topic("orders", segment_bytes=100))
    for number in range(3):
        append(stage, "orders", b"k", b"%d" % number)
    stage.scheduler.advance(30 * MINUTE_MS)
    assert len(records(stage, "orders")) == 3
    alter(stage, "orders", ("retention.bytes", 0, "1"))
    stage.scheduler.advance(MINUTE_MS)
    assert stage.broker.partitions.get("orders", 0).log.log_start_offset == 2


def test_a_topic_deleted_before_its_old_files_were_removed(stage):
    create(stage, topic("orders", retention_bytes=0, segment_bytes=100))
    append(stage, "orders", b"k", b"v")
    stage.scheduler.advance(MINUTE_MS)
    delete(stage, "orders")
    stage.scheduler.advance(10 * MINUTE_MS)
    assert not (stage.path / "orders-0").exists()


def test_many_partitions_are_looked_at_in_slices(stage):
    create(stage, topic("orders", 100, retention_bytes=0))
    served_between = []
    stage.scheduler.run()
    stage.broker.upkeep.apply_retention()
    turns = 0
    while stage.scheduler.soon:
        served_between.append(len(stage.scheduler.soon))
        stage.scheduler.run_soon()
        turns += 1
    assert turns >= 4
    assert max(served_between) == 1


class BrokenRename(Files):
    breaks = False

    def rename(self, old, new):
        if self.breaks and "broken-0" in str(old):
            raise OSError(5, "Input/output error")
        super().rename(old, new)


def test_what_goes_wrong_with_one_log_does_not_keep_the_others_waiting(tmp_path, caplog):
    seam = BrokenRename()
    stage = BrokerStage(
        tmp_path / "data", files=seam, configs={"log.retention.check.interval.ms": str(MINUTE_MS)}
    )
    create(stage, topic("broken", retention_bytes=1, segment_bytes=100))
    create(stage, topic("orders", retention_bytes=1, segment_bytes=100))
    for name in ("broken", "orders"):
        for number in range(3):
            append(stage, name, b"k", b"%d" % number)
    seam.breaks = True
    stage.scheduler.advance(MINUTE_MS)
    assert stage.broker.partitions.get("orders", 0).log.log_start_offset == 2
    assert "broken" in caplog.text
    seam.breaks = False
    stage.broker.directory.abandon()


# -- compaction -----------------------------------------------------------------------------------------


def compacted(**configs):
    return topic("table", cleanup_policy="compact", segment_bytes=200, **configs)


def test_the_cleaner_compacts_a_live_log(stage):
    create(stage, compacted())
    for number in range(20):
        append(stage, "table", b"key%d" % (number % 3), b"%d" % number)
    before = records(stage, "table")
    stage.scheduler.advance(5000)
    kept = records(stage, "table")
    assert len(kept) < len(before)
    assert set(kept) <= set(before)
    last = {key: value for _, key, value in before}
    assert {key: value for _, key, value in kept} == last
    append(stage, "table", b"key0", b"new")
    assert records(stage, "table")[-1][2] == b"new"
    stage.crash()
    assert {key: value for _, key, value in records(stage, "table")} == {**last, b"key0": b"new"}


def test_appends_go_on_while_a_log_is_compacted(stage):
    create(stage, compacted(flush="os"))
    for number in range(20):
        append(stage, "table", b"key%d" % (number % 3), b"%d" % number)
    stage.broker.partitions.get("table", 0).log.flush()
    stage.scheduler.holds_threads = True
    stage.scheduler.advance(2000)
    assert stage.scheduler.work, "a compaction waits for its thread"
    append(stage, "table", b"key1", b"meanwhile")
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    kept = records(stage, "table")
    assert kept[-1] == (20, b"key1", b"meanwhile")
    assert len(kept) < 21


def test_of_several_logs_the_dirtiest_comes_first(stage):
    names = {"little": 3, "much": 12}
    for name, count in names.items():
        create(
            stage, topic(name, cleanup_policy="compact", segment_bytes=100, min_cleanable_dirty_ratio=0.01)
        )
        for number in range(count):
            append(stage, name, b"key", b"%d" % number)
    stage.scheduler.advance(40_000)
    for name in names:
        assert len(records(stage, name)) <= 2
    for name, count in (("little", 1), ("much", 9)):
        for number in range(count):
            append(stage, name, b"key", b"again %d" % number)
    order = []
    for name in names:
        log = stage.broker.partitions.get(name, 0).log
        begin = log.begin_compaction
        log.__dict__["begin_compaction"] = lambda *args, name=name, begin=begin, **options: (
            order.append(name) or begin(*args, **options)
        )
    stage.scheduler.advance(1000)
    assert order[0] == "much"


def test_a_topic_deleted_while_it_is_compacted(stage, caplog):
    create(stage, compacted(flush="os"), topic("other", flush="os"))
    for number in range(20):
        append(stage, "table", b"key%d" % (number % 3), b"%d" % number)
    stage.broker.partitions.get("table", 0).log.flush()
    stage.scheduler.holds_threads = True
    stage.scheduler.advance(2000)
    compaction = stage.scheduler.work.popleft()
    stage.scheduler.holds_threads = False
    delete(stage, "table")
    stage.scheduler.work.append(compaction)
    stage.scheduler.run()
    stage.scheduler.advance(5000)
    append(stage, "other", b"k", b"v")
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


def test_a_log_that_cannot_be_compacted_is_left_alone(stage, caplog):
    create(stage, compacted())
    for number in range(20):
        append(stage, "table", b"key%d" % (number % 3), b"%d" % number)
    segment = stage.path / "table-0" / f"{0:020d}.log"
    damaged = bytearray(segment.read_bytes())
    damaged[30] ^= 0xFF
    damaged[16] = 9
    segment.write_bytes(damaged)
    stage.scheduler.advance(60_000)
    assert sum("not compacted any more" in record.message for record in caplog.records) == 1


def test_the_cleaner_can_be_switched_off(tmp_path):
    stage = BrokerStage(
        tmp_path / "data", configs={"log.cleaner.enable": "false", "log.cleaner.backoff.ms": "1000"}
    )
    create(stage, compacted())
    for number in range(20):
        append(stage, "table", b"key", b"%d" % number)
    stage.scheduler.advance(60_000)
    assert len(records(stage, "table")) == 20
    stage.close()


# -- the rest -------------------------------------------------------------------------------------------


def test_checkpoints_are_written_each_minute_when_something_has_changed(stage):
    create(stage, "orders")
    append(stage, "orders", b"k", b"v")
    stage.scheduler.advance(2 * MINUTE_MS)
    path = stage.path / "replication-offset-checkpoint"
    assert "orders 0 1" in path.read_text()
    written = path.stat().st_ino
    stage.scheduler.advance(10 * MINUTE_MS)
    assert path.stat().st_ino == written
    append(stage, "orders", b"k", b"v")
    stage.scheduler.advance(MINUTE_MS)
    assert "orders 0 2" in path.read_text()


def test_silent_producers_are_forgotten(stage):
    create(stage, "orders")
    append(stage, "orders", b"k", b"v", producer_id=7, sequence=0)
    states = stage.broker.partitions.get("orders", 0).log.producer_states
    assert [entry.producer_id for entry in states.entries()] == [7]
    stage.scheduler.advance(23 * 60 * MINUTE_MS)
    assert len(list(states.entries())) == 1
    stage.scheduler.advance(2 * 60 * MINUTE_MS)
    assert list(states.entries()) == []


def test_the_time_for_producers_can_be_changed_at_run_time(stage):
    create(stage, "orders")
    append(stage, "orders", b"k", b"v", producer_id=7, sequence=0)
    assert alter(stage, "1", ("producer.id.expiration.ms", 0, "1000"), kind=4).error_code == 0
    stage.scheduler.advance(11 * MINUTE_MS)
    assert list(stage.broker.partitions.get("orders", 0).log.producer_states.entries()) == []


def test_nothing_happens_after_the_end(stage):
    create(stage, topic("orders", retention_bytes=0, segment_bytes=100))
    append(stage, "orders", b"k", b"v")
    stage.scheduler.advance(MINUTE_MS)
    stage.close()
    before = sorted(path.name for path in (stage.path / "orders-0").iterdir())
    stage.scheduler.advance(60 * MINUTE_MS)
    assert sorted(path.name for path in (stage.path / "orders-0").iterdir()) == before
    assert stage.scheduler.live_timers == 0
