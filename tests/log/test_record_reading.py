"""From file regions to records."""

import pytest

from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES, FileRegion, OpenFile
from distributedlog.log.record_reading import FIRST_CHUNK_BYTES, RECORDS_CHUNK_BYTES, read_records
from distributedlog.records import Compression
from partition_files import batch, marker

BATCHES = [
    batch(0, [b"a", b"b", b"c"]),
    batch(3, [b"d"] * 4, compression=Compression.ZSTD),
    marker(7, 9, 1),
    batch(10, [b"e", b"f"]),
]


class Source:
    """Fetches as a log does, from one file; at most ``chunk`` bytes, but at least one batch."""

    def __init__(self, path, batches=BATCHES, chunk=1 << 20, start_offset=0):
        path.write_bytes(b"".join(batches))
        self.file = OpenFile(REAL_FILES, path)
        self.starts = []
        position = 0
        for data in batches:
            last_offset = int.from_bytes(data[:8]) + int.from_bytes(data[23:27])
            self.starts.append((last_offset, position, len(data)))
            position += len(data)
        self.size = position
        self.chunk = chunk
        self.start_offset = start_offset
        self.asked = []

    def __call__(self, offset, bytes_max):
        self.asked.append((offset, bytes_max))
        offset = max(offset, self.start_offset)
        for last_offset, position, size in self.starts:
            if last_offset >= offset:
                return offset, FileRegion(
                    self.file, position, min(max(min(self.chunk, bytes_max), size), self.size - position)
                )
        return None


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log"


def offsets(records):
    return [record.offset for record in records]


@pytest.mark.parametrize("chunk", [1, 200, 1 << 20])
def test_all_records_are_read_whatever_a_chunk_holds(path, chunk):
    """A chunk may end in the middle of a batch; markers are not for readers."""
    assert offsets(read_records(Source(path, chunk=chunk), 0)) == [0, 1, 2, 3, 4, 5, 6, 10, 11]


def test_a_read_may_begin_inside_of_a_batch_or_in_a_gap(path):
    for start, expected in ((1, [1, 2, 3]), (5, [5, 6, 10]), (7, [10, 11]), (8, [10, 11]), (12, [])):
        assert offsets(read_records(Source(path), start))[: len(expected)] == expected


@pytest.mark.parametrize(
    ("end", "expected"),
    [(0, []), (1, [0]), (3, [0, 1, 2]), (5, [0, 1, 2, 3, 4]), (8, [*range(7)]), (11, [*range(7), 10])],
)
def test_the_end_is_exclusive(path, end, expected):
    assert offsets(read_records(Source(path), 0, end)) == expected


def test_the_first_chunk_is_small_and_the_rest_large(path):
    batches = [batch(offset, [b"v" * 10_000]) for offset in range(300)]
    source = Source(path, batches)
    assert len(list(read_records(source, 0))) == 300
    assert source.asked[0] == (0, FIRST_CHUNK_BYTES)
    assert {size for _, size in source.asked[1:]} == {RECORDS_CHUNK_BYTES}


def test_nothing_is_read_ahead_of_who_iterates(path):
    source = Source(path, chunk=1)
    records = read_records(source, 0)
    assert source.asked == []
    assert next(records).offset == 0
    assert len(source.asked) == 1


def test_a_reader_whom_retention_has_overtaken_goes_on_with_what_is_left(path):
    source = Source(path, chunk=1)
    records = read_records(source, 0)
    assert next(records).offset == 0
    source.start_offset = 5
    assert offsets(records) == [1, 2, 5, 6, 10, 11]


def test_damage_is_named_when_its_turn_comes(path):
    damaged = bytearray(BATCHES[3])
    damaged[-3] ^= 1
    records = read_records(Source(path, [*BATCHES[:3], bytes(damaged)]), 0)
    assert [next(records).offset for _ in range(7)] == [*range(7)]
    position = sum(map(len, BATCHES[:3]))
    with pytest.raises(CorruptLog, match=f"log is damaged at byte {position}"):
        next(records)


def test_a_region_without_a_whole_batch_is_no_endless_loop(path):
    path.write_bytes(BATCHES[0][:-1])
    region = FileRegion(OpenFile(REAL_FILES, path), 0, len(BATCHES[0]))
    with pytest.raises(CorruptLog, match="no whole batch for offset 0"):
        list(read_records(lambda offset, bytes_max: (offset, region), 0))
