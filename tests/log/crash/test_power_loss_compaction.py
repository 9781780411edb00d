"""The power fails while a compacted log is appended to, compacted, closed and opened.

Compaction may take a record only when a younger one of the same key is safe in its place.
"""

import os
import shutil
from random import Random

import pytest
from tests.log.crash.crash_model import check_no_damage
from tests.log.crash.recording_files import RecordingFiles, crash_state
from tests.log.crash.test_power_loss import CASES, SEED, STATES_OF_EACH_WORKLOAD, Workload, abandon

from distributedlog.log import Log

CONFIG = {"segment.bytes": "1024", "index.interval.bytes": "128", "cleanup.policy": "compact"}


class CompactedWorkload(Workload):
    def fields(self):
        _, value, headers, timestamp = super().fields()
        return b"k%d" % self.random.randrange(6), value, headers, timestamp

    def compact(self):
        self.files.mark("compaction")
        self.log.compact()


def run(root, flush, seed):
    root.mkdir()
    work = CompactedWorkload(root, Random(seed), flush, CONFIG)
    work.open()
    for _ in range(10):
        work.random.choice((work.append, work.append_many, work.append_from_threads, work.compact))()
        if work.random.random() < 0.25:
            work.append(5)
        if work.random.random() < 0.2:
            work.reopen()
    work.compact()
    work.append(3)
    work.close()
    return work


def check_latest(log, expected, was_compacted):
    """Every key's last value is there; what else is missing below the log's end was superseded."""
    assert log.end_offset >= expected.acknowledged
    records = {record.offset: record for record in log.read()}
    assert list(records) == sorted(records)
    for offset, record in records.items():
        assert (record.key, record.value, record.headers, record.timestamp) == expected.records[offset]
    latest = {}
    for offset in range(log.end_offset):
        latest[expected.records[offset][0]] = offset
    missing = set(range(log.end_offset)) - set(records)
    assert not missing or was_compacted
    assert missing.isdisjoint(latest.values()), f"{log}: {sorted(missing)}, {log.recovery}"


@pytest.mark.parametrize("flush", ["ack", "interval", "os"])
def test_a_power_loss_never_takes_the_last_value_of_a_key(memory_path, flush):
    for number in range(max(CASES // 9, 1)):
        seed = f"{SEED}-compaction-{flush}-{number // STATES_OF_EACH_WORKLOAD}"
        if number % STATES_OF_EACH_WORKLOAD == 0:
            work = run(memory_path / f"work-{number}", flush, seed)
        try:
            crash_and_check(work, memory_path / "crash", Random(f"{seed}-{number}"))
        except Exception as error:
            error.add_note(f"seed {seed}, case {number}; DLOG_SEED={SEED}")
            raise
        shutil.rmtree(memory_path / "crash")


def crash_and_check(work, root, random):
    root.mkdir()
    end = random.randint(0, len(work.files.journal))
    expected = work.expected_after(end)
    was_compacted = any(
        operation.kind == "mark" and operation.target == "compaction"
        for operation in work.files.journal[:end]
    )
    crash_state(work.files, end, random, root / "first")
    files = RecordingFiles(root / "first")
    log = Log(root / "first" / "data", config=CONFIG, files=files, flush="os")
    check_latest(log, expected, was_compacted)
    log.compact()
    check_latest(log, expected, was_compacted=True)
    abandon(log)
    crash_state(files, random.randint(0, len(files.journal)), random, root / "second")
    directory = root / "second" / "data"
    with Log(directory, config=CONFIG, files=RecordingFiles(root / "second"), flush=work.flush) as log:
        check_latest(log, expected, was_compacted=True)
        log.compact()
        check_latest(log, expected, was_compacted=True)
        assert log.append(key=b"after", value=b"1") == log.end_offset - 1
    leftovers = (".cleaned", ".swapping", ".deleted", ".tmp")
    assert [name for name in os.listdir(directory / "log-0") if name.endswith(leftovers)] == []
    check_no_damage(directory)
