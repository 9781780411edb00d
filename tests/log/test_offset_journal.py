"""The journal of offsets between two checkpoints."""

import struct

import pytest
from crc32c import crc32c

from distributedlog.log import offset_journal
from distributedlog.log.files import REAL_FILES, Files
from distributedlog.log.offset_journal import JOURNAL_NAME, OffsetJournal, OffsetKind

ID_A, ID_B = bytes(range(16)), bytes(range(16, 32))
RECOVERY, START = OffsetKind.RECOVERY_POINT, OffsetKind.LOG_START_OFFSET


@pytest.fixture
def journal(tmp_path):
    journal = OffsetJournal(REAL_FILES, tmp_path)
    yield journal
    journal.close()


def test_a_change_is_one_slot_of_thirty_three_bytes(journal, tmp_path):
    journal.note(ID_A, 5, START, 4242)
    payload = ID_A + bytes.fromhex("00000005 01 0000000000001092")
    assert (tmp_path / JOURNAL_NAME).read_bytes() == struct.pack(">I", crc32c(payload)) + payload


def test_the_last_change_of_each_kind_counts(journal):
    for topic_id, partition, kind, offset in [
        (ID_A, 0, RECOVERY, 10),
        (ID_A, 0, START, 5),
        (ID_A, 1, RECOVERY, 7),
        (ID_B, 0, RECOVERY, 8),
        (ID_A, 0, RECOVERY, 20),
        (ID_A, 0, RECOVERY, 15),
    ]:
        journal.note(topic_id, partition, kind, offset)
    assert journal.latest() == {
        (ID_A, 0, RECOVERY): 15,
        (ID_A, 0, START): 5,
        (ID_A, 1, RECOVERY): 7,
        (ID_B, 0, RECOVERY): 8,
    }


def test_what_was_noted_is_there_after_the_writer_has_died(tmp_path):
    journal = OffsetJournal(REAL_FILES, tmp_path)
    journal.note(ID_A, 0, RECOVERY, 10)
    journal.close()
    again = OffsetJournal(REAL_FILES, tmp_path)
    assert again.latest() == {(ID_A, 0, RECOVERY): 10}
    again.note(ID_A, 0, RECOVERY, 11)
    assert again.latest() == {(ID_A, 0, RECOVERY): 11}
    again.close()


def test_a_torn_end_is_overwritten(tmp_path):
    journal = OffsetJournal(REAL_FILES, tmp_path)
    journal.note(ID_A, 0, RECOVERY, 10)
    journal.note(ID_A, 0, RECOVERY, 20)
    journal.close()
    path = tmp_path / JOURNAL_NAME
    path.write_bytes(path.read_bytes()[:-4])
    again = OffsetJournal(REAL_FILES, tmp_path)
    assert again.latest() == {(ID_A, 0, RECOVERY): 10}
    again.note(ID_A, 0, RECOVERY, 30)
    assert again.latest() == {(ID_A, 0, RECOVERY): 30}
    again.close()


def test_kinds_of_later_days_are_passed_over(journal, tmp_path):
    payload = ID_A + struct.pack(">ibq", 0, 9, 77)
    (tmp_path / JOURNAL_NAME).write_bytes(struct.pack(">I", crc32c(payload)) + payload)
    reader = OffsetJournal(REAL_FILES, tmp_path, read_only=True)
    assert reader.latest() == {}
    reader.close()


def test_a_cleared_journal_is_empty(journal, tmp_path):
    journal.note(ID_A, 0, RECOVERY, 10)
    journal.clear()
    assert journal.latest() == {}
    assert (tmp_path / JOURNAL_NAME).stat().st_size == 0


def test_when_it_is_long_the_checkpoints_are_due(journal, monkeypatch):
    monkeypatch.setattr(offset_journal, "ENTRIES_MAX", 3)
    for offset in range(2):
        journal.note(ID_A, 0, RECOVERY, offset)
        assert not journal.is_due_for_checkpoint
    journal.note(ID_A, 0, RECOVERY, 3)
    assert journal.is_due_for_checkpoint


def test_a_full_disk_loses_a_change_and_no_more(tmp_path):
    class FullDisk(Files):
        is_full = False

        def pwrite(self, fd, data, position):
            if self.is_full:
                raise OSError(28, "No space left on device")
            return super().pwrite(fd, data, position)

    files = FullDisk()
    files.pwrite = lambda fd, data, position: FullDisk.pwrite(files, fd, data, position)
    journal = OffsetJournal(files, tmp_path)
    journal.note(ID_A, 0, RECOVERY, 10)
    files.is_full = True
    journal.note(ID_A, 0, RECOVERY, 20)
    assert journal.latest() == {(ID_A, 0, RECOVERY): 10}
    files.is_full = False
    journal.note(ID_A, 0, RECOVERY, 30)
    assert journal.latest() == {(ID_A, 0, RECOVERY): 30}
    journal.close()
