"""The process that the demo kills: it appends with ``flush="ack"`` and tells which records are safe.

Each line it prints is an acknowledgement, "offset number": whoever reads it may rely on that record.
"""

import os
import sys
from itertools import count
from threading import Thread
from typing import Final

from distributedlog import Log
from distributedlog.demo.orders import order

THREADS: Final = 8


def main(directory: str, first_number: int) -> None:
    numbers = count(first_number)
    with Log(directory, flush="ack") as log:
        threads = [Thread(target=append_until_killed, args=(log, numbers)) for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def append_until_killed(log: Log, numbers: "count[int]") -> None:
    try:
        while True:
            number = next(numbers)  # atomic: no two threads get the same
            made = order(number)
            offset = log.append(key=made.key, value=made.value, timestamp=made.timestamp)
            os.write(sys.stdout.fileno(), b"%d %d\n" % (offset, number))
    except BrokenPipeError:
        os._exit(1)  # whoever wanted to kill us is dead


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
