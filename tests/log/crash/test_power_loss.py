"""The power fails between any two operations of an embedded log, and once more during recovery.

Every case is made from a seed: DLOG_SEED sets the first, DLOG_CRASH_CASES how many there are.
"""

import os
import shutil
import threading
from copy import deepcopy
from random import Random

import pytest
from tests.log.crash.crash_model import Expected, check_goes_on, check_survivors
from tests.log.crash.recording_files import RecordingFiles, crash_state

from distributedlog.log import Entry, Log

SEED = int(os.environ.get("DLOG_SEED", "1"))
CASES = int(os.environ.get("DLOG_CRASH_CASES", "450"))
STATES_OF_EACH_WORKLOAD = 12
#: Small enough that a workload of a hundred records rolls several times and its indexes have entries.
SMALL = {"segment.bytes": "2048", "index.interval.bytes": "128"}


class Workload:
    """Appends to a log and keeps the books: what was appended, and in the journal when it was safe."""

    def __init__(self, root, random, flush, config):
        self.random = random
        self.files = RecordingFiles(root)
        self.directory = root / "data"
        self.config = config
        self.flush = flush
        self.records = {}
        self.timestamp = 1_000_000
        self._lock = threading.Lock()
        self.log = None

    def open(self):
        self.log = Log(self.directory, flush=self.flush, config=self.config, files=self.files)

    def close(self):
        end_offset = self.log.end_offset
        self.log.close()
        self.files.mark("safe", end_offset)

    def fields(self):
        random = self.random
        with self._lock:
            self.timestamp += random.choice((-3, 0, 1, 1, 2, 50))
            key = random.choice((None, b"k%d" % random.randrange(5)))
            value = random.choice((None, random.randbytes(random.randrange(300))))
            headers = random.choice(((), (("h", random.randbytes(5)), ("empty", None))))
            return key, value, headers, self.timestamp

    def append(self, count=1):
        for _ in range(count):
            key, value, headers, timestamp = fields = self.fields()
            offset = self.log.append(key=key, value=value, headers=headers, timestamp=timestamp)
            self.note(offset, fields)

    def append_equal(self, count=1):
        """Records of one size, so that what follows a cut may fit behind what takes its place."""
        for _ in range(count):
            with self._lock:
                self.timestamp += 1
                fields = (None, b"%032d" % self.random.getrandbits(100), (), self.timestamp)
            self.note(self.log.append(value=fields[1], timestamp=fields[3]), fields)

    def append_many(self, count=20):
        batch = [self.fields() for _ in range(count)]
        offsets = self.log.append_many(Entry(*fields) for fields in batch)
        for offset, fields in zip(offsets, batch, strict=True):
            self.note(offset, fields)

    def append_from_threads(self, threads=4, count=8):
        workers = [threading.Thread(target=self.append, args=(count,)) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    def note(self, offset, fields):
        with self._lock:
            assert offset not in self.records, f"offset {offset} was given twice"
            self.records[offset] = fields
        if self.flush == "ack":
            self.files.mark("safe", offset + 1)

    def delete_before(self):
        offset = self.random.randint(self.log.start_offset, self.log.end_offset)
        self.files.mark("deleted", offset)
        self.log.delete_before(offset)

    def reopen(self):
        self.close()
        self.open()

    def expected_after(self, operations):
        expected = Expected(dict(self.records))
        for operation in self.files.journal[:operations]:
            if operation.kind == "mark" and operation.target == "safe":
                expected.acknowledged = max(expected.acknowledged, operation.other)
            elif operation.kind == "mark" and operation.target == "deleted":
                expected.deleted = max(expected.deleted, operation.other)
        return expected


def single_thread(work):
    work.append(40)


def equal_records(work):
    work.append_equal(60)


def batches(work):
    for _ in range(5):
        work.append_many(work.random.randrange(1, 12))
        work.append(3)


def several_threads(work):
    work.append_from_threads()


def clean_reopens(work):
    for _ in range(3):
        work.append(10)
        work.reopen()
    work.append_many(10)


def deletions(work):
    for _ in range(4):
        work.append(12)
        work.delete_before()
    work.append(2)


def everything(work):
    for _ in range(8):
        step = work.random.choice(
            (work.append, work.append_equal, work.append_many, work.append_from_threads, work.delete_before)
        )
        step()
        if work.random.random() < 0.2:
            work.reopen()


WORKLOADS = [single_thread, equal_records, batches, several_threads, clean_reopens, deletions, everything]


@pytest.mark.parametrize("flush", ["ack", "interval", "os"])
@pytest.mark.parametrize("workload", WORKLOADS)
def test_after_a_power_loss_all_that_was_acknowledged_is_there(memory_path, workload, flush):
    number_of_workloads = len(WORKLOADS) * 3
    cases = max(CASES // number_of_workloads, 1)
    for number in range(cases):
        seed = f"{SEED}-{workload.__name__}-{flush}-{number // STATES_OF_EACH_WORKLOAD}"
        if number % STATES_OF_EACH_WORKLOAD == 0:
            work = run_workload(memory_path / f"work-{number}", workload, flush, seed)
        try:
            crash_and_check(work, memory_path / "crash", Random(f"{seed}-{number}"))
        except Exception as error:
            error.add_note(f"seed {seed}, case {number}; DLOG_SEED={SEED}")
            raise
        shutil.rmtree(memory_path / "crash")


def run_workload(root, workload, flush, seed):
    root.mkdir()
    random = Random(seed)
    config = dict(SMALL, **{"segment.bytes": str(random.choice((512, 1024, 4096)))})
    work = Workload(root, random, flush, config)
    work.open()
    workload(work)
    work.close()
    return work


def crash_and_check(work, root, random):
    """Crash once in the work, once in the recovery from that, and then go on for good."""
    root.mkdir()
    end = random.randint(0, len(work.files.journal))
    expected = work.expected_after(end)
    crash_state(work.files, end, random, root / "first")
    second = recover_and_crash_again(root, expected, random, work.config)
    check_goes_on(
        second / "data", expected, random, work.config, files=RecordingFiles(second), flush=work.flush
    )


def recover_and_crash_again(root, expected, random, config):
    files = RecordingFiles(root / "first")
    log = Log(root / "first" / "data", config=config, files=files, flush="os")
    check_survivors(log, deepcopy(expected), random)
    abandon(log)
    end = random.randint(0, len(files.journal))
    return crash_state(files, end, random, root / "second")


def abandon(log):
    """Let go of a log as the death of its process would."""
    log._flush_thread.stop()
    log._directory.abandon()
