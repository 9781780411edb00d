"""Readers in other threads while a log rolls, forgets, compacts and is cut: never a wrong record.

What the writer does follows from a seed; how the threads interleave does not, and the checks hold however
they do. Every record can be told from its offset alone, so a reader needs no help to know a wrong one.
"""

import random
import sys
import threading

import pytest

from distributedlog.log import REAL_FILES, Log, LogConfig, LogReader, open_partition_log
from distributedlog.log.truncation import truncate_to
from distributedlog.records import BatchBuilder, decode_batch, iterate_batches

T0 = 1_700_000_000_000
KEYS = 23
READERS = 3
DEADLINE_S = 120


@pytest.fixture(autouse=True)
def threads_take_turns_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(before)


def fields(offset):
    """Key and value of the record at an offset; sizes vary, so that positions tell nothing."""
    return b"%d" % (offset % KEYS), b"%d:" % offset + b"v" * (offset * 7919 % 300)


def check(record):
    assert (record.key, record.value) == fields(record.offset), record


class Readers:
    """Threads that read over and over until the writer is done, then once more."""

    def __init__(self, *reads):
        self.is_done = threading.Event()
        self.failures = []
        self.rounds = [0] * len(reads)
        self.threads = [
            threading.Thread(target=self._run, args=(number, read)) for number, read in enumerate(reads)
        ]

    def _run(self, number, read):
        try:
            while not self.is_done.is_set() and not self.failures:
                read()
                self.rounds[number] += 1
            read()
        except BaseException as error:  # noqa: BLE001 - a thread's failure is the test's
            self.failures.append(error)

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_done.set()
        for thread in self.threads:
            thread.join(DEADLINE_S)
            assert not thread.is_alive()
        for failure in self.failures:
            raise failure
        assert all(self.rounds)


def read_through(source, log, is_compacted, rng):
    """One pass from somewhere to the end: nothing wrong, nothing twice, nothing skipped that is there."""
    end_before = log._log.high_watermark
    start = rng.choice([None, rng.randint(log.start_offset, max(log.start_offset, end_before))])
    if start is not None and start < log.start_offset + 400:
        start = None  # retention may take it before the read begins, and that is refused
    previous = (log.start_offset if start is None else start) - 1
    first = True
    for record in source.read(start):
        check(record)
        assert first or record.offset > previous
        if record.offset > previous + 1:
            skipped = range(previous + 1, record.offset)
            lost = [offset for offset in skipped if not may_be_gone(source, log, offset, is_compacted)]
            assert not lost, (lost, record.offset)
        previous, first = record.offset, False
    missing = range(previous + 1, end_before)
    assert not [offset for offset in missing if not may_be_gone(source, log, offset, is_compacted)]


def may_be_gone(source, log, offset, is_compacted):
    """Deleted, which a reader of the directory may hear before the writer's own face says it; or taken
    by compaction because its key has come again."""
    return (
        offset < log.start_offset
        or offset < source.start_offset
        or (is_compacted and offset + KEYS < log.end_offset)
    )


def look_up_times(source, log, is_compacted, rng):
    """Timestamps rise with the offsets here, so what is found must be the first that is still there."""
    offset = rng.randint(log.start_offset, log.end_offset)
    end_before = log._log.high_watermark
    found = source.offset_for_time(T0 + offset)
    if found is None:
        skipped = range(offset, end_before)
    else:
        assert found >= offset
        skipped = range(offset, found)
    assert not [gone for gone in skipped if not may_be_gone(source, log, gone, is_compacted)]


def write(log, rng, steps, is_compacted):
    for _ in range(steps):
        step = rng.random()
        if step < 0.55:
            offset = log.end_offset
            key, value = fields(offset)
            assert log.append(key=key, value=value, timestamp=T0 + offset) == offset
        elif step < 0.90:
            offset = log.end_offset
            many = range(offset, offset + rng.randint(1, 60))
            assert log.append_many([_entry(number) for number in many]) == many
        elif step < 0.93:
            log.delete_before(rng.randint(log.start_offset, log.start_offset + 100) % (log.end_offset + 1))
        elif step < 0.97:
            log.apply_retention()
        elif is_compacted:
            log.compact()


