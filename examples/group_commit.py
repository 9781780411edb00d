"""Threads that append at the same time: each returns when its record is on the disk, and they share fsyncs.

python examples/group_commit.py [DIRECTORY]
"""

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from distributedlog import Log

RECORDS = 400
THREADS = 16


def main(directory: str) -> None:
    values = [f"measurement {number}".encode() for number in range(RECORDS)]
    with Log(directory, flush="ack") as log:

        def append(value: bytes) -> int:
            return log.append(value=value)

        begun = time.perf_counter()
        for value in values:
            append(value)
        alone = time.perf_counter() - begun

        begun = time.perf_counter()
        with ThreadPoolExecutor(THREADS) as pool:
            offsets = list(pool.map(append, values))
        together = time.perf_counter() - begun

        print(f"one thread: {RECORDS / alone:,.0f} records/s, each on the disk when append returned")
        print(f"{THREADS} threads: {RECORDS / together:,.0f} records/s, with the same promise")
        print(f"{len(set(offsets))} different offsets, {log.end_offset} records in the log")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(temporary)
