"""What reaches the disk before an append may count as safe, and in which order."""

import os

import pytest

from distributedlog.log import Files, LogConfig, open_partition_log
from distributedlog.log.errors import LogDirectoryOffline
from partition_files import batch

NOW_MS = 1_700_000_000_000
SIZE = len(batch(0, [b"v" * 100]))


class NotingFiles(Files):
    """Notes every fsync by the name of its file; fails the ones it is told to."""

    def __init__(self):
        self.synced = []
        self.failing = ()

    def fsync(self, fd):
        name = os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))
        self.synced.append(name)
        if name.endswith(self.failing):
            raise OSError(5, "Input/output error")
        super().fsync(fd)

    def fsync_directory(self, path):
        self.synced.append("directory")
        super().fsync_directory(path)

    def take(self):
        synced, self.synced = self.synced, []
        return synced


def name(base_offset, suffix):
    return f"{base_offset:020}{suffix}"


@pytest.fixture
def files():
    return NotingFiles()


@pytest.fixture
def log(tmp_path, files):
    config = LogConfig(segment_bytes=2 * SIZE)
    log, _ = open_partition_log(files, tmp_path, config, was_clean=True, now_ms=NOW_MS)
    append(log)
    log.flush()
    files.take()
    yield log
    log.abandon()


def append(log, count=1):
    for _ in range(count):
        log.append(batch(0, [b"v" * 100]), now_ms=NOW_MS)


def test_an_append_to_the_same_segment_costs_one_fsync(log, files):
    append(log)
    log.flush()
    assert files.take() == [name(0, ".log")]


def test_when_nothing_is_due_nothing_is_synced(log, files):
    log.flush()
    assert files.take() == []


def test_after_a_roll_logs_come_first_then_what_is_sealed_then_the_names(log, files):
    append(log, 4)
    log.flush()
    synced = files.take()
    logs = [name(base, ".log") for base in (0, 2, 4)]
    assert synced[:3] == logs
    assert set(synced[3:-1]) >= {name(base, kind) for base in (0, 2) for kind in (".index", ".timeindex")}
    assert not any(entry == name(4, kind) for entry in synced for kind in (".index", ".timeindex"))
    assert synced[-1] == "directory"


def test_what_reached_the_disk_with_an_earlier_flush_is_not_synced_again(log, files):
    append(log, 4)
    log.flush()
    files.take()
    append(log)
    log.flush()
    assert files.take() == [name(4, ".log")]


def test_a_job_syncs_what_was_there_when_it_was_made(log, files):
    append(log)
    job = log.begin_flush()
    append(log, 2)
    job.run()
    assert files.take() == [name(0, ".log")]


@pytest.mark.parametrize("failing", [".log", ".index"])
def test_a_failed_fsync_is_final(log, files, failing):
    append(log, 2)
    files.failing = failing
    with pytest.raises(LogDirectoryOffline, match="Input/output error"):
        log.flush()
    files.failing = ()
    files.take()
    with pytest.raises(LogDirectoryOffline):
        log.flush()
    with pytest.raises(LogDirectoryOffline):
        append(log)
    assert files.take() == []
    assert log.recovery_point == 1
    assert log.read(0, 10_000) is not None
