"""Index files: Kafka's bytes, the tail in memory, binary search over both parts."""

import os

import pytest

from distributedlog.log.files import REAL_FILES, Files
from distributedlog.log.index_file import OFFSET_ENTRY, TIME_ENTRY, IndexFile


@pytest.fixture
def path(tmp_path):
    return tmp_path / "00000000000000000000.index"


def open_index(path, entry=OFFSET_ENTRY, **options):
    return IndexFile(options.pop("files", REAL_FILES), path, entry, **options)


def filled(path, count, **options):
    """Entries (0, 0), (10, 100), (20, 200) ... of which the first is never looked for alone."""
    index = open_index(path, **options)
    for number in range(1, count + 1):
        index.append(10 * number, 100 * number)
    return index


def test_an_offset_entry_is_relative_offset_and_position_of_four_bytes_each(path):
    index = open_index(path)
    index.append(9, 4242)
    index.append(2**31 - 1, 2**30)
    index.seal()
    assert path.read_bytes() == bytes.fromhex("00000009 00001092 7fffffff 40000000")


def test_a_time_entry_is_timestamp_of_eight_bytes_and_relative_offset_of_four(path):
    index = open_index(path, TIME_ENTRY)
    index.append(1_700_000_000_000, 9)
    index.seal()
    assert path.read_bytes() == bytes.fromhex("0000018bcfe56800 00000009")


def test_the_tail_reaches_the_file_page_by_page(path):
    index = filled(path, 511)
    assert not path.exists()
    index.append(5120, 51200)
    assert path.stat().st_size == 4096
    index.append(5130, 51300)
    assert path.stat().st_size == 4096
    assert index.entry_count == 513
    assert index.entry(0) == (10, 100)
    assert index.entry(512) == (5130, 51300)


def test_a_sealed_index_is_there_even_when_it_is_empty(path):
    open_index(path).seal()
    assert path.read_bytes() == b""


@pytest.mark.parametrize("mapped", [0, 1, 4, 6])
def test_floor_is_found_in_the_mapped_part_and_in_the_tail(path, mapped):
    filled(path, mapped).seal()
    index = open_index(path)
    for number in range(mapped + 1, 7):
        index.append(10 * number, 100 * number)
    for wanted in range(75):
        assert index.floor(wanted) == min(wanted // 10, 6) - 1
    assert [index.entry(number) for number in range(6)] == [(10 * n, 100 * n) for n in range(1, 7)]


def test_the_zeros_that_kafka_preallocates_are_no_entries(path):
    filled(path, 3).seal()
    with open(path, "ab") as file:
        file.write(bytes(800))
    index = open_index(path)
    assert index.entry_count == 3
    index.append(40, 400)
    index.seal()
    assert path.stat().st_size == 4 * 8
    assert open_index(path).entry(3) == (40, 400)


def test_a_file_of_zeros_alone_has_no_entries(path):
    path.write_bytes(bytes(80))
    assert open_index(path).entry_count == 0


def test_a_file_that_is_no_whole_number_of_entries_is_odd(path):
    path.write_bytes(bytes(range(1, 14)))
    index = open_index(path)
    assert index.has_odd_size
    index.cut(0)
    assert path.stat().st_size == 0
    assert not index.has_odd_size


@pytest.mark.parametrize("kept", range(8))
def test_a_cut_reaches_the_file_and_both_parts(path, kept):
    filled(path, 4).seal()
    index = open_index(path)
    for number in range(5, 8):
        index.append(10 * number, 100 * number)
    index.cut(kept)
    assert index.entry_count == kept
    assert path.stat().st_size == 8 * min(kept, 4)
    index.append(1000, 9)
    index.seal()
    again = open_index(path)
    assert [again.entry(number) for number in range(again.entry_count)] == [
        *[(10 * number, 100 * number) for number in range(1, kept + 1)],
        (1000, 9),
    ]


def test_a_cut_between_what_is_written_and_what_is_not(path):
    index = filled(path, 512)
    index.append(6000, 1)
    index.cut(500)
    assert path.stat().st_size == 500 * 8
    index.append(6001, 2)
    index.seal()
    again = open_index(path)
    assert again.entry_count == 501
    assert again.entry(499) == (5000, 50000)
    assert again.entry(500) == (6001, 2)


def test_a_reader_keeps_its_entries_when_the_writer_cuts_the_file(path):
    filled(path, 4).seal()
    reader = open_index(path, writable=False)
    open_index(path).cut(0)
    assert [reader.entry(number) for number in range(4)] == [(10 * n, 100 * n) for n in range(1, 5)]


def test_a_reader_never_writes(path):
    reader = filled(path, 1000, writable=False)
    reader.write_behind()
    reader.cut(3)
    assert not path.exists()
    assert reader.entry_count == 3


class FullDisk(Files):
    is_full = True

    def open(self, path, create=False):
        if self.is_full:
            raise OSError(28, "No space left on device")
        return super().open(path, create)


def test_a_full_disk_costs_the_file_and_no_entry(path):
    files = FullDisk()
    index = filled(path, 600, files=files)
    index.seal()
    assert not path.exists()
    assert index.entry_count == 600
    assert index.floor(6000) == 599
    files.is_full = False
    index.seal()
    assert path.stat().st_size == 4800


def test_the_sync_of_an_index_whose_segment_is_gone_leaves_no_file_behind(path):
    index = filled(path, 3)
    index.seal()
    os.unlink(path)
    index.sync()
    assert not path.exists()


def test_only_rising_entries_are_increasing(path):
    assert filled(path, 5).is_increasing()
    index = filled(path, 5)
    index.append(50, 600)
    assert not index.is_increasing()
