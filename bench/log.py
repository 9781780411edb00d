"""The storage engine: appends, reads, look-ups, opening, recovery, compaction, and what an ack costs.

Each ceiling is the same bytes through the bare operating system, measured in turns with ours in the
same files' directory, so that a noisy disk or neighbour hits both. Of several rounds the best counts.
"""

import os
import random
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bench import bare_files
from bench.figure import Figure
from bench.records import READY_TUPLES, ready_tuples
from distributedlog import Log
from distributedlog.log import REAL_FILES, LogConfig, PartitionLog, open_partition_log
from distributedlog.records import Record, decode_batch, encode_batch, encode_single

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
TIMESTAMP = 1_700_000_000_000
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
    return encode_batch((TIMESTAMP + i, None, value, ()) for i in range(count))


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


def _best_in_turns(rounds: int, ours: Callable[[], float], bare: Callable[[], float]) -> tuple[float, float]:
    times = [(bare(), ours()) for _ in range(rounds)]
    return min(time for _, time in times), min(time for time, _ in times)


# -- appending --------------------------------------------------------------------------------------


def _append_ratio(root: Path, name: str, batch: bytearray, count: int, bar: float) -> Figure:
    root.mkdir()

    def measure() -> float:
        directory = root / "log"
        with _partition(directory, max_message_bytes=str(2 * MIB)) as log:
            begun = time.perf_counter()
            for _ in range(count):
                log.append(batch, now_ms=TIMESTAMP)
            taken = time.perf_counter() - begun
        _remove(directory)
        return taken

    ours, bare = _best_in_turns(5, measure, lambda: bare_files.write_seconds(root / "bare", batch, count))
    size = len(batch) * count / 1e6
    return Figure(
        f"append, 1 KB records in {name} batches, os",
        size / ours,
        "MB/s",
        ceiling=size / bare,
        ceiling_is=bare_files.WRITE,
        ratio_bar=bar,
    )


def _single_append(root: Path, count: int) -> Figure:
    root.mkdir()
    batch = encode_single(TIMESTAMP, None, VALUE_1K)

    def measure() -> float:
        directory = root / "log"
        with Log(directory, flush="os") as log:
            begun = time.perf_counter()
            for _ in range(count):
                log.append(value=VALUE_1K)
            taken = time.perf_counter() - begun
        _remove(directory)
        return taken

    ours, bare = _best_in_turns(3, measure, lambda: bare_files.write_seconds(root / "bare", batch, count))
    return Figure(
        "Log.append, one caller, 1 KB, os",
        count / ours,
        "records/s",
        ceiling=count / bare,
        ceiling_is=bare_files.WRITE,
        bar=150_000,
    )


def _acks(root: Path, count: int) -> list[Figure]:
    """flush="ack": what one fsync costs, and how many appends share it when fifty threads wait."""
    batch = encode_single(TIMESTAMP, None, VALUE_1K)

    def write_bare() -> float:
        return bare_files.write_seconds(root / "bare", batch, count, sync=True)

    root.mkdir()
    bare = write_bare()
    with Log(root / "log", flush="ack") as log:
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
    ceiling = count / min(bare, write_bare())
    return [
        Figure(
            f"Log.append, {callers}, 1 KB, ack",
            value,
            "records/s",
            ceiling=ceiling,
            ceiling_is=bare_files.SYNC,
        )
        for callers, value in (("one caller", alone), ("fifty threads", together))
    ]


# -- reading ------------------------------------------------------------------------------------------


