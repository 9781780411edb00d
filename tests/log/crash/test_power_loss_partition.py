"""The power fails under one partition's log: idempotent producers, transactions, epochs, truncation.

The log that recovery finds must be a beginning of one that there was, with all that was flushed and not
truncated since. What it knows of producers, transactions and epochs must be what its batches say.
"""

import shutil
from collections import defaultdict
from pathlib import Path
from random import Random

from tests.log.crash.recording_files import RecordingFiles, crash_state
from tests.log.crash.test_power_loss import CASES, SEED, STATES_OF_EACH_WORKLOAD

from distributedlog.log import AppendOrigin, LogConfig, LogDirectory
from distributedlog.log.truncation import truncate_to
from distributedlog.records import (
    BatchBuilder,
    ControlType,
    build_control_batch,
    decode_batch,
    iterate_batches,
    parse_control_record,
)

NOW_MS = 1_700_000_000_000
CONFIG = LogConfig.from_kafka({"segment.bytes": "700", "index.interval.bytes": "100", "retention.ms": "-1"})
PRODUCERS = (7, 8, 9)


def open_directory(root, files):
    return LogDirectory(Path(root) / "data", files=files, clock_ms=lambda: NOW_MS)


def batches_of(log):
    """All batches, byte for byte."""
    batches = []
    for segment in log.segments:
        data = segment.region(0, segment.size).read()
        batches += [bytes(data[at : at + header.size]) for at, header in iterate_batches(data)]
    return batches


class Producers:
    """What a naive reader of the batches knows of producers and transactions."""

    def __init__(self, batches):
        self.last = {}
        self.open = {}
        self.aborted = []
        self.epochs = {}
        for batch in batches:
            header = next(iterate_batches(batch))[1]
            self.epochs.setdefault(header.partition_leader_epoch, header.base_offset)
            if header.is_control:
                self._end(header, parse_control_record(decode_batch(batch)[0]))
            elif header.producer_id >= 0:
                self.last[header.producer_id] = (header.producer_epoch, header.last_sequence)
                if header.is_transactional:
                    self.open.setdefault(header.producer_id, header.base_offset)

    def _end(self, header, control):
        first = self.open.pop(header.producer_id, None)
        if first is not None and control.control_type == ControlType.ABORT:
            self.aborted.append((header.producer_id, first, header.base_offset))

    def last_stable_offset(self, log_end_offset):
        return min([log_end_offset, *self.open.values()])


class PartitionWorkload:
    def __init__(self, root, random):
        self.random = random
        self.files = RecordingFiles(root)
        self.root = root
        self.leader_epoch = 0
        self.states = []
        self.open()

    def open(self):
        self.directory = open_directory(self.root, self.files)
        self.log = self.directory.open_log("t", 0, CONFIG)
        self.log.advance_high_watermark(self.log.log_end_offset)
        self.note()

    def note(self, kind="state"):
        self.files.mark(kind, tuple(batches_of(self.log)))

    def append(self):
        random = self.random
        known = Producers(batches_of(self.log))
        producer_id = random.choice((-1, *PRODUCERS))
        sequence = known.last.get(producer_id, (0, -1))[1] + 1 if producer_id >= 0 else -1
        is_open = producer_id in known.open
        builder = BatchBuilder(
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
            is_transactional=producer_id >= 0 and (is_open or random.random() < 0.5),
        )
        for number in range(random.randint(1, 3)):
            builder.append(NOW_MS + number, None, random.randbytes(random.choice((20, 20, 150))), ())
        self.log.append(builder.build(), leader_epoch=self.leader_epoch, now_ms=NOW_MS)
        self.note()

    def end_transaction(self):
        known = Producers(batches_of(self.log))
        if known.open:
            marker = build_control_batch(
                self.random.choice((ControlType.ABORT, ControlType.ABORT, ControlType.COMMIT)),
                NOW_MS,
                producer_id=self.random.choice(sorted(known.open)),
                producer_epoch=0,
            )
            self.log.append(
                marker, leader_epoch=self.leader_epoch, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR
            )
            self.note()

    def flush(self):
        self.log.flush()
        self.log.advance_high_watermark(self.log.log_end_offset)
        self.note("flushed")

    def truncate(self):
        if self.log.log_end_offset:
            offset = self.log.log_end_offset - self.random.randint(0, min(self.log.log_end_offset, 12))
            truncate_to(self.log, offset, NOW_MS)
            self.leader_epoch += 1
            self.note()

    def reopen(self):
        self.directory.close()
        self.open()
        self.note("flushed")

    def checkpoint(self):
        self.directory.write_checkpoints()


