import random

import pytest
from tests.broker.stage import NOW_MS, Stage, batch_of

from distributedlog.broker.flush_runner import FlushTimeout
from distributedlog.log import FlushPolicy
from distributedlog.log.errors import LogDirectoryOffline, LogError


@pytest.fixture
def runner(stage):
    stage.scheduler.holds_threads = True
    return stage.partitions.flush_runner


def append(partition, value=b"a"):
    partition.append(batch_of(value), now_ms=NOW_MS)


def wait(partition, timeout_ms=None):
    """A list that gets the outcome: None, or an error."""
    outcomes = []
    partition.wait_until_safe(outcomes.append, timeout_ms)
    return outcomes


def test_nothing_to_flush_is_done_without_a_thread(stage, runner):
    partition = stage.add(flush="ack")
    append(partition)
    partition.log.flush()
    outcomes = wait(partition)
    stage.scheduler.run()
    assert outcomes == [None]
    assert not stage.scheduler.work
    assert partition.log.high_watermark == 1


def test_one_round_at_a_time(stage, runner):
    partition = stage.add(flush="ack")
    append(partition)
    stage.scheduler.run()
    append(partition)
    stage.scheduler.run()
    assert len(stage.scheduler.work) == 1
    stage.scheduler.run_threads()
    assert partition.log.high_watermark == 1
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert partition.log.high_watermark == 2
    assert runner.rounds == 2
    stage.scheduler.run()
    assert runner.is_idle


def test_many_logs_are_synced_side_by_side(stage, runner):
    stage.add(partitions=10, flush="ack")
    for partition in stage.partitions:
        append(partition)
    outcomes = [wait(partition) for partition in stage.partitions]
    stage.scheduler.run()
    assert len(stage.scheduler.work) == 4
    stage.scheduler.run_threads(3)
    assert outcomes == [[]] * 10
    stage.scheduler.run_threads(1)
    assert outcomes == [[None]] * 10
    assert (runner.rounds, runner.logs_synced) == (1, 10)


def test_each_wait_has_its_own_deadline(stage, runner):
    partition = stage.add(flush="ack")
    append(partition)
    patient, hasty, medium = wait(partition, 1000), wait(partition, 10), wait(partition, 100)
    endless = wait(partition)
    stage.scheduler.advance(10)
    assert [len(each) for each in (patient, hasty, medium)] == [0, 1, 0]
    assert isinstance(hasty[0], FlushTimeout)
    stage.scheduler.advance(90)
    assert isinstance(medium[0], FlushTimeout)
    stage.scheduler.advance(800)
    assert patient == []
    stage.scheduler.run_threads()
    assert patient == endless == [None]
    stage.scheduler.advance(10_000)
    assert [len(each) for each in (patient, hasty, medium, endless)] == [1, 1, 1, 1]
    assert stage.scheduler.live_timers == 0


def test_a_log_that_is_offline_fails_only_those_who_wait_for_it(stage, runner):
    stage.add(partitions=2, flush="ack")
    broken, sound = stage.partitions
    append(broken)
    append(sound)
    broken.log.fail(OSError("write"))
    of_broken, of_sound = wait(broken), wait(sound)
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert of_sound == [None]
    assert isinstance(of_broken[0], LogDirectoryOffline)


def test_a_failed_fsync_fails_all_and_for_good(stage, runner):
    stage.add(partitions=2, flush="ack")
    first, second = stage.partitions
    append(first)
    outcomes = wait(first)
    stage.scheduler.run()
    _, _, failed = stage.scheduler.work.pop()
    failed(RuntimeError("no error of ours"))
    assert isinstance(outcomes[0], LogDirectoryOffline)
    assert first.log.high_watermark == 0
    with pytest.raises(LogDirectoryOffline):
        append(second)
    later = wait(first)
    stage.scheduler.run()
    assert isinstance(later[0], LogDirectoryOffline)


def test_a_topic_deleted_during_its_flush(stage, runner):
    partition = stage.add(flush="ack")
    append(partition)
    outcomes = wait(partition)
    stage.scheduler.run()
    work, done, _ = stage.scheduler.work.pop()
    work()
    stage.delete("orders")
    done(None)
    assert outcomes == [None]


def test_a_topic_deleted_while_others_are_flushed_keeps_nobody_waiting(stage, runner):
    busy, doomed = stage.add("busy", flush="ack"), stage.add("doomed", flush="ack")
    append(busy)
    stage.scheduler.run()
    append(doomed)
    outcomes = wait(doomed)
    stage.delete("doomed")
    work, done, _ = stage.scheduler.work.pop()
    work()
    done(None)
    stage.scheduler.run()
    assert outcomes == [None]
    assert runner.is_idle


