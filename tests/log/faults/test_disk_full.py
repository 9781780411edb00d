"""The disk fills up at any operation whatever: the error is clear, nothing half-written is ever visible,
reads go on, and appends go on when there is room again."""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest
from tests.log.crash.test_power_loss import abandon
from tests.log.faults.faulty_files import FullDisk, LimitedFiles, can_mount, small_tmpfs

from distributedlog.log import REAL_FILES, Files, Log
from distributedlog.log.errors import DiskFull

CONFIG = {"segment.bytes": "1024", "index.interval.bytes": "64"}
MEBIBYTE = 1 << 20
#: A real file system where one can be mounted; else the limit stands in, and the test's name says so.
DISKS = ["real-tmpfs"] if can_mount() else ["limit-instead-of-tmpfs"]


def read_all(log):
    return [(record.offset, record.value) for record in log.read()]


class Work:
    """Opens, appends, rolls, closes; what the log promised is in ``kept``."""

    def __init__(self, directory, files, config):
        self.directory = directory
        self.files = files
        self.config = config
        self.kept = []
        self.refused = 0

    def run(self):
        for _ in range(2):
            try:
                log = Log(self.directory, config=self.config, files=self.files)
            except DiskFull:
                self.refused += 1
                self.files.heal()
                log = Log(self.directory, config=self.config, files=self.files)
            assert read_all(log) == self.kept
            for number in range(10):
                self.append(log, b"%d-" % number + b"x" * 150)
            if self.config.get("cleanup.policy") == "compact":
                self.compact(log)
            try:
                log.close()
            except DiskFull:
                self.refused += 1
                self.files.heal()

    def append(self, log, value):
        try:
            offset = log.append(key=value, value=value)
        except DiskFull:
            self.refused += 1
            assert read_all(log) == self.kept
            self.files.heal()
            offset = log.append(key=value, value=value)
        self.kept.append((offset, value))
        assert read_all(log) == self.kept

    def compact(self, log):
        before = dict(self.kept)
        try:
            log.compact()
        except DiskFull:
            self.refused += 1
            assert set(read_all(log)) <= set(before.items())
            self.files.heal()
            log.compact()
        last = {value: offset for offset, value in self.kept}
        self.kept = [(offset, value) for offset, value in self.kept if last[value] == offset]
        assert read_all(log) == self.kept


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_wherever_the_disk_fills_up_the_log_loses_nothing(memory_path, policy):
    config = dict(CONFIG, **{"cleanup.policy": policy})
    files = FullDisk()
    Work(memory_path / "none", files, config).run()
    operations = files.count
    assert operations > 60
    refused = 0
    for number in range(operations):
        directory = memory_path / f"{number}"
        files = FullDisk(number)
        work = Work(directory, files, config)
        try:
            work.run()
            files.heal()
            with Log(directory, config=config, files=files) as log:
                assert read_all(log) == work.kept
                assert log.end_offset == 20
        except Exception as error:
            error.add_note(f"full from operation {number} of {operations} on, met at a {files.met}")
            raise
        assert files.met
        refused += work.refused
        shutil.rmtree(directory)
    assert refused > operations / 4


def test_an_append_after_the_disk_filled_up_never_gets_an_offset_twice(memory_path):
    files = FullDisk()
    with Log(memory_path / "log", files=files, flush="os") as log:
        assert log.append(value=b"before") == 0
        files.full_from = files.count
        for _ in range(3):
            with pytest.raises(DiskFull, match="free some space"):
                log.append(value=b"refused" * 100)
            with pytest.raises(DiskFull):
                log.append_many([b"refused"] * 10)
        assert log.end_offset == 1
        assert (log.path / "log-0" / f"{0:020d}.log").stat().st_size == 68 + len(b"before")
        files.heal()
        assert log.append(value=b"after") == 1
        assert read_all(log) == [(0, b"before"), (1, b"after")]


@contextmanager
def small_disk(kind, tmp_path):
    """A directory on a disk of one mebibyte, and the files to use it with."""
    if kind == "real-tmpfs":
        with small_tmpfs(MEBIBYTE) as directory:
            yield directory / "log", REAL_FILES
    else:
        yield tmp_path / "log", LimitedFiles(tmp_path, MEBIBYTE)


def append_until_full(log, value=b"v" * 900):
    values = []
    while True:
        try:
            values.append((log.append(value=value), value))
        except DiskFull:
            return values


