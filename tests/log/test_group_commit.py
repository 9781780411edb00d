"""Many waiting appends, one fsync."""

import threading

import pytest

from distributedlog.log import Files, Log
from distributedlog.log.errors import LogClosed, LogDirectoryOffline
from distributedlog.log.group_commit import GroupCommit

THREADS = 16
DEADLINE_S = 60


class HeldFiles(Files):
    """The first fsync of a log file stays on its way until it is let go."""

    def __init__(self):
        self.held = threading.Event()
        self.let_go = threading.Event()
        self.writes = threading.Semaphore(0)
        self.syncs = 0
        self.is_counting = False

    def fsync(self, fd):
        if self.is_counting:
            self.syncs += 1
            if self.syncs == 1:
                self.held.set()
                assert self.let_go.wait(DEADLINE_S)
        super().fsync(fd)

    def pwrite(self, fd, data, position):
        written = super().pwrite(fd, data, position)
        if self.is_counting:
            self.writes.release()
        return written


def start(target, *args):
    thread = threading.Thread(target=target, args=args)
    thread.start()
    return thread


def test_appends_that_wait_together_share_one_fsync(tmp_path):
    files = HeldFiles()
    offsets = []
    with Log(tmp_path, files=files) as log:
        log.append(value=b"first")
        files.is_counting = True
        append = lambda: offsets.append(log.append(value=b"v" * 50))  # noqa: E731
        threads = [start(append)]
        assert files.held.wait(DEADLINE_S)
        threads += [start(append) for _ in range(THREADS - 1)]
        for _ in range(THREADS):
            assert files.writes.acquire(timeout=DEADLINE_S)
        assert offsets == []
        assert log.end_offset > 1
        assert [record.offset for record in log.read()] == [0]
        files.let_go.set()
        for thread in threads:
            thread.join(DEADLINE_S)
        assert files.syncs == 2
        assert sorted(offsets) == list(range(1, THREADS + 1))
        assert len(list(log.read())) == THREADS + 1
        files.is_counting = False


def test_one_thread_alone_gets_one_fsync_for_each_append(tmp_path):
    files = HeldFiles()
    files.let_go.set()
    with Log(tmp_path, files=files) as log:
        log.append(value=b"first")
        files.is_counting = True
        for number in range(10):
            log.append(value=b"v")
            assert files.syncs == number + 1
        log.append_many([b"v"] * 1000)
        assert files.syncs == 11
        files.is_counting = False


class Job:
    def __init__(self, offset, run=lambda: None):
        self.offset = offset
        self.run = run


class Owner:
    """What a log does for a GroupCommit: says what is due, takes in what was done."""

    def __init__(self, end_offset=10):
        self.end_offset = end_offset
        self.jobs = []
        self.completed = []
        self.failures = []
        self.run = lambda: None
        self.commit = GroupCommit(self.begin, self.completed.append, self.failures.append, 0)

    def begin(self):
        self.jobs.append(Job(self.end_offset, self.run))
        return self.jobs[-1]


def test_what_is_on_the_disk_already_needs_no_flush():
    owner = Owner(end_offset=10)
    owner.commit.wait_for(7)
    assert owner.commit.flushed_to == 10
    owner.commit.wait_for(10)
    assert len(owner.jobs) == 1
    assert owner.completed == owner.jobs
    owner.end_offset = 11
    owner.commit.wait_for(11)
    assert len(owner.jobs) == 2


def test_when_nothing_is_due_there_is_nothing_to_wait_for():
    """Somebody else flushed the log, at its close for one; the waiting must end all the same."""
    commit = GroupCommit(lambda: None, pytest.fail, pytest.fail, 0)
    commit.wait_for(5)
    assert commit.flushed_to == 5


def waiting(owner, offset, outcomes):
    try:
        owner.commit.wait_for(offset)
        outcomes.append("safe")
    except Exception as error:  # noqa: BLE001 - whatever it is, the test looks at it
        outcomes.append(error)


def held_run(started, let_go, error=None):
    def run():
        started.set()
        assert let_go.wait(DEADLINE_S)
        if error is not None:
            raise error

    return run


def test_a_failed_disk_fails_everybody_who_waits_and_all_who_come_after():
    owner, outcomes = Owner(), []
    started, let_go = threading.Event(), threading.Event()
    failure = LogDirectoryOffline("/data", OSError(5, "Input/output error"))
    owner.run = held_run(started, let_go, failure)
    threads = [start(waiting, owner, 5, outcomes)]
    assert started.wait(DEADLINE_S)
    threads += [start(waiting, owner, offset, outcomes) for offset in (6, 7)]
    let_go.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert outcomes == [failure] * 3
    assert owner.failures == [failure]
    owner.run = lambda: None
    with pytest.raises(LogDirectoryOffline):
        owner.commit.wait_for(8)
    assert owner.completed == []


def test_what_was_safe_before_the_failure_stays_so():
    owner = Owner(end_offset=10)
    owner.commit.wait_for(10)
    owner.end_offset = 20

    def fail():
        raise LogDirectoryOffline("/data")

    owner.run = fail
    with pytest.raises(LogDirectoryOffline):
        owner.commit.wait_for(15)
    owner.commit.wait_for(10)


def test_an_interrupt_stops_the_one_who_flushed_and_the_next_tries_again():
    owner, outcomes = Owner(), []
    started, let_go = threading.Event(), threading.Event()

    class Interrupt(Exception):
        pass

    owner.run = held_run(started, let_go, Interrupt())
    threads = [start(waiting, owner, 5, outcomes)]
    assert started.wait(DEADLINE_S)
    owner.run = lambda: None
    threads.append(start(waiting, owner, 6, outcomes))
    let_go.set()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert sorted(map(str, outcomes)) == ["", "safe"]
    assert owner.commit.flushed_to == 10
    assert owner.failures == []


def test_a_stop_waits_for_the_flush_that_is_on_its_way():
    owner, outcomes = Owner(), []
    started, let_go = threading.Event(), threading.Event()
    owner.run = held_run(started, let_go)
    waiter = start(waiting, owner, 5, outcomes)
    assert started.wait(DEADLINE_S)
    stopper = start(owner.commit.stop, LogClosed("/data"))
    assert stopper.is_alive()
    let_go.set()
    for thread in (waiter, stopper):
        thread.join(DEADLINE_S)
    assert outcomes == ["safe"]
    owner.commit.wait_for(10)
    with pytest.raises(LogClosed):
        owner.commit.wait_for(11)
