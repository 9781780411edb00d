"""The seam to the operating system: whole writes, atomic replacement, descriptors that outlive names."""

import os

import pytest

from distributedlog.log.errors import DirectoryNotWritable
from distributedlog.log.files import REAL_FILES, FileRegion, Files, OpenFile, write_fully


class NotingFiles(Files):
    def __init__(self):
        self.noted = []

    def pwrite(self, fd, data, position):
        """Three bytes at most, as an operating system may."""
        self.noted.append("write")
        return os.pwrite(fd, data[:3], position)

    def fsync(self, fd):
        self.noted.append("fsync")

    def rename(self, old, new):
        self.noted.append("rename")
        super().rename(old, new)

    def fsync_directory(self, path):
        self.noted.append("fsync directory")


def test_short_writes_are_continued(tmp_path):
    files = NotingFiles()
    file = OpenFile(files, tmp_path / "a", create=True)
    write_fully(files, file.fd, b"12345678", 2)
    assert (tmp_path / "a").read_bytes() == b"\0\x0012345678"
    assert files.noted == ["write"] * 3


def test_a_file_is_replaced_whole_and_only_when_the_new_one_is_on_the_disk(tmp_path):
    (tmp_path / "a").write_bytes(b"old and longer")
    (tmp_path / "a.tmp").write_bytes(b"left behind by a crash")
    files = NotingFiles()
    files.write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a"]
    assert files.noted == ["write", "fsync", "rename", "fsync directory"]


def test_a_region_can_be_read_after_the_file_is_gone(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    file = OpenFile(REAL_FILES, path)
    region = FileRegion(file, 3, 4)
    path.unlink()
    assert len(region) == 4
    assert region.read() == b"3456"
    assert os.pread(region.fileno(), 2, 0) == b"01"


def test_a_descriptor_closes_with_its_last_user(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    file = OpenFile(REAL_FILES, path)
    fd = file.fd
    region = FileRegion(file, 0, 10)
    del file
    assert region.read() == b"0123456789"
    del region
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_file_that_cannot_be_opened_leaves_nothing_to_close(tmp_path):
    with pytest.raises(FileNotFoundError):
        OpenFile(REAL_FILES, tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        OpenFile.read_only(REAL_FILES, tmp_path / "missing")


def test_a_file_for_reading_only_cannot_be_written(tmp_path):
    (tmp_path / "a").write_bytes(b"x")
    file = OpenFile.read_only(REAL_FILES, tmp_path / "a")
    assert file.size() == 1
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.pwrite(file.fd, b"y", 0)


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DirectoryNotWritable, match="file/below"):
        REAL_FILES.mkdir(tmp_path / "file" / "below")
