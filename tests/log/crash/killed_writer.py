"""The process that is killed: it appends and says on its standard output what it was promised.

    killed_writer.py DIRECTORY FLUSH THREADS POLICY FIRST_NUMBER

Every record's value begins with its number, which is also the timestamp; the rest follows from it, so
that whoever finds the record can tell whether it is whole. A line `A <offset> <number>` is written when
an append has returned, by one write each, so that lines of several threads do not mix. `O` says that
the log is about to be opened, `R` that it is open, `C` that it is about to be closed.
"""

import itertools
import os
import sys
import threading

CONFIG = {"segment.bytes": "8192", "index.interval.bytes": "512"}
APPENDS_UNTIL_CLOSE = 400


def value_of(number):
    return b"%d:" % number + b"%d" % (number * 7919) * (number % 40)


def key_of(number):
    return b"k%d" % (number % 5)


def main():
    directory, flush, threads, policy, first = sys.argv[1:]
    from distributedlog.log.embedded import Log

    numbers = itertools.count(int(first))
    while True:
        say("O")
        log = Log(
            directory, flush=flush, flush_interval_ms=5, config=dict(CONFIG, **{"cleanup.policy": policy})
        )
        say("R")
        workers = [
            threading.Thread(target=append, args=(log, numbers, APPENDS_UNTIL_CLOSE // int(threads)))
            for _ in range(int(threads))
        ]
        if policy == "compact":
            workers.append(threading.Thread(target=compact, args=(log,)))
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        say("C")
        log.close()


def append(log, numbers, count):
    for _ in range(count):
        number = next(numbers)
        offset = log.append(key=key_of(number), value=value_of(number), timestamp=number)
        say(f"A {offset} {number}")


def compact(log):
    for _ in range(20):
        log.compact()


def say(line):
    os.write(1, f"{line}\n".encode())


if __name__ == "__main__":
    main()