@pytest.mark.parametrize("disk", DISKS)
def test_a_full_disk_refuses_appends_and_serves_reads(tmp_path, disk):
    config = {"segment.bytes": "65536", "index.interval.bytes": "1024"}
    with small_disk(disk, tmp_path) as (directory, files):
        log = Log(directory, config=config, files=files, flush="os")
        values = append_until_full(log)
        assert len(values) > 800
        assert read_all(log) == values
        with pytest.raises(DiskFull):
            log.append(value=b"v" * 5000)
        log.delete_before(400)
        values = values[400:]
        values += [(log.append(value=b"again"), b"again")]
        assert [pair for pair in read_all(log) if pair[0] >= 400] == values
        log.close()
        with Log(directory, config=config, files=files) as log:
            assert log.recovery.was_clean
            assert [pair for pair in read_all(log) if pair[0] >= 400] == values


@pytest.mark.parametrize("disk", DISKS)
def test_a_full_disk_of_old_segments_is_made_room_on_before_an_append_is_refused(tmp_path, disk):
    config = {"segment.bytes": "65536", "retention.bytes": "262144"}
    with small_disk(disk, tmp_path) as (directory, files):
        log = Log(directory, config=config, files=files, flush="os")
        for number in range(3000):
            assert log.append(value=b"v" * 900) == number
        assert log.start_offset > 1000
        log.close()
        with Log(directory, config=config, files=files) as log:
            assert log.end_offset == 3000


@pytest.mark.parametrize("disk", DISKS)
def test_a_log_of_a_killed_process_opens_on_a_full_disk(tmp_path, disk):
    with small_disk(disk, tmp_path) as (directory, files):
        log = Log(directory, config={"segment.bytes": "65536"}, files=files, flush="os")
        values = append_until_full(log)
        abandon(log)
        log = Log(directory, config={"segment.bytes": "65536"}, files=files)
        assert read_all(log) == values
        log.delete_before(500)
        assert log.append(value=b"again") == len(values)
        log.close()


FILL_UP = """
import sys
from distributedlog import Log
from distributedlog.log.errors import DiskFull
log = Log(sys.argv[1], flush="os", config={"segment.bytes": "65536", "index.interval.bytes": "0"})
refused = 0
while refused < 20:
    try:
        log.append(value=b"v" * (900 >> refused))
    except DiskFull:
        refused += 1
print("alive", sum(1 for _ in log.read()) == log.end_offset)
"""
WRITE_THROUGH_A_MAP = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 10 << 20)
memory = mmap.mmap(fd, 10 << 20)
for position in range(0, 10 << 20, 4096):
    memory[position] = 1
"""


def run(program, path):
    return subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(DISKS != ["real-tmpfs"], reason="only a mounted file system can kill a process so")
def test_a_full_disk_kills_who_writes_through_a_map_and_not_the_log():
    """Why indexes are not written through a memory map: docs/adr/0003."""
    with small_tmpfs(MEBIBYTE) as directory:
        assert run(WRITE_THROUGH_A_MAP, directory / "file").returncode == -signal.SIGBUS
        os.unlink(directory / "file")
        done = run(FILL_UP, directory / "log")
        assert (done.returncode, done.stdout, done.stderr) == (0, "alive True\n", "")


class NoRoomForSmallFiles(Files):
    """Room for the records, none for the files beside them: indexes, snapshots, checkpoints, journal."""

    full = False

    def open(self, path, create=False):
        fd = super().open(path, create)
        self.small = getattr(self, "small", set())
        (self.small.discard if str(path).endswith(".log") else self.small.add)(fd)
        return fd

    def pwrite(self, fd, data, position):
        if self.full and fd in self.small:
            raise OSError(28, "no room")
        return os.pwrite(fd, data, position)


def test_no_room_for_the_small_files_does_not_stop_appends_or_group_commit(tmp_path):
    files = NoRoomForSmallFiles()
    log = Log(tmp_path / "log", config=CONFIG, files=files)
    files.full = True
    values = []
    for number in range(60):
        values.append((log.append(value=b"%d" % number * 50), b"%d" % number * 50))
    assert read_all(log) == values
    assert log.apply_retention() == 0
    log.delete_before(30)
    files.full = False
    values = values[30:]
    values.append((log.append(value=b"last"), b"last"))
    log.close()
    with Log(tmp_path / "log", config=CONFIG, files=files) as log:
        assert [pair for pair in read_all(log) if pair[0] >= 30] == values
