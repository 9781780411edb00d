"""Batches to Arrow and back, and compaction: what the kernels do on one core."""

import subprocess
import sys
from collections.abc import Callable
from functools import partial

import cramjam
import numpy as np
import pyarrow as pa
from crc32c import crc32c

from bench.figure import Figure
from bench.timing import Call, records_rate
from distributedlog.records import HEADER_SIZE, Compression, iterate_batches
from distributedlog.records.columns import decode_chunk, encode_from_arrow
from distributedlog.records.compaction import Compactor, Treatment
from distributedlog.records.compaction_compiled import CompiledCompactor
from distributedlog.records.compaction_python import PythonCompactor

TIMESTAMP = 1_700_000_000_000
CHUNK_SIZE = 8 << 20
BATCH_SIZE = 16 * 1024
RECORD_SIZE = 100
MAP_MEMORY = 128 << 20

CRC_AND_COPY = "CRC and one copy of the same bytes"


def collect(quick: bool = False) -> list[Figure]:
    """All figures of the columns and of compaction; ``quick`` only shows that they can be measured."""
    return [
        *decoding(quick),
        *encoding(quick),
        *compaction(quick),
        loading(quick),
    ]


def decoding(quick: bool) -> list[Figure]:
    """Chunks of 8 MB, 100-byte records in batches of 16 KB, CRCs checked."""
    rows = CHUNK_SIZE // RECORD_SIZE
    chunk = bytes(encode_from_arrow(records(rows), batch_size_max=BATCH_SIZE))
    zstd = bytes(encode_from_arrow(records(rows), batch_size_max=BATCH_SIZE, compression=Compression.ZSTD))
    offsets_and_timestamps = bytes(rows * 16)
    payloads = [
        zstd[position + HEADER_SIZE : position + header.size] for position, header in iterate_batches(zstd)
    ]

    def rate(name: str, call: Call, ceiling: Call, ceiling_is: str, bar: float | None = None) -> Figure:
        return records_rate(name, call, rows, ceiling, ceiling_is, quick, bar=bar)

    def expand() -> None:
        for payload in payloads:
            cramjam.zstd.decompress(payload, output_len=BATCH_SIZE)

    return [
        rate(
            "decode to Arrow, 100-byte records",
            partial(decode_chunk, chunk),
            lambda: (crc32c(chunk), copy_of(chunk)),
            CRC_AND_COPY,
            bar=20.0,
        ),
        rate(
            "decode to Arrow, offset and timestamp only",
            partial(decode_chunk, chunk, columns=["offset", "timestamp"]),
            lambda: (crc32c(chunk), copy_of(offsets_and_timestamps)),
            "CRC of the batches and one copy of the two columns",
        ),
        rate(
            "decode to Arrow, CRC not checked",
            partial(decode_chunk, chunk, check_crc=False),
            partial(copy_of, chunk),
            "one copy of the same bytes",
        ),
        rate(
            "decode to Arrow, zstd",
            partial(decode_chunk, zstd),
            lambda: (crc32c(zstd), expand()),
            "CRC of the same bytes, and cramjam batch by batch",
        ),
    ]


def encoding(quick: bool) -> list[Figure]:
    """The same records from Arrow to batches of 16 KB and of 256 KB."""
    rows = CHUNK_SIZE // RECORD_SIZE
    table = records(rows)
    chunk = bytes(encode_from_arrow(table))
    ceiling = lambda: (copy_of(chunk), crc32c(chunk))  # noqa: E731
    small = partial(encode_from_arrow, table, batch_size_max=BATCH_SIZE)
    large = partial(encode_from_arrow, table)
    return [
        records_rate("encode from Arrow, 16 KB batches", small, rows, ceiling, CRC_AND_COPY, quick),
        records_rate("encode from Arrow, 256 KB batches", large, rows, ceiling, CRC_AND_COPY, quick),
    ]


def compaction(quick: bool) -> list[Figure]:
    """Map of keys and rewriting together, in memory: 100-byte records, uncompressed, each read twice."""
    return [
        compaction_rate("kernels", CompiledCompactor, 8, 1_000, quick, bar=1.0),
        compaction_rate("kernels", CompiledCompactor, 8, 500_000, quick, bar=1.0),
        compaction_rate("plain Python", PythonCompactor, 1, 1_000, quick),
    ]


def compaction_rate(
    name: str,
    form: Callable[[int, bytes], Compactor],
    chunks_count: int,
    keys: int,
    quick: bool,
    bar: float | None = None,
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

    def check_and_copy() -> None:
        for chunk in chunks:
            crc32c(chunk)
            copy_of(chunk)

    return records_rate(
        f"compact in memory, {name}, {keys:,} keys",
        compact,
        rows * len(chunks),
        check_and_copy,
        CRC_AND_COPY,
        quick,
        bar=bar,
        rounds=3,
    )


def loading(quick: bool) -> Figure:
    """What the first use costs a process whose kernels have been compiled before, numba's import included."""
    rounds = range(1 if quick else 3)
    times = [(loading_ms("distributedlog.records.columns"), loading_ms("numba, pyarrow")) for _ in rounds]
    return Figure(
        "load the columns, kernels from the cache",
        min(ours for ours, _ in times),
        "ms",
        ceiling=min(bare for _, bare in times),
        ceiling_is="the import of numba and pyarrow alone",
        higher_is_better=False,
    )


def loading_ms(modules: str) -> float:
    """What an import costs a process that has just started."""
    code = f"import time; begun = time.perf_counter(); import {modules}; print(time.perf_counter() - begun)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout) * 1e3


def records(rows: int, keys: np.ndarray | None = None) -> pa.RecordBatch:
    """Records whose encoding takes about a hundred bytes, ten in a millisecond; keys of twelve digits."""
    timestamps = pa.array(TIMESTAMP + np.arange(rows) // 10)
    if keys is None:
        return pa.record_batch({"timestamp": timestamps, "value": pa.array([bytes(90)] * rows)})
    names = pa.array([b"%012d" % key for key in keys.tolist()])
    values = pa.array([bytes(78)] * rows)
    return pa.record_batch({"timestamp": timestamps, "key": names, "value": values})


def copy_of(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint8).copy()
