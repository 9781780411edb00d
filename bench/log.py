"""The storage engine: appends, reads, look-ups, opening, recovery, compaction, and what an ack costs.

Each ceiling is the same bytes through the bare operating system, measured in turns with ours in the
same files' directory, so that a noisy disk or neighbour hits both. Of several rounds the best counts.
"""

import os
import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from crc32c import crc32c

from bench.figure import Figure
from distributedlog import Log
from distributedlog.log import REAL_FILES, LogConfig, PartitionLog, open_partition_log
from distributedlog.records import encode_batch

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
VALUE_1K = random.Random(1).randbytes(KIB)
VALUE_100 = random.Random(2).randbytes(100)


def collect(quick: bool) -> list[Figure]:
    """All figures; a quick run uses logs of a hundredth of the size."""
    scale = 100 if quick else 1
    with tempfile.TemporaryDirectory(prefix="dlog-bench-") as name:
        root = Path(name)
        return [
            _append_ratio(root / "16k", "16 KB", _batch(1000, 16), 40_000 // scale, 0.5),
            _append_ratio(root / "1m", "1 MB", _batch(1000, 1020), 600 // min(scale, 10), 0.8),
            _single_append(root / "single", 400_000 // scale),
            *_reads(root / "reads", GIB // scale),
            *_records_per_second(root / "records", 4_000_000 // scale),
            _compaction(root / "compaction", 4_000_000 // scale),
            _open_ratio(root / "open", 10 * MIB, 10 * GIB // scale),
            _recovery(root / "recovery", GIB // scale),
            *_acks(root / "acks", 2000 // min(scale, 10)),
        ]


def _batch(value_size: int, count: int) -> bytearray:
    value = VALUE_1K[:value_size]
    return encode_batch((1_700_000_000_000 + i, None, value, ()) for i in range(count))


@contextmanager
def _partition(directory: Path, **config: str) -> Iterator[PartitionLog]:
    log, _ = _open(directory, was_clean=True, **config)
    try:
        yield log
    finally:
        log.abandon()


def _open(directory: Path, *, was_clean: bool, **config: str) -> tuple[PartitionLog, float]:
    directory.mkdir(parents=True, exist_ok=True)
    settings = LogConfig.from_kafka({name.replace("_", "."): value for name, value in config.items()})
    begun = time.perf_counter()
    log, _ = open_partition_log(
        REAL_FILES, directory, settings, was_clean=was_clean, now_ms=1_700_000_100_000
    )
    return log, time.perf_counter() - begun


def _best(rounds: int, measure: Callable[[], float]) -> float:
    return min(measure() for _ in range(rounds))


# -- appending --------------------------------------------------------------------------------------


def _append_ratio(root: Path, name: str, batch: bytearray, count: int, bar: float) -> Figure:
    root.mkdir()
    ours, raw = [], []
    for round_number in range(5):
        raw.append(_raw_append(root / "raw", batch, count))
        directory = root / f"log-{round_number}"
        with _partition(directory, max_message_bytes=str(2 * MIB)) as log:
            begun = time.perf_counter()
            for _ in range(count):
                log.append(batch, now_ms=1_700_000_000_000)
            ours.append(time.perf_counter() - begun)
        _remove(directory)
    size = len(batch) * count / 1e6
    return Figure(
        f"append, 1 KB records in {name} batches, os", size / min(ours), "MB/s", bar, ceiling=size / min(raw)
    )


def _raw_append(path: Path, batch: bytearray, count: int) -> float:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        begun = time.perf_counter()
        for _ in range(count):
            crc32c(batch)
            os.write(fd, batch)
        return time.perf_counter() - begun
    finally:
        os.close(fd)
        path.unlink()


def _single_append(root: Path, count: int) -> Figure:
    def measure() -> float:
        directory = root / str(time.monotonic_ns())
        with Log(directory, flush="os") as log:
            begun = time.perf_counter()
            for _ in range(count):
                log.append(value=VALUE_1K)
            taken = time.perf_counter() - begun
        _remove(directory)
        return taken

    return Figure("Log.append, one caller, 1 KB, os", count / _best(3, measure), "records/s", 150_000)


def _acks(root: Path, count: int) -> list[Figure]:
    """flush="ack": what one fsync costs, and how many appends share it when fifty threads wait."""
    with Log(root, flush="ack") as log:
        begun = time.perf_counter()
        for _ in range(count):
            log.append(value=VALUE_1K)
        alone = count / (time.perf_counter() - begun)

        def append_many() -> None:
            for _ in range(count // 50):
                log.append(value=VALUE_1K)

        threads = [threading.Thread(target=append_many) for _ in range(50)]
        begun = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        together = count // 50 * 50 / (time.perf_counter() - begun)
    fd = os.open(root / "raw", os.O_WRONLY | os.O_CREAT)
    begun = time.perf_counter()
    for _ in range(count):
        os.write(fd, VALUE_1K)
        os.fdatasync(fd)
    raw = count / (time.perf_counter() - begun)
    os.close(fd)
    return [
        Figure("Log.append, one caller, 1 KB, ack", alone, "records/s", ceiling=raw),
        Figure("Log.append, fifty threads, 1 KB, ack", together, "records/s", ceiling=raw),
    ]


# -- reading ------------------------------------------------------------------------------------------


def _reads(root: Path, size: int) -> list[Figure]:
    batch = _batch(1000, 16)
    with _partition(root) as log:
        for number in range(size // len(batch)):
            log.append(_stamped(batch, number), now_ms=1_700_000_000_000)
        rng = random.Random(3)
        count = 2000
        offsets = [rng.randrange(log.log_end_offset) for _ in range(count)]
        times = [1_700_000_000_000 + rng.randrange(log.log_end_offset) for _ in range(count)]

        def read() -> float:
            begun = time.perf_counter()
            for offset in offsets:
                region = log.read(offset, 1)
                assert region is not None
                region.read()
            return (time.perf_counter() - begun) / count * 1e6

        def look_up() -> float:
            begun = time.perf_counter()
            for timestamp in times:
                assert log.offset_for_timestamp(timestamp) is not None
            return (time.perf_counter() - begun) / count * 1e6

        read_us, look_up_us = _best(4, read), _best(4, look_up)
    return [
        Figure(
            f"read a batch by offset, {size // MIB} MB segment, warm",
            read_us,
            "us",
            30,
            higher_is_better=False,
        ),
        Figure("look up by time, exact to the record, warm", look_up_us, "us", 100, higher_is_better=False),
    ]


def _stamped(batch: bytearray, number: int) -> bytearray:
    """The batch with times that go up from batch to batch."""
    return encode_batch((1_700_000_000_000 + number * 16 + i, None, VALUE_1K[:1000], ()) for i in range(16))


def _records_per_second(root: Path, count: int) -> list[Figure]:
    with Log(root, flush="os") as log:
        begun = time.perf_counter()
        log.append_many((None, VALUE_100) for _ in range(count))
        appended = count / (time.perf_counter() - begun)

        def read_arrow() -> float:
            begun = time.perf_counter()
            rows = sum(batch.num_rows for batch in log.read_arrow_batches())
            assert rows == count
            return time.perf_counter() - begun

        def read_objects() -> float:
            begun = time.perf_counter()
            for _ in log.read():
                pass
            return time.perf_counter() - begun

        arrow, objects = count / _best(4, read_arrow), count / _best(2, read_objects)
    return [
        Figure("Log.append_many, 100 B", appended, "records/s"),
        Figure("sequential read to Arrow, 100 B", arrow, "records/s", 20e6),
        Figure("sequential read to Python objects, 100 B", objects, "records/s", 1e6),
    ]


# -- upkeep -------------------------------------------------------------------------------------------


def _compaction(root: Path, count: int) -> Figure:
    """Ten versions of every key, values of 90 bytes and keys of 10."""
    keys = max(count // 10, 1)
    value = VALUE_100[:90]

    def measure(directory: Path) -> float:
        with Log(directory, flush="os", config={"cleanup.policy": "compact"}) as log:
            log.append_many((b"%010d" % (i % keys), value) for i in range(count))
            begun = time.perf_counter()
            stats = log.compact()
            taken = time.perf_counter() - begun
            assert stats.records_kept == keys
        _remove(directory)
        return taken

    best = min(measure(root / str(number)) for number in range(2))
    return Figure("compaction, 100 B", count / best, "records/s", 1e6)


def _open_ratio(root: Path, small: int, large: int) -> Figure:
    times = {}
    for size in (small, large):
        directory = root / str(size)
        batch = _batch(1000, 1020)
        with _partition(directory, max_message_bytes=str(2 * MIB)) as log:
            for _ in range(max(size // len(batch), 1)):
                log.append(batch, now_ms=1_700_000_000_000)
            log.close()

        def measure(directory: Path = directory) -> float:
            log, taken = _open(directory, was_clean=True)
            log.abandon()
            return taken

        times[size] = _best(20, measure)
    for size in (small, large):
        _remove(root / str(size))
    return Figure(
        f"open a cleanly closed log, {large / GIB:.1f} GB against {small // MIB} MB",
        times[large] * 1e6,
        "us",
        2,
        higher_is_better=False,
        ceiling=times[small] * 1e6,
    )


def _recovery(root: Path, size: int) -> Figure:
    batch = _batch(1000, 16)
    with _partition(root) as log:
        for _ in range(size // len(batch)):
            log.append(batch, now_ms=1_700_000_000_000)
        bytes_written = log.size

    def measure() -> float:
        log, taken = _open(root, was_clean=False)
        log.abandon()
        return taken

    return Figure(
        "recovery scan, 16 KB batches, page cache", bytes_written / _best(3, measure) / 1e9, "GB/s", 1
    )


def _remove(directory: Path) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    directory.rmdir()
