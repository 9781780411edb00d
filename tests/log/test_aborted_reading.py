"""Which aborted transactions a fetch is told of: all that reach into it, and none behind it."""

import pytest

from distributedlog.log import LogConfig, open_partition_log
from distributedlog.log.errors import CorruptLog
from distributedlog.log.files import REAL_FILES
from distributedlog.log.producer_checks import AppendOrigin
from partition_files import batch, marker

NOW_MS = 1_700_000_000_000
ABORT, COMMIT = 0, 1


class Filled:
    """A log into which transactions are written by a few words."""

    def __init__(self, directory, **config):
        self.directory = directory
        directory.mkdir()
        self.config = LogConfig(index_interval_bytes=200, **config)
        self.log = self.open()
        self.sequences = {}

    def open(self):
        return open_partition_log(REAL_FILES, self.directory, self.config, was_clean=True, now_ms=NOW_MS)[0]

    def write(self, producer_id, size=100):
        sequence = self.sequences.get(producer_id, 0)
        self.sequences[producer_id] = sequence + 1
        fields = {"producer_epoch": 0, "base_sequence": sequence, "is_transactional": True}
        data = batch(0, [bytes(size)], producer_id=producer_id, **fields)
        self.log.append(bytearray(data), now_ms=NOW_MS)

    def plain(self, size=100):
        self.log.append(bytearray(batch(0, [bytes(size)])), now_ms=NOW_MS)

    def end(self, producer_id, control_type=ABORT):
        data = bytearray(marker(0, producer_id, control_type))
        self.log.append(data, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)
        self.log.advance_high_watermark(self.log.log_end_offset)

    def aborted(self, offset, bytes_max=1 << 20):
        upper = self.log.last_stable_offset
        region = self.log.read(offset, bytes_max, upper_offset=upper)
        found = self.log.aborted_transactions_in(region, offset)
        return [(each.producer_id, each.first_offset) for each in found]


@pytest.fixture
def filled(tmp_path):
    made = Filled(tmp_path / "t-0", segment_bytes=1000)
    yield made
    made.log.abandon()


def test_a_transaction_over_several_segments_is_told_in_each(filled):
    filled.write(1)
    for _ in range(20):
        filled.plain()
    filled.end(1)
    assert len(filled.log.segments) > 2
    for offset in range(22):
        assert filled.aborted(offset) == [(1, 0)], offset


def test_those_behind_what_is_sent_are_not_told(filled):
    for producer_id in range(1, 8):
        filled.write(producer_id)
        filled.end(producer_id)
    for offset in range(14):
        producer_id = offset // 2 + 1
        assert filled.aborted(offset, bytes_max=1) == [(producer_id, 2 * producer_id - 2)]
    assert filled.aborted(0, bytes_max=300) == [(1, 0), (2, 2)]


def test_those_that_ended_before_are_not_told(filled):
    filled.write(1)
    filled.end(1)
    filled.plain()
    assert filled.aborted(2) == []


def test_a_committed_transaction_is_never_told(filled):
    filled.write(1)
    filled.write(2)
    filled.end(1, COMMIT)
    filled.end(2)
    assert filled.aborted(0) == [(2, 1)]


def test_an_index_that_leads_astray_hides_nothing(filled, monkeypatch):
    filled.write(1)
    filled.plain()
    filled.write(2)
    filled.end(1)
    filled.end(2)
    index = filled.log.segments[0].offset_index
    assert index.entry_count > 0
    region = filled.log.read(0, 1 << 20)
    monkeypatch.setattr(type(index), "entry", lambda self, number: (1, 77))
    assert [each.first_offset for each in filled.log.aborted_transactions_in(region, 0)] == [0, 2]


def test_batches_that_cannot_be_followed_are_damage(filled):
    filled.write(1)
    filled.plain()
    filled.end(1)
    log = filled.log
    region = log.read(0, 1 << 20, upper_offset=log.last_stable_offset)
    path = log.segments[0].log.path
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) - len(marker(0, 1, ABORT)) + 16] = 9  # the last batch's magic
    path.write_bytes(damaged)
    with pytest.raises(CorruptLog):
        log.aborted_transactions_in(region, 0)
