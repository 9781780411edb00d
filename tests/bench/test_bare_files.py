"""The ceilings of the log touch all the bytes that they are said to."""

import os

import pytest

from bench import bare_files


@pytest.fixture
def seen(monkeypatch):
    """Sizes of what the CRC and os.write were given."""
    sizes = {"crc": [], "written": [], "synced": 0}

    def write(fd, data):
        sizes["written"].append(len(data))
        return len(data)

    def sync(fd):
        sizes["synced"] += 1

    monkeypatch.setattr(bare_files, "crc32c", lambda data: sizes["crc"].append(len(data)))
    monkeypatch.setattr(os, "write", write)
    monkeypatch.setattr(os, "fdatasync", sync)
    return sizes


def segments(directory):
    (directory / "0").mkdir()
    (directory / "0" / "0.log").write_bytes(bytes(bare_files.CHUNK_BYTES + 1000))
    (directory / "0" / "1.log").write_bytes(bytes(2000))
    (directory / "0" / "0.index").write_bytes(bytes(4000))
    return directory


def test_writing(tmp_path, seen):
    assert bare_files.write_seconds(tmp_path / "bare", bytes(100), 3) > 0
    assert seen == {"crc": [100] * 3, "written": [100] * 3, "synced": 0}
    bare_files.write_seconds(tmp_path / "bare", bytes(100), 3, sync=True)
    assert seen["synced"] == 3
    assert list(tmp_path.iterdir()) == []


def test_reading(tmp_path, seen):
    assert bare_files.read_seconds(segments(tmp_path)) > 0
    assert seen["crc"] == [bare_files.CHUNK_BYTES, 1000, 2000]


def test_keeping_a_share(tmp_path, seen):
    bare_files.copy_seconds(segments(tmp_path), tmp_path / "bare", kept=0.25)
    assert seen["crc"] == [bare_files.CHUNK_BYTES, 1000, 2000]
    assert seen["written"] == [bare_files.CHUNK_BYTES // 4, 250, 500]
    assert not (tmp_path / "bare").exists()
