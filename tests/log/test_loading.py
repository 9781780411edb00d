"""Opening a log: how little is read of a clean one, and how much of the other."""

import mmap
import os

import pytest

from distributedlog.log import REAL_FILES, Files, LogConfig, open_partition_log
from distributedlog.log.errors import CorruptLog
from partition_files import batch

NOW_MS = 1_700_000_000_000
BATCH = len(batch(0, [b"v" * 1000]))


def open_log(directory, files=REAL_FILES, *, was_clean=True, **options):
    config = LogConfig(**{"segment_bytes": 100 * BATCH, **options.pop("config", {})})
    return open_partition_log(files, directory, config, was_clean=was_clean, now_ms=NOW_MS, **options)


def filled(directory, batches, *, is_clean=True, **options):
    log, _ = open_log(directory, **options)
    for number in range(batches):
        log.append(batch(0, [b"v" * 1000], timestamp=NOW_MS + number), now_ms=NOW_MS, leader_epoch=3)
    if is_clean:
        log.close()
    else:
        log.abandon()
    return log


@pytest.fixture
def bytes_read(monkeypatch):
    """Counts what is read from files with system calls; of a map only pages that are touched cost."""
    counted = [0]
    pread, read_bytes = os.pread, Files.read_bytes

    def count(data):
        counted[0] += len(data)
        return data

    monkeypatch.setattr(os, "pread", lambda fd, size, at: count(pread(fd, size, at)))
    monkeypatch.setattr(Files, "read_bytes", lambda self, path: count(read_bytes(self, path)))
    return counted


def test_how_much_is_read_of_a_clean_log_does_not_grow_with_it(tmp_path, bytes_read):
    """Twelve segments or a hundred and twenty: the same bytes, and those few."""
    read = []
    for batches in (1250, 12_050):
        directory = tmp_path / str(batches)
        directory.mkdir()
        filled(directory, batches)
        bytes_read[0] = 0
        log, report = open_log(directory)
        read.append(bytes_read[0])
        assert report.was_clean
        assert log.log_end_offset == batches
        assert len(log.segments) == batches // 100 + 1
        log.abandon()
    assert read[1] <= read[0] < 5 << 20


def test_only_the_last_segment_of_a_clean_log_is_opened(tmp_path):
    filled(tmp_path, 1010)
    opened = []

    class NotingFiles(Files):
        def open(self, path, create=False):
            opened.append(os.path.basename(path))
            return super().open(path, create)

    log, _ = open_log(tmp_path, NotingFiles())
    assert {name for name in opened if name.endswith(".log")} == {f"{1000:020}.log"}
    log.abandon()


def test_the_index_of_a_clean_log_is_mapped_and_not_read(tmp_path, monkeypatch):
    filled(tmp_path, 50)
    mapped = []

    class NotedMap(mmap.mmap):
        def __new__(cls, fd, size, **options):
            mapped.append(size)
            return super().__new__(cls, fd, size, **options)

    monkeypatch.setattr(mmap, "mmap", NotedMap)
    log, _ = open_log(tmp_path)
    index_sizes = [(tmp_path / f"{0:020}{kind}").stat().st_size for kind in (".index", ".timeindex")]
    assert mapped[:2] == index_sizes
    log.abandon()


def test_an_unclean_log_is_read_from_the_segment_of_the_recovery_point_on(tmp_path):
    filled(tmp_path, 1010, is_clean=False)
    log, report = open_log(tmp_path, was_clean=False, recovery_point=850)
    assert (report.was_clean, report.segments_scanned) == (False, 3)
    assert report.bytes_scanned == 210 * BATCH
    assert report.bytes_cut == 0
    assert log.log_end_offset == 1010
    assert log.recovery_point == 850
    log.abandon()


def test_the_segment_that_ends_at_the_recovery_point_is_read_as_well(tmp_path):
    """Its log was synced; when the writer died just after the roll, its indexes were not."""
    filled(tmp_path, 1010, is_clean=False)
    log, report = open_log(tmp_path, was_clean=False, recovery_point=900)
    assert report.segments_scanned == 3
    log.abandon()


def tear(directory, base_offset, position, data=None):
    path = directory / f"{base_offset:020}.log"
    with open(path, "r+b") as file:
        if data is None:
            file.truncate(position)
        else:
            file.seek(position)
            file.write(data)