def _reads(root: Path, size: int) -> list[Figure]:
    batch = _batch(1000, 16)
    with _partition(root) as log:
        for number in range(size // len(batch)):
            log.append(_stamped(batch, number), now_ms=TIMESTAMP)
        rng = random.Random(3)
        count = 2000
        offsets = [rng.randrange(log.log_end_offset) for _ in range(count)]
        times = [TIMESTAMP + rng.randrange(log.log_end_offset) for _ in range(count)]

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

        regions = [log.read(offset, 1) for offset in offsets]
        single = encode_single(TIMESTAMP, None, VALUE_1K[:1000])

        def read_bare() -> float:
            begun = time.perf_counter()
            for region in regions:
                os.pread(region.file.fd, region.size, region.position)
            return (time.perf_counter() - begun) / count * 1e6

        def look_up_bare() -> float:
            begun = time.perf_counter()
            for region in regions:
                os.pread(region.file.fd, region.size, region.position)
                decode_batch(single)
            return (time.perf_counter() - begun) / count * 1e6

        read_us, read_bare_us = _best_in_turns(4, read, read_bare)
        look_up_us, look_up_bare_us = _best_in_turns(4, look_up, look_up_bare)
    return [
        Figure(
            f"read a batch by offset, {size // MIB} MB segment, warm",
            read_us,
            "µs",
            ceiling=read_bare_us,
            ceiling_is="os.pread of the same bytes, whose place is known",
            bar=30,
            higher_is_better=False,
        ),
        Figure(
            "look up by time, exact to the record, warm",
            look_up_us,
            "µs",
            ceiling=look_up_bare_us,
            ceiling_is="os.pread of one batch whose place is known, and decode_batch of one record",
            bar=100,
            higher_is_better=False,
        ),
    ]


def _stamped(batch: bytearray, number: int) -> bytearray:
    """The batch with times that go up from batch to batch."""
    return encode_batch((TIMESTAMP + number * 16 + i, None, VALUE_1K[:1000], ()) for i in range(16))


def _records_per_second(root: Path, count: int) -> list[Figure]:
    with Log(root, flush="os") as log:
        begun = time.perf_counter()
        log.append_many((None, VALUE_100) for _ in range(count))
        appended = time.perf_counter() - begun
        batch = encode_batch((TIMESTAMP, None, VALUE_100, ()) for _ in range(500))
        write_bare = _best(2, lambda: bare_files.write_seconds(root / "bare", batch, count // 500))

        def read_arrow() -> float:
            begun = time.perf_counter()
            rows = sum(batch.num_rows for batch in log.read_arrow_batches())
            assert rows == count
            return time.perf_counter() - begun

        def read_objects() -> float:
            begun = time.perf_counter()
            consume(log.read())
            return time.perf_counter() - begun

        def make_objects() -> float:
            begun = time.perf_counter()
            for _ in range(count // len(some)):
                consume(tuples())
            return time.perf_counter() - begun

        consume = deque[Record](maxlen=0).extend
        some = [Record(offset, TIMESTAMP, None, VALUE_100) for offset in range(10_000)]
        tuples = ready_tuples(some)
        arrow, arrow_bare = _best_in_turns(4, read_arrow, lambda: bare_files.read_seconds(root))
        objects, objects_bare = _best_in_turns(2, read_objects, make_objects)

    def rate(name: str, seconds: float, bare: float, ceiling_is: str, bar: float | None = None) -> Figure:
        ceiling = count / bare / 1e6
        value = count / seconds / 1e6
        return Figure(name, value, "M records/s", ceiling=ceiling, ceiling_is=ceiling_is, bar=bar)

    return [
        rate("Log.append_many, 100 B", appended, write_bare, bare_files.WRITE),
        rate("sequential read to Arrow, 100 B", arrow, arrow_bare, bare_files.READ, bar=20),
        rate("sequential read to Python objects, 100 B", objects, objects_bare, READY_TUPLES, bar=1),
    ]


# -- upkeep -------------------------------------------------------------------------------------------


def _compaction(root: Path, count: int) -> Figure:
    """Ten versions of every key, values of 90 bytes and keys of 10."""
    keys = max(count // 10, 1)
    value = VALUE_100[:90]

    def measure(directory: Path) -> tuple[float, float]:
        with Log(directory, flush="os", config={"cleanup.policy": "compact"}) as log:
            log.append_many((b"%010d" % (i % keys), value) for i in range(count))
            bare = bare_files.copy_seconds(directory, directory / "bare", kept=keys / count)
            begun = time.perf_counter()
            stats = log.compact()
            taken = time.perf_counter() - begun
            assert stats.records_kept == keys
        _remove(directory)
        return taken, bare

    times = [measure(root / str(number)) for number in range(2)]
    return Figure(
        "compaction, 100 B",
        count / min(ours for ours, _ in times) / 1e6,
        "M records/s",
        ceiling=count / min(bare for _, bare in times) / 1e6,
        ceiling_is=bare_files.KEEP,
        bar=1,
    )


def _open_ratio(root: Path, small: int, large: int) -> Figure:
    times = {}
    for size in (small, large):
        directory = root / str(size)
        batch = _batch(1000, 1020)
        with _partition(directory, max_message_bytes=str(2 * MIB)) as log:
            for _ in range(max(size // len(batch), 1)):
                log.append(batch, now_ms=TIMESTAMP)
            log.close()

        def measure(directory: Path = directory) -> float:
            log, taken = _open(directory, was_clean=True)
            log.abandon()
            return taken

        times[size] = _best(20, measure)
    for size in (small, large):
        _remove(root / str(size))
    return Figure(
        f"open a cleanly closed log, {large / GIB:.3g} GB to {small // MIB} MB",
        times[large] * 1e6,
        "µs",
        ceiling=times[small] * 1e6,
        ceiling_is=f"opening the one of {small // MIB} MB",
        ratio_bar=2,
        higher_is_better=False,
    )


def _recovery(root: Path, size: int) -> Figure:
    batch = _batch(1000, 16)
    with _partition(root) as log:
        for _ in range(size // len(batch)):
            log.append(batch, now_ms=TIMESTAMP)
        bytes_written = log.size

    def measure() -> float:
        log, taken = _open(root, was_clean=False)
        log.abandon()
        return taken

    ours, bare = _best_in_turns(3, measure, lambda: bare_files.read_seconds(root))
    return Figure(
        "recovery scan, 16 KB batches, page cache",
        bytes_written / ours / 1e9,
        "GB/s",
        ceiling=bytes_written / bare / 1e9,
        ceiling_is=bare_files.READ,
        bar=1,
    )


def _remove(directory: Path) -> None:
    for path in sorted(directory.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    directory.rmdir()