def test_interval_flushes_after_its_time(stage, runner):
    partition = stage.add(flush=FlushPolicy("interval", 50, 1000))
    append(partition)
    stage.scheduler.advance(49)
    assert not stage.scheduler.work
    append(partition)
    stage.scheduler.advance(1)
    stage.scheduler.run_threads()
    assert partition.log.recovery_point == 2
    stage.scheduler.advance(1000)
    assert not stage.scheduler.work
    assert runner.is_idle


def test_interval_flushes_after_its_records(stage, runner):
    partition = stage.add(flush=FlushPolicy("interval", 1_000_000, 3))
    for _ in range(2):
        append(partition)
    stage.scheduler.run()
    assert not stage.scheduler.work
    append(partition)
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert partition.log.recovery_point == 3
    assert stage.scheduler.live_timers == 0


def test_os_flushes_what_is_complete_in_the_background(stage, runner):
    partition = stage.add(flush="os", segment_bytes=200)
    append(partition, bytes(100))
    stage.scheduler.run()
    assert not stage.scheduler.work
    append(partition, bytes(100))
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert partition.log.recovery_point == 2


def test_a_change_of_policy_shows_what_waited(stage, runner):
    partition = stage.add(flush="ack")
    append(partition)
    assert partition.log.high_watermark == 0
    stage.partitions.configure("orders", partition.log.config, FlushPolicy("os"))
    assert partition.log.high_watermark == 1
    stage.partitions.configure("orders", partition.log.config, FlushPolicy("ack"))
    append(partition)
    assert partition.log.high_watermark == 1


def test_closing_flushes_for_those_who_wait(stage, runner):
    stage.add(partitions=2, flush="ack")
    first, second = stage.partitions
    append(first)
    in_flight = wait(first)
    stage.scheduler.run()
    append(second)
    next_round = wait(second, 1000)
    stage.partitions.close()
    assert in_flight == next_round == [None]
    assert (first.log.recovery_point, second.log.recovery_point) == (1, 1)
    stage.scheduler.run_threads()
    stage.scheduler.run()
    assert stage.scheduler.live_timers == 0
    assert in_flight == next_round == [None]


@pytest.mark.parametrize("seed", range(20))
def test_whatever_the_order_every_wait_ends_once_and_not_before_its_records_are_safe(tmp_path, seed):
    """A seeded history of appends, waits, thread turns, time and one deletion."""
    chance = random.Random(seed)
    stage = Stage(tmp_path, flush="ack", chance=chance)
    scheduler = stage.scheduler
    scheduler.holds_threads = True
    for topic in ("a", "b", "c"):
        stage.add(topic, partitions=2)
    ends = []

    def wait_for(partition):
        next_offset = partition.log.log_end_offset
        entry = {"times": 0}
        ends.append(entry)

        def done(error: LogError | None):
            entry["times"] += 1
            entry["error"] = error
            if error is None and not partition.is_deleted:
                assert partition.log.recovery_point >= next_offset
                assert partition.log.high_watermark >= next_offset

        partition.wait_until_safe(done, chance.choice([None, 5, 50]))

    for step in range(300):
        partition = chance.choice(list(stage.partitions))
        match chance.randrange(6):
            case 0 | 1:
                append(partition)
                wait_for(partition)
            case 2:
                scheduler.run_soon()
            case 3:
                scheduler.run_threads(min(len(scheduler.work), 1))
            case 4:
                scheduler.advance(chance.randrange(10))
            case 5 if step == 150:
                stage.delete("c")
        for each in stage.partitions:
            assert each.log.high_watermark <= each.log.recovery_point
    scheduler.holds_threads = False
    scheduler.run()
    assert [entry["times"] for entry in ends] == [1] * len(ends), f"seed {seed}"
    assert all(entry["error"] is None or isinstance(entry["error"], FlushTimeout) for entry in ends)
    stage.directory.abandon()


def test_a_topic_deleted_before_its_flush_begins_to_run_does_not_take_the_disk_offline(stage, runner):
    partition, other = stage.add("orders", flush="ack"), stage.add("other", flush="ack")
    append(partition)
    outcomes = wait(partition)
    stage.scheduler.run()
    stage.delete("orders")
    stage.scheduler.run_threads()
    assert len(outcomes) == 1
    append(other)
    outcomes = wait(other)
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert outcomes == [None]