def _entry(offset):
    from distributedlog.log import Entry

    key, value = fields(offset)
    return Entry(key, value, (), T0 + offset)


@pytest.mark.parametrize(
    ("policy", "flush", "codec", "steps"),
    [
        ("delete", "os", "none", 400),
        ("delete", "ack", "lz4", 120),
        ("compact,delete", "os", "none", 200),
        ("compact", "interval", "zstd", 150),
    ],
)
def test_readers_of_a_log_never_see_a_wrong_record(tmp_path, policy, flush, codec, steps):
    is_compacted = "compact" in policy
    config = {
        "segment.bytes": 6_000,
        "index.interval.bytes": 500,
        "cleanup.policy": policy,
        "retention.bytes": 400_000 if "delete" in policy else -1,
    }
    with Log(tmp_path, flush=flush, compression=codec, config=config) as log:
        log.append_many([_entry(offset) for offset in range(50)])
        readers = [LogReader(tmp_path) for _ in range(2)]
        rngs = [random.Random(seed) for seed in range(5)]
        with Readers(
            lambda: read_through(log, log, is_compacted, rngs[0]),
            lambda: read_through(log, log, is_compacted, rngs[1]),
            lambda: read_through(readers[0], log, is_compacted, rngs[2]),
            lambda: look_up_times(log, log, is_compacted, rngs[3]),
            lambda: look_up_times(readers[1], log, is_compacted, rngs[4]),
        ):
            write(log, random.Random(steps), steps, is_compacted)
        for reader in readers:
            reader.close()
        assert log.start_offset > 0
        assert log.end_offset > 5 * steps


def test_what_is_below_the_high_watermark_stays_as_it_is_while_the_rest_is_cut(tmp_path):
    """A follower that cuts its log back to the leader's: readers are given committed batches only.

    They get regions under the log's lock, as a broker's event loop gives them, and read them later.
    """
    config = LogConfig(segment_bytes=3_000, index_interval_bytes=200)
    log, _ = open_partition_log(REAL_FILES, tmp_path, config, was_clean=True, now_ms=T0)
    lock = threading.Lock()
    committed = []

    def build(rng, generation):
        """Of a later generation other values, at the same offsets."""
        builder = BatchBuilder()
        for _ in range(rng.randint(1, 5)):
            builder.append(T0, b"%d" % generation, b"v" * rng.randint(0, 200))
        return builder.build()

    def read(rng):
        with lock:
            end = log.high_watermark
            if end == log.log_start_offset:
                return
            offset = rng.randint(log.log_start_offset, end - 1)
        while offset < end:
            with lock:
                region = log.read(offset, rng.choice([1, 500, 5000]), upper_offset=end)
            data = region.read()
            for position, header in iterate_batches(data):
                for record in decode_batch(data, position):
                    assert committed[record.offset] == (record.key, record.value)
                offset = header.next_offset

    rngs = [random.Random(seed) for seed in range(READERS)]
    writer = random.Random(99)
    pending = []
    with Readers(*[lambda rng=rng: read(rng) for rng in rngs]):
        for generation in range(700):
            with lock:
                step = writer.random()
                if step < 0.6:
                    result = log.append(build(writer, generation), now_ms=T0)
                    data = log.read(result.first_offset, 1 << 20).read()
                    pending += [(record.key, record.value) for record in decode_batch(data)]
                elif step < 0.8 and pending:
                    # Commit up to a batch's end, as a leader does.
                    position = len(committed) + writer.randint(1, len(pending))
                    ends = [
                        at.last_offset + 1
                        for segment in log.segments
                        for at in segment.batches()
                        if at.last_offset + 1 <= position
                    ]
                    count = max(ends[-1] - len(committed), 0) if ends else 0
                    committed += pending[:count]
                    del pending[:count]
                    log.advance_high_watermark(len(committed))
                elif pending:
                    truncate_to(log, len(committed) + writer.randint(0, len(pending) - 1), T0)
                    del pending[log.log_end_offset - len(committed) :]
                    assert log.log_end_offset >= len(committed) == log.high_watermark
                else:
                    log.roll(T0)
    assert len(committed) > 200
    assert len(log.segments) > 3
    log.close()
