"""One process writes, another follows the log as it grows.

python examples/tail.py                     both, in a temporary directory
python examples/tail.py write DIRECTORY     in one terminal
python examples/tail.py follow DIRECTORY    in any number of others
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

from distributedlog import Log, LogReader

RECORDS = 10
POLL_SECONDS = 0.02


def write(directory: str) -> None:
    with Log(directory) as log:
        for number in range(RECORDS):
            log.append(value=f"event {number}".encode())
            time.sleep(POLL_SECONDS)
        log.append(value=b"the end")


def follow(directory: str) -> Iterator[bytes]:
    """Values from the oldest on, waiting for more; a reader takes no lock and never disturbs the writer."""
    with LogReader(directory) as reader:
        offset = reader.start_offset
        while True:
            for record in reader.read(offset):
                yield record.value or b""
                offset = record.offset + 1  # keep this number somewhere, and a restart goes on from here
            time.sleep(POLL_SECONDS)


def print_until_the_end(directory: str) -> None:
    for value in follow(directory):
        print(value.decode())
        if value == b"the end":
            return


def main() -> None:
    if sys.argv[1:2] == ["write"]:
        write(sys.argv[2])
    elif sys.argv[1:2] == ["follow"]:
        print_until_the_end(sys.argv[2])
    else:
        with tempfile.TemporaryDirectory() as directory:
            Log(directory).close()  # there has to be a log before it can be followed
            with subprocess.Popen([sys.executable, __file__, "write", directory]):
                print_until_the_end(directory)


if __name__ == "__main__":
    main()
