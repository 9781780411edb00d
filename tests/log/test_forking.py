"""A process that forks while it writes: two writers would be one too many.

The programs run in processes of their own, for a test runner has threads, and these must not be forked.
"""

import os
import signal
import subprocess
import sys

from distributedlog.log import Log

PROGRAM = """
import os, sys
from distributedlog.log import FixedRecordLog, Log, LogDirectory, LogReader
from distributedlog.log.errors import LogOfParentProcess

path = sys.argv[1]

def in_child(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0

def refused(use):
    try:
        use()
    except LogOfParentProcess as error:
        assert path in str(error) and "LogReader" in str(error)
    else:
        raise AssertionError(f"{use} was not refused")
"""


def run(program, *arguments):
    subprocess.run([sys.executable, "-c", PROGRAM + program, *map(str, arguments)], check=True, timeout=60)


def test_a_child_neither_writes_over_its_parents_records_nor_closes_the_log(tmp_path):
    run(
        """
log = Log(path, config={"cleanup.policy": "compact,delete"})
log.append(key=b"k", value=b"before")
iteration = log.read()

def child():
    for use in (
        lambda: log.append(key=b"k", value=b"child"),
        lambda: log.append_many([(b"k", b"child")]),
        log.flush, log.compact, log.apply_retention, lambda: log.delete_before(1),
        log.read, lambda: next(iteration),
    ):
        refused(use)
    log.close()
    with LogReader(path) as reader:
        assert [record.value for record in reader.read()] == [b"before"]

in_child(child)
assert not os.path.exists(os.path.join(path, ".kafka_cleanshutdown"))
assert log.append(key=b"l", value=b"after") == 1
assert [record.value for record in log.read()] == [b"before", b"after"]
log.close()
""",
        tmp_path,
    )
    with Log(tmp_path) as log:
        assert log.recovery.was_clean
        assert [record.value for record in log.read()] == [b"before", b"after"]


def test_a_child_of_a_thread_that_held_the_lock_is_refused_and_does_not_hang(tmp_path):
    run(
        """
import threading, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which are the point here
log = Log(path, flush="os")
held, done = threading.Event(), threading.Event()

def hold():
    with log._lock:
        held.set()
        done.wait()

threading.Thread(target=hold).start()
held.wait()
try:
    in_child(lambda: refused(lambda: log.append(value=b"child")))
finally:
    done.set()
""",
        tmp_path,
    )


def test_a_child_that_lives_on_does_not_keep_the_directory_locked(tmp_path):
    """The lock belongs to the open file, which a fork shares: it would be held until the last child ends."""
    program = """
log = Log(path)
child = os.fork()
if child == 0:
    print("forked", flush=True)
    sys.stdin.read()
    os._exit(0)
os.waitpid(child, 0)
"""
    parent = subprocess.Popen(
        [sys.executable, "-c", PROGRAM + program, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert parent.stdout.readline() == b"forked\n"
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait(30)
        with Log(tmp_path) as log:
            assert log.append(value=b"v") == 0
    finally:
        parent.stdin.close()
        parent.stdout.close()
        parent.kill()
        parent.wait(30)


def test_a_directory_and_a_file_of_slots_stay_with_the_parent_too(tmp_path):
    run(
        """
from distributedlog.log import LogConfig

directory = LogDirectory(path)
partition = directory.open_log("t", 0, LogConfig())
slots = FixedRecordLog.open(os.path.join(path, "slots"), 4)
slots.append(b"one.")

def child():
    refused(lambda: partition.roll(0))
    directory.close()
    refused(lambda: slots.append(b"two."))
    slots.close()

in_child(child)
assert not os.path.exists(os.path.join(path, ".kafka_cleanshutdown"))
assert slots.append(b"two.") == 1
slots.close()
directory.close()
assert os.path.exists(os.path.join(path, ".kafka_cleanshutdown"))
""",
        tmp_path,
    )