def run(root, seed):
    root.mkdir()
    work = PartitionWorkload(root, Random(seed))
    steps = [work.append] * 12 + [work.end_transaction] * 4 + [work.flush] * 4
    steps += [work.truncate, work.reopen, work.checkpoint]
    for _ in range(60):
        work.random.choice(steps)()
    work.directory.close()
    return work


def possible_logs(journal, end):
    """The states the log was in from its last flush before the crash to the operation it met."""
    found = [()]
    for number, operation in enumerate(journal):
        if operation.kind == "mark":
            found = [operation.other] if operation.target == "flushed" and number < end else [
                *found, operation.other
            ]  # fmt: skip
            if number >= end:
                break
    return found


def check(log, states):
    batches = tuple(batches_of(log))
    assert any(state[: len(batches)] == batches for state in states), "no log was ever like this"
    flushed = next(
        (number for number, several in enumerate(zip(*states, strict=False)) if len(set(several)) > 1),
        min(map(len, states)),
    )
    assert batches[:flushed] == states[0][:flushed], "a flushed batch is gone"
    known = Producers(batches)
    log.advance_high_watermark(log.log_end_offset)
    assert log.last_stable_offset == known.last_stable_offset(log.log_end_offset)
    aborted = [found[:3] for found in log.aborted_transactions(0, log.log_end_offset)]
    assert sorted(map(tuple, aborted)) == sorted(known.aborted)
    found = {
        entry.producer_id: (entry.producer_epoch, entry.last_sequence)
        for entry in log.producer_states.entries()
    }
    assert found == known.last
    assert dict(log.leader_epochs.entries) == known.epochs


def check_goes_on(log, leader_epoch):
    """Producers go on where they were, and what they send again is known."""
    by_producer = defaultdict(list)
    for batch in batches_of(log):
        header = next(iterate_batches(batch))[1]
        if header.producer_id >= 0 and not header.is_control:
            by_producer[header.producer_id].append((header, batch))
    for sent in by_producer.values():
        header, batch = sent[-1]
        again = log.append(bytearray(batch), leader_epoch=leader_epoch, now_ms=NOW_MS)
        assert again.is_duplicate
        assert again.first_offset == header.base_offset
        builder = BatchBuilder(
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.last_sequence + 1,
            is_transactional=header.producer_id in Producers(batches_of(log)).open,
        )
        builder.append(NOW_MS, None, b"next", ())
        end_offset = log.log_end_offset
        result = log.append(builder.build(), leader_epoch=leader_epoch, now_ms=NOW_MS)
        assert result.first_offset == end_offset


def test_producers_transactions_and_epochs_survive_a_power_loss(memory_path):
    for number in range(max(CASES // 4, 1)):
        seed = f"{SEED}-partition-{number // STATES_OF_EACH_WORKLOAD}"
        if number % STATES_OF_EACH_WORKLOAD == 0:
            work = run(memory_path / f"work-{number}", seed)
        try:
            crash_and_check(work, memory_path / "crash", Random(f"{seed}-{number}"))
        except Exception as error:
            error.add_note(f"seed {seed}, case {number}; DLOG_SEED={SEED}")
            raise
        shutil.rmtree(memory_path / "crash")


def crash_and_check(work, root, random):
    root.mkdir()
    end = random.randint(0, len(work.files.journal))
    states = possible_logs(work.files.journal, end)
    crash_state(work.files, end, random, root / "first")
    files = RecordingFiles(root / "first")
    directory = open_directory(root / "first", files)
    check(directory.open_log("t", 0, CONFIG), states)
    directory.abandon()
    crash_state(files, random.randint(0, len(files.journal)), random, root / "second")
    with open_directory(root / "second", RecordingFiles(root / "second")) as directory:
        log = directory.open_log("t", 0, CONFIG)
        check(log, states)
        check_goes_on(log, work.leader_epoch + 1)
        left = [tuple(batches_of(log))]
    with open_directory(root / "second", RecordingFiles(root / "second")) as directory:
        log = directory.open_log("t", 0, CONFIG)
        assert directory.reports["t", 0].was_clean
        check(log, left)
