"""The files of producer snapshots: the youngest sound one counts, none is ever needed."""

import os

from distributedlog.log.files import REAL_FILES, Files
from distributedlog.log.producer_entry import BatchMetadata, ProducerStateEntry
from distributedlog.log.snapshot_files import SnapshotFiles


def entry(producer_id, last_sequence=4):
    return ProducerStateEntry(
        producer_id, producer_epoch=2, batches=[BatchMetadata(0, last_sequence, 10, 10 + last_sequence, 99)]
    )


def ids(found):
    offset, entries = found
    return offset, [entry.producer_id for entry in entries]


def test_a_snapshot_is_named_by_its_offset_in_twenty_digits(tmp_path):
    snapshots = SnapshotFiles(REAL_FILES, tmp_path)
    assert snapshots.write(1234, [entry(7), entry(8)])
    assert os.listdir(tmp_path) == ["00000000000000001234.snapshot"]
    offset, entries = snapshots.latest(9999)
    assert offset == 1234
    assert [(found.producer_id, found.producer_epoch, found.last_sequence) for found in entries] == [
        (7, 2, 4),
        (8, 2, 4),
    ]


def test_the_youngest_at_or_before_the_offset_is_taken(tmp_path):
    snapshots = SnapshotFiles(REAL_FILES, tmp_path)
    for offset in (10, 30, 20):
        snapshots.write(offset, [entry(offset)])
    assert snapshots.offsets() == [10, 20, 30]
    assert ids(snapshots.latest(30)) == (30, [30])
    assert ids(snapshots.latest(29)) == (20, [20])
    assert snapshots.latest(9) is None


def test_a_damaged_snapshot_is_removed_and_an_older_one_taken(tmp_path):
    snapshots = SnapshotFiles(REAL_FILES, tmp_path)
    for offset in (10, 20, 30):
        snapshots.write(offset, [entry(offset)])
    snapshots.path(30).write_bytes(b"")
    data = bytearray(snapshots.path(20).read_bytes())
    data[-1] ^= 1
    snapshots.path(20).write_bytes(data)
    assert ids(snapshots.latest(99)) == (10, [10])
    assert snapshots.offsets() == [10]


def test_snapshots_go_from_either_end(tmp_path):
    snapshots = SnapshotFiles(REAL_FILES, tmp_path)
    for offset in (10, 20, 30, 40):
        snapshots.write(offset, [])
    snapshots.delete_before(20)
    assert snapshots.offsets() == [20, 30, 40]
    snapshots.delete_from(40)
    assert snapshots.offsets() == [20, 30]
    snapshots.delete_all()
    assert snapshots.offsets() == []


def test_other_files_are_none_of_its_business(tmp_path):
    for name in ("00000000000000000010.log", "x.snapshot", "00000000000000000020.snapshot.tmp"):
        (tmp_path / name).write_bytes(b"")
    snapshots = SnapshotFiles(REAL_FILES, tmp_path)
    assert snapshots.offsets() == []
    snapshots.delete_all()
    assert len(os.listdir(tmp_path)) == 3


def test_no_room_for_a_snapshot_is_told_and_no_error(tmp_path):
    class FullDisk(Files):
        def pwrite(self, fd, data, position):
            raise OSError(28, "No space left on device")

    snapshots = SnapshotFiles(FullDisk(), tmp_path)
    assert snapshots.write(10, [entry(1)]) is False
    assert snapshots.latest(10) is None


def test_a_sync_reaches_the_snapshot_that_is_there(tmp_path):
    synced = []

    class NotingFiles(Files):
        def fsync(self, fd):
            synced.append(os.readlink(f"/proc/self/fd/{fd}"))

    snapshots = SnapshotFiles(NotingFiles(), tmp_path)
    snapshots.write(10, [])
    assert synced == []
    snapshots.sync(10)
    snapshots.sync(11)
    assert synced == [str(snapshots.path(10))]
