"""The producer state after a restart: what a snapshot and the batches behind it say of all batches."""

import pytest

from distributedlog.log.files import REAL_FILES
from distributedlog.log.producer_state import ProducerStateManager
from distributedlog.log.producer_updates import apply_batch
from distributedlog.log.replay import replay_producers
from distributedlog.log.segment import Segment
from distributedlog.log.segments import SegmentList
from distributedlog.log.snapshot_files import SnapshotFiles
from distributedlog.records import parse_header, write_crc
from partition_files import batch, marker

ABORT, COMMIT = 0, 1
NOW_MS = 1_700_000_000_000


def produced(base_offset, count, producer_id, sequence, **options):
    return batch(
        base_offset,
        [b"v"] * count,
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=sequence,
        **options,
    )


BATCHES = [
    # segment 0
    [produced(0, 3, 7, 0), batch(3, [b"no producer"]), produced(4, 2, 8, 0, is_transactional=True)],
    # segment 6: producer 8 aborts, producer 9 begins before that
    [
        produced(6, 1, 9, 0, is_transactional=True),
        produced(7, 1, 8, 2, is_transactional=True),
        marker(8, 8, ABORT),
        produced(9, 2, 7, 3),
    ],
    # segment 11: producer 9 commits and begins anew
    [marker(11, 9, COMMIT), produced(12, 1, 9, 1, is_transactional=True), produced(13, 1, 7, 5)],
]
END = 14


def open_segments(directory):
    for batches in BATCHES:
        base_offset = int.from_bytes(batches[0][:8])
        (directory / f"{base_offset:020}.log").write_bytes(b"".join(batches))
    return SegmentList(Segment(REAL_FILES, directory, base_offset) for base_offset in (0, 6, 11))


def entries_at(offset):
    """The state of all batches before an offset, fed one by one."""
    states = ProducerStateManager()
    for data in (data for batches in BATCHES for data in batches):
        header = parse_header(data)
        if header.base_offset < offset and header.producer_id >= 0:
            apply_batch(states, header, lambda data=data: data, None)
    return states.entries()


def replayed(segments, snapshots, *, rebuild_from=None):
    states = ProducerStateManager()
    replay_producers(
        states,
        segments,
        snapshots,
        log_end_offset=END,
        rebuild_transaction_indexes_from=rebuild_from,
        now_ms=NOW_MS,
    )
    return states


def facts(states):
    return {
        entry.producer_id: (entry.last_sequence, entry.current_txn_first_offset, entry.coordinator_epoch)
        for entry in states.entries()
    }


def aborted(segments):
    return [tuple(entry) for segment in segments for entry in segment.transaction_index.entries]


AT_THE_END = {7: (5, -1, -1), 8: (2, -1, 0), 9: (1, 12, 0)}


@pytest.fixture
def segments(tmp_path):
    return open_segments(tmp_path)


@pytest.fixture
def snapshots(tmp_path):
    return SnapshotFiles(REAL_FILES, tmp_path)


def test_without_a_snapshot_all_is_replayed(segments, snapshots):
    states = replayed(segments, snapshots)
    assert facts(states) == AT_THE_END
    assert states.first_undecided_offset == 12
    assert states.map_end_offset == END
    assert [at.first_offset for at in states.entry(7).batches] == [0, 9, 13]


@pytest.mark.parametrize("at", [3, 6, 8, 9, 11, 12, 14])
def test_a_snapshot_and_the_rest_lead_to_the_same_state(segments, snapshots, at):
    snapshots.write(at, entries_at(at))
    states = replayed(segments, snapshots)
    assert facts(states) == AT_THE_END
    assert states.first_undecided_offset == 12
    assert states.last_snapshot_offset == at


def test_nothing_below_the_snapshot_is_read(segments, snapshots):
    snapshots.write(11, entries_at(11))
    for segment in list(segments)[:2]:
        segment.close()
        segment.path(".log").write_bytes(b"")
    assert facts(replayed(segments, snapshots)) == AT_THE_END


def test_transaction_indexes_are_rebuilt_from_the_first_segment_that_recovery_read(segments, snapshots):
    """The entry's last stable offset is 6, where the transaction of producer 9 was open."""
    replayed(segments, snapshots, rebuild_from=0)
    assert aborted(segments) == [(8, 4, 8, 6)]
    segments[1].transaction_index.reset()
    replayed(segments, snapshots, rebuild_from=11)
    assert aborted(segments) == []
    snapshots.write(6, entries_at(6))
    replayed(segments, snapshots, rebuild_from=6)
    assert aborted(segments) == [(8, 4, 8, 6)]


def test_a_rebuild_does_not_begin_with_a_snapshot_behind_its_start(segments, snapshots):
    """It would know nothing of the transactions that ended in between."""
    snapshots.write(14, entries_at(14))
    states = replayed(segments, snapshots, rebuild_from=6)
    assert aborted(segments) == [(8, 4, 8, 6)]
    assert facts(states) == AT_THE_END


def test_the_shell_that_compaction_leaves_still_tells_the_last_sequence(tmp_path, snapshots):
    shell = bytearray(produced(0, 5, 7, 10)[:61])
    shell[8:12] = (61 - 12).to_bytes(4)
    shell[57:61] = (0).to_bytes(4)
    write_crc(shell)
    (tmp_path / f"{0:020}.log").write_bytes(shell)
    segments = SegmentList([Segment(REAL_FILES, tmp_path, 0)])
    states = replayed(segments, snapshots)
    assert facts(states) == {7: (14, -1, -1)}


def test_a_producer_silent_for_long_is_forgotten_with_its_snapshot_only(segments, snapshots):
    """What is still in the log keeps it known; open transactions are never forgotten."""
    snapshots.write(11, entries_at(11))
    states = ProducerStateManager(producer_id_expiration_ms=1000)
    replay_producers(
        states,
        segments,
        snapshots,
        log_end_offset=END,
        rebuild_transaction_indexes_from=None,
        now_ms=NOW_MS + 10_000,
    )
    assert set(facts(states)) == {7, 9}
    assert [at.first_offset for at in states.entry(7).batches] == [13]


def test_a_rebuild_leaves_a_snapshot_at_every_segment_that_may_be_the_first_one_day(segments, snapshots):
    """Without it the next recovery would know nothing of what began in segments that are gone by then."""
    replayed(segments, snapshots, rebuild_from=0)
    assert snapshots.offsets() == [6, 11]
    for segment in list(segments)[:1]:
        segments.replace([segment], [])
    states = replayed(segments, snapshots, rebuild_from=6)
    assert facts(states) == AT_THE_END
    assert aborted(segments) == [(8, 4, 8, 6)]
