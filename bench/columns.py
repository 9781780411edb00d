"""Batches to Arrow and back, and compaction: what the kernels do on one core."""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa
from crc32c import crc32c

from bench.figure import Figure
from distributedlog.records import Compression, iterate_batches
from distributedlog.records.columns import decode_chunk, encode_from_arrow
from distributedlog.records.compaction import Compactor, Treatment
from distributedlog.records.compaction_compiled import CompiledCompactor
from distributedlog.records.compaction_python import PythonCompactor

TIMESTAMP = 1_700_000_000_000
CHUNK_SIZE = 8 << 20
BATCH_SIZE = 16 * 1024
RECORD_SIZE = 100
MAP_MEMORY = 128 << 20
MILLION = 1e6
GIGABYTE = 1e9


def collect(quick: bool = False) -> list[Figure]:
    """All figures of the columns and of compaction; ``quick`` only shows that they can be measured."""
    return [
        *decoding(quick),
        *encoding(quick),
        *compaction(quick),
        *loading(quick),
    ]


def decoding(quick: bool) -> list[Figure]:
    """Chunks of 8 MB, 100-byte records in batches of 16 KB, CRCs checked."""
    rows = CHUNK_SIZE // RECORD_SIZE
    chunk = bytes(encode_from_arrow(records(rows), batch_size_max=BATCH_SIZE))
    zstd = bytes(encode_from_arrow(records(rows), batch_size_max=BATCH_SIZE, compression=Compression.ZSTD))
    everything = partial(decode_chunk, chunk)
    seconds = best_of(everything, quick)
    floor = best_of(partial(crc32c, chunk), quick) + best_of(partial(copy_into, chunk), quick)
    place = partial(decode_chunk, chunk, columns=["offset", "timestamp"])
    return [
        Figure("decode to Arrow, 100-byte records", rows / seconds / MILLION, "M records/s", bar=20.0),
        Figure(
            "decode to Arrow; ceiling: CRC and one copy of the same bytes",
            len(chunk) / seconds / GIGABYTE,
            "GB/s",
            ceiling=len(chunk) / floor / GIGABYTE,
        ),
        rate("decode to Arrow, offset and timestamp only", place, rows, quick),
        rate("decode to Arrow, CRC not checked", partial(decode_chunk, chunk, check_crc=False), rows, quick),
        rate("decode to Arrow, zstd", partial(decode_chunk, zstd), rows, quick),
    ]


def encoding(quick: bool) -> list[Figure]:
    """The same records from Arrow to batches of 16 KB and of 256 KB."""
    rows = CHUNK_SIZE // RECORD_SIZE
    table = records(rows)
    small = partial(encode_from_arrow, table, batch_size_max=BATCH_SIZE)
    large = partial(encode_from_arrow, table)
    return [
        rate("encode from Arrow, 16 KB batches", small, rows, quick),
        rate("encode from Arrow, 256 KB batches", large, rows, quick),
    ]


def compaction(quick: bool) -> list[Figure]:
    """Map of keys and rewriting together, in memory: 100-byte records, uncompressed, each read twice."""
    figures = []
    for keys, bar in ((1_000, 1.0), (500_000, 1.0)):
        figures.append(compaction_rate("kernels", CompiledCompactor, 8, keys, bar, quick))
    figures.append(compaction_rate("plain Python", PythonCompactor, 1, 1_000, None, quick))
    return figures


def compaction_rate(
    name: str,
    form: Callable[[int, bytes], Compactor],
    chunks_count: int,
    keys: int,
    bar: float | None,
    quick: bool,
) -> Figure:
    rows = CHUNK_SIZE // RECORD_SIZE
    chunks = []
    for number in range(1 if quick else chunks_count):
        table = records(rows, keys=np.random.default_rng(number).integers(0, keys, rows))
        chunks.append(bytes(encode_from_arrow(table, batch_size_max=BATCH_SIZE, base_offset=number * rows)))
    batches = [len(list(iterate_batches(chunk))) for chunk in chunks]

    def compact() -> None:
        compactor = form(MAP_MEMORY, bytes(16))
        for chunk, count in zip(chunks, batches, strict=True):
            compactor.map_keys(chunk, [True] * count, 0)
        for chunk, count in zip(chunks, batches, strict=True):
            compactor.compact(chunk, [Treatment.NONE] * count, TIMESTAMP)

    title = f"compaction of batches, {name}, {keys:,} keys"
    return rate(title, compact, rows * len(chunks), quick, bar, repeat=3)


def loading(quick: bool) -> list[Figure]:
    """What the first use costs a process whose kernels have been compiled before, numba's import included."""
    code = "import distributedlog.records.columns"
    seconds = best_of(partial(subprocess.run, [sys.executable, "-c", code], check=True), quick, repeat=3)
    bare = best_of(partial(subprocess.run, [sys.executable, "-c", "pass"], check=True), quick, repeat=3)
    return [
        Figure(
            "load the columns, kernels from the cache", (seconds - bare) * 1e3, "ms", higher_is_better=False
        )
    ]


def records(rows: int, keys: np.ndarray | None = None) -> pa.RecordBatch:
    """Records whose encoding takes about a hundred bytes, ten in a millisecond; keys of twelve digits."""
    timestamps = pa.array(TIMESTAMP + np.arange(rows) // 10)
    if keys is None:
        return pa.record_batch({"timestamp": timestamps, "value": pa.array([bytes(90)] * rows)})
    names = pa.array([b"%012d" % key for key in keys.tolist()])
    values = pa.array([bytes(78)] * rows)
    return pa.record_batch({"timestamp": timestamps, "key": names, "value": values})


def copy_into(chunk: bytes) -> None:
    np.frombuffer(chunk, np.uint8).copy()


def rate(
    name: str, call: Callable[[], object], rows: int, quick: bool, bar: float | None = None, repeat: int = 9
) -> Figure:
    return Figure(name, rows / best_of(call, quick, repeat) / MILLION, "M records/s", bar=bar)


def best_of(call: Callable[[], object], quick: bool, repeat: int = 9) -> float:
    """The least that one call took, in seconds: whatever else the machine does only adds to it."""
    best = float("inf")
    for _ in range(1 if quick else repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best
