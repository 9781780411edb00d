"""Flushing behind the writer's back. Time is an event here: the interval is over when the test says so."""

import threading

from distributedlog.log.errors import LogDirectoryOffline
from distributedlog.log.flush_thread import FlushThread

DEADLINE_S = 60


class Interval:
    """In place of the event whose wait is the interval."""

    def __init__(self):
        self.waited = threading.Semaphore(0)
        self.over = threading.Semaphore(0)
        self.timeouts = []
        self.is_stopping = False

    def wait(self, timeout):
        self.timeouts.append(timeout)
        self.waited.release()
        assert self.over.acquire(timeout=DEADLINE_S)

    def is_set(self):
        return self.is_stopping

    def set(self):
        self.is_stopping = True
        self.over.release()


class Commit:
    def __init__(self):
        self.offsets = []
        self.flushed = threading.Semaphore(0)
        self.error = None

    def wait_for(self, offset):
        self.offsets.append(offset)
        self.flushed.release()
        if self.error is not None:
            raise self.error


class Scene:
    def __init__(self, interval_ms=250):
        self.end_offset = 0
        self.commit = Commit()
        self.interval = Interval()
        self.flusher = FlushThread(self.commit, interval_ms, lambda: self.end_offset)
        self.flusher._stopping = self.interval

    def append(self):
        self.end_offset += 1
        self.flusher.request()

    def wait_for_the_interval_to_begin(self):
        assert self.interval.waited.acquire(timeout=DEADLINE_S)

    def end_the_interval(self):
        self.interval.over.release()
        assert self.commit.flushed.acquire(timeout=DEADLINE_S)


def flush_threads():
    return [thread for thread in threading.enumerate() if thread.name == "distributedlog-flush"]


def test_without_a_request_there_is_no_thread():
    scene = Scene()
    assert flush_threads() == []
    scene.flusher.stop()


def test_all_that_was_appended_within_an_interval_is_flushed_at_its_end_once():
    scene = Scene(interval_ms=250)
    scene.append()
    scene.wait_for_the_interval_to_begin()
    scene.append()
    scene.append()
    assert scene.commit.offsets == []
    assert len(flush_threads()) == 1
    scene.end_the_interval()
    assert scene.commit.offsets == [3]
    assert scene.interval.timeouts == [0.25]
    scene.flusher.stop()
    assert scene.commit.offsets == [3]
    assert flush_threads() == []


def test_what_comes_after_a_flush_begins_a_new_interval():
    scene = Scene()
    for expected in ([1], [1, 2], [1, 2, 3]):
        scene.append()
        scene.wait_for_the_interval_to_begin()
        scene.end_the_interval()
        assert scene.commit.offsets == expected
    scene.flusher.stop()


def test_what_comes_while_a_flush_is_on_its_way_is_not_forgotten():
    """The request is taken back before the log's end is looked at, so that none falls in between."""
    scene = Scene()
    looked = []

    def end_offset():
        looked.append(scene.flusher._requested.is_set())
        return scene.end_offset

    scene.flusher._log_end_offset = end_offset
    scene.append()
    scene.wait_for_the_interval_to_begin()
    scene.end_the_interval()
    assert looked == [False]
    scene.flusher.stop()


def test_a_failure_is_left_to_the_next_append_and_the_thread_lives_on():
    scene = Scene()
    scene.commit.error = LogDirectoryOffline("/data")
    for _ in range(2):
        scene.append()
        scene.wait_for_the_interval_to_begin()
        scene.end_the_interval()
    assert scene.commit.offsets == [1, 2]
    scene.flusher.stop()


def test_a_stop_does_not_wait_for_the_end_of_the_interval():
    scene = Scene(interval_ms=10**9)
    scene.append()
    scene.wait_for_the_interval_to_begin()
    scene.flusher.stop()
    assert scene.commit.offsets == []
    assert flush_threads() == []


def test_after_a_stop_no_thread_is_started():
    scene = Scene()
    scene.flusher.stop()
    scene.append()
    assert flush_threads() == []


def test_many_threads_may_make_the_first_request(monkeypatch):
    """They all come to the start before the first of them has started the thread."""
    scene = Scene()
    barrier = threading.Barrier(8)
    started = []
    original = threading.Thread.start

    class Requested(threading.Event):
        def set(self):
            barrier.wait(DEADLINE_S)
            super().set()

    scene.flusher._requested = Requested()
    monkeypatch.setattr(
        threading.Thread, "start", lambda thread: (started.append(thread.name), original(thread))[1]
    )
    threads = [threading.Thread(target=scene.flusher.request) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE_S)
    assert started.count("distributedlog-flush") == 1
    scene.flusher._requested.set = lambda: threading.Event.set(scene.flusher._requested)
    scene.flusher.stop()
