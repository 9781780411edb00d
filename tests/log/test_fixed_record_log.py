import errno
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.errors import (
    CorruptLog,
    DirectoryLocked,
    DiskFull,
    InvalidRecord,
    LogClosed,
    LogDirectoryOffline,
    OffsetOutOfRange,
    ReadOnlyLog,
)
from distributedlog.log.files import REAL_FILES, Files
from distributedlog.log.fixed_record_log import FixedRecordLog

RECORDS = [b"abc", b"\0\0\0", b"xyz", b"\xff\xff\xff", b"end"]
SLOT = 7


@pytest.fixture
def path(tmp_path):
    return tmp_path / "records.log"


@pytest.fixture
def written(path):
    with FixedRecordLog(REAL_FILES, path, 3) as log:
        log.append_many(RECORDS)
    return path


def contents(path, record_size=3):
    with FixedRecordLog(REAL_FILES, path, record_size) as log:
        return list(log)


def test_golden_bytes(path):
    # The CRC32C of "123456789" is the check value of the algorithm, e3069283.
    with FixedRecordLog.open(path, 9) as log:
        assert log.append(b"123456789") == 0
        assert log.append(bytearray(9)) == 1
    zeros = path.read_bytes()[13:17]
    assert path.read_bytes() == bytes.fromhex("e3069283") + b"123456789" + zeros + bytes(9)
    assert zeros != bytes(4)


def test_append_and_read_by_number(path):
    with FixedRecordLog.open(path, 3) as log:
        assert len(log) == 0
        assert list(log) == []
        assert [log.append(record) for record in RECORDS[:2]] == [0, 1]
        assert log.append_many(RECORDS[2:]) == range(2, 5)
        assert log.append_many([]) == range(5, 5)
        assert log.append_many(memoryview(record) for record in RECORDS[:1]) == range(5, 6)
        assert len(log) == 6
        assert [log.read(number) for number in range(5)] == RECORDS
        assert list(log.iterate(3)) == [*RECORDS[3:], RECORDS[0]]
        assert list(log.iterate(6)) == []
    assert path.stat().st_size == 6 * SLOT
    assert contents(path) == [*RECORDS, RECORDS[0]]


def test_reopened_log_goes_on_where_it_ended(written):
    with FixedRecordLog.open(written, 3) as log:
        assert log.append(b"new") == 5
    assert contents(written) == [*RECORDS, b"new"]


def test_iteration_sees_what_is_appended_meanwhile(written):
    with FixedRecordLog.open(written, 3) as log:
        iterator = iter(log)
        found = [next(iterator) for _ in RECORDS]
        log.append(b"new")
        assert [*found, *iterator] == [*RECORDS, b"new"]


def test_a_log_of_more_than_one_chunk(path):
    size, count = 700_000, 5
    with FixedRecordLog.open(path, size) as log:
        log.append_many(bytes([number]) * size for number in range(count))
    assert [record[0] for record in contents(path, size)] == list(range(count))
    with open(path, "r+b") as file:
        file.seek(3 * (size + 4) + 1000)
        file.write(b"?")
    assert [record[0] for record in contents(path, size)] == [0, 1, 2]


@pytest.mark.parametrize("number", [-1, 5, 2**40])
def test_a_number_that_is_not_there(written, number):
    with FixedRecordLog.open(written, 3) as log:
        with pytest.raises(OffsetOutOfRange, match="0 to 5"):
            log.read(number)
        if number != 5:
            with pytest.raises(OffsetOutOfRange):
                log.iterate(number)


def test_a_payload_of_another_size_is_refused_and_nothing_written(path):
    with FixedRecordLog.open(path, 3) as log:
        for payload in (b"", b"ab", b"abcd", memoryview(bytes(12)).cast("I")):
            with pytest.raises(InvalidRecord, match="exactly 3"):
                log.append(payload)
        with pytest.raises(InvalidRecord, match="record 1 of the batch"):
            log.append_many([b"abc", b"ab"])
        assert len(log) == 0
    assert path.stat().st_size == 0


@pytest.mark.parametrize("record_size", [0, -1, 2**30 + 1, 3.0, True])
def test_a_record_size_that_cannot_be(path, record_size):
    with pytest.raises(ValueError, match="record_size"):
        FixedRecordLog.open(path, record_size)
    assert not path.exists()


# What a crash or damage leaves


