"""Bytes through the bare operating system, with their CRC: what no log can do without.

Each function returns the seconds that it took. Those that read take the log segments of a directory.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crc32c import crc32c

CHUNK_BYTES = 1 << 20

WRITE = "os.write and CRC of the same bytes, batch by batch"
SYNC = "os.write, CRC and os.fdatasync of the same bytes, record by record"
READ = "os.pread and CRC of the same bytes by 1 MB"
KEEP = "os.pread and CRC of the same bytes by 1 MB, os.write of the share that is kept"


def write_seconds(path: Path, batch: bytes | bytearray, count: int, *, sync: bool = False) -> float:
    """The batch ``count`` times, and to the disk each time where ``sync``."""
    with _new_file(path) as fd:
        begun = time.perf_counter()
        for _ in range(count):
            crc32c(batch)
            os.write(fd, batch)
            if sync:
                os.fdatasync(fd)
        return time.perf_counter() - begun


def read_seconds(directory: Path) -> float:
    """All bytes of all segments."""
    begun = time.perf_counter()
    for chunk in _chunks(directory):
        crc32c(chunk)
    return time.perf_counter() - begun


def copy_seconds(directory: Path, path: Path, *, kept: float) -> float:
    """All bytes of all segments, and the first share of each chunk into a file."""
    with _new_file(path) as fd:
        begun = time.perf_counter()
        for chunk in _chunks(directory):
            crc32c(chunk)
            os.write(fd, memoryview(chunk)[: round(len(chunk) * kept)])
        return time.perf_counter() - begun


def _chunks(directory: Path) -> Iterator[bytes]:
    for path in sorted(directory.rglob("*.log")):
        with path.open("rb") as file:
            position = 0
            while chunk := os.pread(file.fileno(), CHUNK_BYTES, position):
                position += len(chunk)
                yield chunk


@contextmanager
def _new_file(path: Path) -> Iterator[int]:
    """A file that is gone afterwards."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        yield fd
    finally:
        os.close(fd)
        path.unlink()
