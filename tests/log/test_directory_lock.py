"""One writer for a directory, whatever becomes of the one before."""

import os
import subprocess
import sys

import pytest

from distributedlog.log.directory_lock import LOCK_NAME, DirectoryLock
from distributedlog.log.errors import DirectoryLocked, DirectoryNotWritable


def test_the_second_is_told_who_the_first_is(tmp_path):
    first = DirectoryLock(tmp_path)
    with pytest.raises(DirectoryLocked, match=f"locked by process {os.getpid()}") as caught:
        DirectoryLock(tmp_path)
    assert caught.value.pid == os.getpid()
    first.release()
    DirectoryLock(tmp_path).release()


def test_a_refused_lock_leaves_the_first_one_alone(tmp_path):
    first = DirectoryLock(tmp_path)
    for _ in range(2):
        with pytest.raises(DirectoryLocked):
            DirectoryLock(tmp_path)
    assert (tmp_path / LOCK_NAME).read_text() == str(os.getpid())
    first.release()


def test_a_holder_that_left_no_number_cannot_be_named(tmp_path):
    first = DirectoryLock(tmp_path)
    (tmp_path / LOCK_NAME).write_text("")
    with pytest.raises(DirectoryLocked, match="another process") as caught:
        DirectoryLock(tmp_path)
    assert caught.value.pid is None
    first.release()


def test_release_may_come_twice(tmp_path):
    lock = DirectoryLock(tmp_path)
    lock.release()
    lock.release()


def test_the_lock_dies_with_its_process(tmp_path):
    program = (
        "import os, sys; from pathlib import Path;"
        "from distributedlog.log.directory_lock import DirectoryLock;"
        "lock = DirectoryLock(Path(sys.argv[1])); print('held', flush=True); sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(DirectoryLocked, match=f"process {child.pid}"):
            DirectoryLock(tmp_path)
    finally:
        child.kill()
        child.communicate()
    DirectoryLock(tmp_path).release()


def test_a_child_process_does_not_inherit_the_lock(tmp_path):
    lock = DirectoryLock(tmp_path)
    child = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
    lock.release()
    DirectoryLock(tmp_path).release()
    child.communicate()


def test_where_no_lock_can_be_made_the_directory_is_named(tmp_path):
    (tmp_path / LOCK_NAME).mkdir()
    with pytest.raises(DirectoryNotWritable, match=str(tmp_path)):
        DirectoryLock(tmp_path)