def test_every_truncation_point(path):
    with FixedRecordLog(REAL_FILES, path, 3) as log:
        log.append_many(RECORDS)
    whole = path.read_bytes()
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = RECORDS[: size // SLOT]
        with FixedRecordLog(REAL_FILES, path, 3) as log:
            assert list(log) == kept
            assert log.discarded_bytes == size % SLOT
            assert log.append(b"new") == len(kept)
            assert log.discarded_bytes == 0
        assert contents(path) == [*kept, b"new"]
        assert path.stat().st_size == (len(kept) + 1) * SLOT


def test_every_corruption_point(path):
    with FixedRecordLog(REAL_FILES, path, 3) as log:
        log.append_many(RECORDS)
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        kept = RECORDS[: position // SLOT]
        with FixedRecordLog(REAL_FILES, path, 3) as log:
            assert list(log) == kept
            assert path.read_bytes() == damaged, "opening changes nothing"
            assert log.append(b"new") == len(kept)
        assert contents(path) == [*kept, b"new"], "what followed the damage does not come back"


@given(
    st.lists(st.binary(min_size=2, max_size=2), max_size=12),
    st.integers(0, 72),
    st.binary(max_size=30),
    st.lists(st.binary(min_size=2, max_size=2), max_size=3),
)
def test_any_tail_in_place_of_the_written_one(tmp_path_factory, records, cut, tail, more):
    path = tmp_path_factory.mktemp("f") / "records.log"
    with FixedRecordLog(REAL_FILES, path, 2) as log:
        log.append_many(records)
    whole = path.read_bytes()
    path.write_bytes(whole[:cut] + tail)
    with FixedRecordLog(REAL_FILES, path, 2) as log:
        kept = list(log)
        assert kept[: min(cut, len(whole)) // 6] == records[: min(cut, len(whole)) // 6]
        log.append_many(more)
    assert contents(path, 2) == kept + more


@given(st.binary(max_size=100), st.integers(1, 20))
def test_any_bytes_are_a_log_or_none(tmp_path_factory, data, record_size):
    path = tmp_path_factory.mktemp("f") / "records.log"
    path.write_bytes(data)
    with FixedRecordLog(REAL_FILES, path, record_size) as log:
        for number, record in enumerate(log):
            assert data[number * (record_size + 4) + 4 :].startswith(record)
        assert log.discarded_bytes == len(data) - len(log) * (record_size + 4)


def test_a_look_with_the_wrong_record_size_does_no_harm(written):
    with FixedRecordLog.open(written, 4) as log:
        assert len(log) == 0
        assert log.discarded_bytes == 5 * SLOT
    assert contents(written) == RECORDS


def test_zeros_left_by_a_loss_of_power_are_no_records(written):
    with open(written, "ab") as file:
        file.write(bytes(10 * SLOT))
    assert contents(written) == RECORDS


def test_damage_after_opening_is_noticed(written):
    with FixedRecordLog.open(written, 3) as log:
        with open(written, "r+b") as file:
            file.seek(2 * SLOT + 5)
            file.write(b"?")
        assert log.read(1) == RECORDS[1]
        with pytest.raises(CorruptLog) as caught:
            log.read(2)
        assert caught.value.position == 2 * SLOT
        with pytest.raises(CorruptLog):
            list(log)


def test_truncate_to_and_clear(written):
    with FixedRecordLog.open(written, 3) as log:
        with pytest.raises(OffsetOutOfRange):
            log.truncate_to(6)
        log.truncate_to(2)
        assert list(log) == RECORDS[:2]
        assert log.append(b"new") == 2
        log.clear()
        assert len(log) == 0
        assert log.append(b"one") == 0
    assert contents(written) == [b"one"]


# A disk that fails


class FailingFiles(Files):
    """Lets `room` bytes be written and then fails; or fails to sync."""

    def __init__(self, room=2**40, sync_error=None, write_error=errno.ENOSPC):
        self.room = room
        self.sync_error = sync_error
        self.write_error = write_error
        self.synced = 0

    def pwrite(self, fd, data, position):
        if not self.room:
            raise OSError(self.write_error, os.strerror(self.write_error))
        size = min(self.room, len(data))
        self.room -= size
        return os.pwrite(fd, memoryview(data)[:size], position)

    def fsync(self, fd):
        if self.sync_error:
            raise OSError(self.sync_error, os.strerror(self.sync_error))
        self.synced += 1


@pytest.mark.parametrize("room", range(2 * SLOT + 1))
def test_a_full_disk_loses_nothing_and_blocks_nothing_for_ever(written, room):
    files = FailingFiles(room)
    log = FixedRecordLog(files, written, 3)
    if room >= 2 * SLOT:
        assert log.append_many([b"one", b"two"]) == range(5, 7)
    else:
        with pytest.raises(DiskFull):
            log.append_many([b"one", b"two"])
        assert written.stat().st_size == 5 * SLOT, "the write is cut back whole"
        assert list(log) == RECORDS
        files.room = 100
        assert log.append(b"six") == 5
        assert log.read(5) == b"six"
    log.close()


def test_another_failure_of_a_write_ends_all_writing(written):
    log = FixedRecordLog(FailingFiles(3, write_error=errno.EIO), written, 3)
    for _ in range(2):
        with pytest.raises(LogDirectoryOffline):
            log.append(b"one")
    assert list(log) == RECORDS
    log.close()
    assert contents(written) == RECORDS


def test_a_failed_sync_is_never_tried_again(written):
    files = FailingFiles(sync_error=errno.EIO)
    log = FixedRecordLog(files, written, 3)
    log.append(b"one")
    with pytest.raises(LogDirectoryOffline):
        log.flush()
    files.sync_error = None
    with pytest.raises(LogDirectoryOffline):
        log.flush()
    with pytest.raises(LogDirectoryOffline):
        log.append(b"two")
    assert log.read(0) == RECORDS[0]
    log.close()
    assert files.synced == 0


def test_flush_syncs_what_is_new_only(written):
    files = FailingFiles()
    with FixedRecordLog(files, written, 3) as log:
        log.flush()
        assert files.synced == 0
        log.append(b"one")
        log.flush()
        log.flush()
        assert files.synced == 1
        log.append(b"two")
    assert files.synced == 2, "closing flushes"


def test_what_was_discarded_is_cut_off_and_synced_before_the_next_write(written):
    with open(written, "r+b") as file:
        file.seek(SLOT)
        file.write(b"????")
    events = []

    class Watched(Files):
        def truncate(self, fd, size):
            events.append(("truncate", size))
            super().truncate(fd, size)

        def fsync(self, fd):
            events.append(("fsync", os.fstat(fd).st_size))

        def pwrite(self, fd, data, position):
            events.append(("pwrite", position))
            return os.pwrite(fd, data, position)

    log = FixedRecordLog(Watched(), written, 3)
    log.append(b"one")
    log.append(b"two")
    assert events == [("truncate", SLOT), ("fsync", SLOT), ("pwrite", SLOT), ("pwrite", 2 * SLOT)]


# One writer, many readers


def test_a_second_writer_is_refused(written):
    with FixedRecordLog.open(written, 3) as log:
        with pytest.raises(DirectoryLocked, match=r"records\.log"):
            FixedRecordLog.open(written, 3)
        log.append(b"one")
    with FixedRecordLog.open(written, 3) as log:
        assert len(log) == 6


def test_a_reader_follows_the_writer(written):
    with (
        FixedRecordLog.open(written, 3) as writer,
        FixedRecordLog.open(written, 3, read_only=True) as reader,
    ):
        assert list(reader) == RECORDS
        writer.append(b"one")
        assert reader.read(5) == b"one"
        writer.append(b"two")
        assert len(reader) == 7
        writer.clear()
        assert len(reader) == 0
        writer.append(b"new")
        assert list(reader) == [b"new"]


def test_a_reader_does_not_see_a_record_half_written(written):
    with FixedRecordLog.open(written, 3, read_only=True) as reader, open(written, "ab", buffering=0) as file:
        slot = written.read_bytes()[:SLOT]
        for byte in slot:
            assert len(reader) == 5
            file.write(bytes([byte]))
        assert len(reader) == 6


def test_a_reader_changes_nothing(written):
    with open(written, "ab") as file:
        file.write(b"torn")
    before = written.read_bytes()
    with FixedRecordLog.open(written, 3, read_only=True) as reader:
        for change in (lambda: reader.append(b"abc"), reader.flush, reader.clear):
            with pytest.raises(ReadOnlyLog):
                change()
        assert reader.discarded_bytes == 4
    assert written.read_bytes() == before


def test_a_reader_needs_a_file(path):
    with pytest.raises(FileNotFoundError):
        FixedRecordLog.open(path, 3, read_only=True)
    assert not path.exists()


def test_another_process_reads_while_this_one_writes(written):
    program = (
        "import sys; from distributedlog.log.fixed_record_log import FixedRecordLog\n"
        "with FixedRecordLog.open(sys.argv[1], 3, read_only=True) as log: print(len(log), log.read(5))\n"
    )
    with FixedRecordLog.open(written, 3) as log:
        log.append(b"one")
        found = subprocess.run([sys.executable, "-c", program, written], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == ("6 b'one'\n", "")


def test_use_after_close(written):
    log = FixedRecordLog.open(written, 3)
    log.close()
    log.close()
    for use in (lambda: log.append(b"abc"), lambda: log.read(0), lambda: list(log), log.flush):
        with pytest.raises(LogClosed):
            use()
