"""An fsync that failed once is final: what the page cache holds can no longer be believed, and a second
fsync that succeeds proves nothing."""

import threading

import pytest
from tests.log.faults.faulty_files import FailingSync

from distributedlog.log import Log
from distributedlog.log.errors import LogClosed, LogDirectoryOffline


def read_values(log):
    return [record.value for record in log.read()]


def append_for_ever(log):
    while True:
        log.append(value=b"more")


def open_with_one_record(directory, **options):
    files = FailingSync()
    log = Log(directory, files=files, **options)
    log.append(value=b"safe")
    log.flush()
    return log, files


def close_and_reopen(log, directory):
    """The close of an offline log leaves it to recovery; what recovery finds must be whole."""
    log.close()
    with Log(directory) as again:
        assert not again.recovery.was_clean
        values = read_values(again)
        assert again.append(value=b"after") == len(values)
        return values


def test_after_a_failed_sync_nothing_is_appended_though_the_disk_says_that_all_is_well(tmp_path):
    log, files = open_with_one_record(tmp_path)
    files.failures = 1
    with pytest.raises(LogDirectoryOffline, match=f"{tmp_path}.*Input/output error.*restart"):
        log.append(value=b"doubtful")
    for _ in range(2):
        with pytest.raises(LogDirectoryOffline):
            log.append(value=b"never")
        with pytest.raises(LogDirectoryOffline):
            log.append_many([b"never"])
        with pytest.raises(LogDirectoryOffline):
            log.flush()
    assert read_values(log) == [b"safe"]
    assert close_and_reopen(log, tmp_path) == [b"safe", b"doubtful"]


@pytest.mark.parametrize("flush", ["interval", "os"])
def test_a_sync_that_fails_behind_the_writers_back_is_met_by_the_next_append(tmp_path, flush):
    log, files = open_with_one_record(tmp_path, flush=flush)
    files.failures = 1
    log.append(value=b"doubtful")
    with pytest.raises(LogDirectoryOffline):
        log.flush()
    with pytest.raises(LogDirectoryOffline):
        log.append(value=b"never")
    assert read_values(log) == [b"safe", b"doubtful"]
    assert close_and_reopen(log, tmp_path) == [b"safe", b"doubtful"]


def test_the_flush_thread_takes_the_log_offline(tmp_path):
    log, files = open_with_one_record(tmp_path, flush="interval", flush_interval_ms=1)
    files.entered.clear()
    files.failures = 1
    log.append(value=b"doubtful")
    assert files.entered.wait(30)
    with pytest.raises(LogDirectoryOffline):
        append_for_ever(log)
    close_and_reopen(log, tmp_path)


def test_every_thread_that_waits_for_the_failing_sync_is_told(tmp_path):
    log, files = open_with_one_record(tmp_path)
    files.go_on.clear()
    files.entered.clear()
    told = []

    def append(number):
        try:
            log.append(value=b"%d" % number)
        except LogDirectoryOffline as error:
            told.append(error)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    assert files.entered.wait(30)
    files.failures = 1
    files.go_on.set()
    for thread in threads:
        thread.join(30)
    assert len(told) == 8
    assert read_values(log) == [b"safe"]
    close_and_reopen(log, tmp_path)


def test_a_sync_that_fails_in_close_leaves_no_mark_of_a_clean_close(tmp_path):
    log, files = open_with_one_record(tmp_path, flush="os")
    log.append(value=b"doubtful")
    files.failures = 1
    with pytest.raises(LogDirectoryOffline):
        log.close()
    assert not (tmp_path / ".kafka_cleanshutdown").exists()
    with Log(tmp_path) as log:
        assert not log.recovery.was_clean


class FailingOnce(FailingSync):
    """Only the n-th sync of all fails, be it of a file or of a directory."""

    def __init__(self, number):
        super().__init__()
        self.left = number

    def _fail(self):
        self.left -= 1
        self.failures = self.left == -1
        super()._fail()


def test_whichever_sync_fails_the_error_is_the_logs_own_and_nothing_is_lost(memory_path):
    """While a log is opened, rolled, deleted from, compacted and closed."""
    config = {"segment.bytes": "300", "cleanup.policy": "compact,delete"}
    offline = 0
    for failing in range(60):
        directory = memory_path / f"{failing}"
        acknowledged = []
        try:
            with Log(directory, files=FailingOnce(failing), config=config) as log:
                for number in range(8):
                    acknowledged.append((log.append(key=b"k%d" % number, value=b"v" * 100), number))
                log.compact()
                log.delete_before(3)
        except LogDirectoryOffline:
            offline += 1
        with Log(directory, config=config) as log:
            found = {record.offset: record.key for record in log.read()}
        for offset, number in acknowledged:
            assert found.get(offset) == b"k%d" % number or (offset < 3 and offset not in found)
    assert offline > 30


def test_a_close_beside_appends_neither_hangs_nor_takes_back_what_was_acknowledged(tmp_path):
    for round_number in range(10):
        directory = tmp_path / f"{round_number}"
        log = Log(directory)
        acknowledged = []
        begun = threading.Barrier(5)

        def append(log=log, begun=begun, acknowledged=acknowledged):
            begun.wait(30)
            try:
                for _ in range(10_000):
                    acknowledged.append(log.append(value=b"v"))
            except LogClosed:
                pass

        threads = [threading.Thread(target=append) for _ in range(4)]
        for thread in threads:
            thread.start()
        begun.wait(30)
        while len(acknowledged) < 5 * round_number:
            pass
        log.close()
        for thread in threads:
            thread.join(30)
            assert not thread.is_alive()
        with Log(directory) as log:
            assert log.recovery.was_clean
            assert {record.offset for record in log.read()} >= set(acknowledged)
            assert len(set(acknowledged)) == len(acknowledged)


def test_an_interrupted_flush_is_made_up_for_by_the_next(tmp_path):
    """Ctrl-C in the middle of a flush: the directory's own sync must not be forgotten."""
    log, files = open_with_one_record(tmp_path, config={"segment.bytes": "100"})
    synced = []

    def interrupt(fd):
        raise KeyboardInterrupt

    sync, files.fsync = files.fsync, interrupt
    with pytest.raises(KeyboardInterrupt):
        log.append(value=b"in a new segment")
    files.fsync = sync
    files.fsync_directory = synced.append
    assert log.append(value=b"the next") == 2
    assert log.path / "log-0" in synced
    assert read_values(log) == [b"safe", b"in a new segment", b"the next"]
    log.close()


def test_segments_that_are_deleted_beside_a_flush_are_no_failure_of_the_disk(tmp_path):
    """Between what the flush was to do and its doing, retention takes files away."""
    with Log(tmp_path, flush="os", config={"segment.bytes": "100"}) as log:
        for number in range(6):
            log.append(value=b"%d" % number * 40)
        job = log._log.begin_flush()
        log.delete_before(5)
        job.run()
        log._log.complete_flush(job)
        assert log.append(value=b"goes on") == 6
        log.flush()
        assert len(read_values(log)) == 2