@pytest.mark.parametrize("kept", [1, 60, BATCH // 2, BATCH - 1])
def test_a_torn_end_is_cut(tmp_path, kept):
    filled(tmp_path, 210, is_clean=False)
    tear(tmp_path, 200, 9 * BATCH + kept)
    log, report = open_log(tmp_path, was_clean=False, recovery_point=200)
    assert log.log_end_offset == 209
    assert report.bytes_cut == kept
    assert report.cut_reason
    assert report.saved_to == []
    assert log.append(batch(0, [b"again"]), now_ms=NOW_MS).first_offset == 209
    log.close()
    again, report = open_log(tmp_path)
    assert report.was_clean
    assert again.log_end_offset == 210
    again.abandon()


def test_sound_batches_behind_a_damaged_one_are_put_aside(tmp_path):
    filled(tmp_path, 210, is_clean=False)
    lost = (tmp_path / f"{200:020}.log").read_bytes()[4 * BATCH :]
    tear(tmp_path, 200, 4 * BATCH + 100, b"!")
    log, report = open_log(tmp_path, was_clean=False, recovery_point=200)
    assert log.log_end_offset == 204
    [saved] = report.saved_to
    assert saved.name == f"{200:020}.log.{4 * BATCH}.cut"
    assert saved.read_bytes()[BATCH:] == lost[BATCH:]
    log.abandon()


def test_damage_below_the_recovery_point_is_no_torn_write(tmp_path):
    filled(tmp_path, 210, is_clean=False)
    tear(tmp_path, 200, 4 * BATCH + 100, b"!")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix == ".log"}
    with pytest.raises(CorruptLog, match=rf"{200:020}\.log is damaged at byte {4 * BATCH}.*repair=True"):
        open_log(tmp_path, was_clean=False, recovery_point=206)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix == ".log"}
    log, report = open_log(tmp_path, was_clean=False, recovery_point=206, cut_damage=True)
    assert log.log_end_offset == 204
    assert log.recovery_point <= 204
    assert len(report.saved_to) == 1
    log.abandon()


def test_a_log_shorter_than_its_recovery_point_is_not_opened_silently(tmp_path):
    filled(tmp_path, 210, is_clean=False)
    tear(tmp_path, 200, 4 * BATCH)
    with pytest.raises(CorruptLog, match="ends at offset 204, but offsets up to 206"):
        open_log(tmp_path, was_clean=False, recovery_point=206)
    log, _ = open_log(tmp_path, was_clean=False, recovery_point=206, cut_damage=True)
    assert log.log_end_offset == 204
    log.abandon()


def test_a_segment_that_is_missing_ends_the_log_there(tmp_path):
    """What stands behind it cannot be told from records that were never acknowledged."""
    filled(tmp_path, 310, is_clean=False)
    (tmp_path / f"{200:020}.log").unlink()
    log, report = open_log(tmp_path, was_clean=False, recovery_point=100)
    assert log.log_end_offset == 200
    assert "offsets 200 to 299 before it are missing" in report.cut_reason
    assert [path.name for path in report.saved_to] == [f"{300:020}.log.cut"]
    log.abandon()


def test_what_says_to_be_clean_and_has_a_torn_end_is_recovered(tmp_path):
    filled(tmp_path, 210)
    tear(tmp_path, 200, 9 * BATCH + 5)
    log, report = open_log(tmp_path, recovery_point=200)
    assert not report.was_clean
    assert log.log_end_offset == 209
    log.abandon()


def test_waste_and_indexes_without_a_log_are_removed(tmp_path):
    filled(tmp_path, 10)
    for name in (f"{7:020}.index", f"{7:020}.txnindex", f"{7:020}.log.deleted", f"{0:020}.log.cleaned"):
        (tmp_path / name).write_bytes(b"x")
    log, _ = open_log(tmp_path)
    assert sorted(name for name in os.listdir(tmp_path) if not name.startswith(f"{0:020}")) == [
        f"{10:020}.snapshot",
        "leader-epoch-checkpoint",
    ]
    assert not (tmp_path / f"{0:020}.log.cleaned").exists()
    log.abandon()


def test_leader_epochs_are_those_of_the_batches_when_their_file_is_gone_or_damaged(tmp_path):
    filled(tmp_path, 10, is_clean=False)
    for damage in (lambda path: path.unlink(), lambda path: path.write_bytes(b"0\n1\n3")):
        damage(tmp_path / "leader-epoch-checkpoint")
        log, _ = open_log(tmp_path, was_clean=False)
        assert [tuple(entry) for entry in log.leader_epochs.entries] == [(3, 0)]
        log.abandon()


def test_an_empty_directory_becomes_a_log_that_begins_where_it_is_told(tmp_path):
    log, report = open_log(tmp_path, log_start_offset=77)
    assert (log.log_start_offset, log.log_end_offset) == (77, 77)
    assert report.was_clean
    assert (tmp_path / f"{77:020}.log").exists()
    log.abandon()


def test_a_start_offset_inside_of_the_log_is_kept(tmp_path):
    filled(tmp_path, 250)
    log, _ = open_log(tmp_path, log_start_offset=30)
    assert log.log_start_offset == 30
    assert log.leader_epochs.entries[0].start_offset == 30
    log.abandon()


def test_a_cleanly_closed_log_needs_no_flush(tmp_path):
    filled(tmp_path, 10)
    log, _ = open_log(tmp_path)
    assert log.recovery_point == 10
    assert log.begin_flush() is None
    log.abandon()
