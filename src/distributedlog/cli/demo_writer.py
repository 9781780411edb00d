"""The process that `dlog demo` kills: it appends with ``flush="ack"`` and says each offset that is safe.

What it prints is what its user may rely on. The values follow from the offsets, so that whoever reads the
log afterwards can tell whether a record is the one that was written.
"""

import sys

from distributedlog import Log

THREADS = 8
GOLDEN_RATIO = 0x9E3779B97F4A7C15


def value_of(number: int) -> bytes:
    """A hundred bytes or so that only this record has."""
    return b"%d:" % number + b"%016x" % ((number + 1) * GOLDEN_RATIO % 2**64) * 6


def main(directory: str) -> None:
    from threading import Lock, Thread

    numbers = iter(range(10**12))
    lock = Lock()
    with Log(directory, flush="ack") as log:

        def append_until_killed() -> None:
            while True:
                with lock:
                    number = next(numbers)
                offset = log.append(key=b"%d" % number, value=value_of(number))
                sys.stdout.write(f"{offset} {number}\n")
                sys.stdout.flush()

        threads = [Thread(target=append_until_killed) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main(sys.argv[1])
