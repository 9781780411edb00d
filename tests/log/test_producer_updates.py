"""Batches and markers on their way into the producer state and the transaction index."""

import pytest

from distributedlog.log.errors import InvalidProducerEpoch, OutOfOrderSequence
from distributedlog.log.files import REAL_FILES
from distributedlog.log.producer_checks import AppendOrigin
from distributedlog.log.producer_state import ProducerStateManager
from distributedlog.log.producer_updates import EndMarker, apply_batch, check_producer, read_end_marker
from distributedlog.log.transaction_index import TransactionIndex
from distributedlog.records import ControlType, CorruptBatchError, build_control_batch, parse_header
from partition_files import batch, marker

ABORT, COMMIT = 0, 1


@pytest.fixture
def states():
    return ProducerStateManager()


@pytest.fixture
def index(tmp_path):
    return TransactionIndex(REAL_FILES, tmp_path / "00000000000000000000.txnindex")


def produced(base_offset, sequence, producer_id=7, epoch=0, transactional=True):
    return batch(
        base_offset,
        [b"v"] * 2,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )


def apply(states, data, index=None):
    apply_batch(states, parse_header(data), lambda: data, None if index is None else lambda: index)


def check(states, data, origin=AppendOrigin.CLIENT):
    return check_producer(states, parse_header(data), lambda: data, origin)


def never_opened():
    raise AssertionError("a batch of records was opened")


def test_a_batch_of_records_speaks_through_its_header(states):
    header = parse_header(produced(0, 0))
    assert check_producer(states, header, never_opened, AppendOrigin.CLIENT) is None
    apply_batch(states, header, never_opened, None)
    assert states.entry(7).last_sequence == 1


def test_a_repetition_is_answered_with_the_first_offsets(states):
    apply(states, produced(40, 0))
    again = check(states, produced(0, 0))
    assert (again.first_offset, again.last_offset) == (40, 41)
    with pytest.raises(OutOfOrderSequence):
        check(states, produced(0, 5))


def test_a_marker_is_read_out_of_its_batch():
    assert read_end_marker(marker(5, 7, COMMIT)) == EndMarker(False, 0)
    aborting = build_control_batch(
        ControlType.ABORT, 0, producer_id=7, producer_epoch=0, coordinator_epoch=12
    )
    assert read_end_marker(bytes(aborting)) == EndMarker(True, 12)


def test_control_records_of_other_kinds_end_nothing(states, index):
    apply(states, produced(0, 0))
    leader_change = bytes(build_control_batch(ControlType.LEADER_CHANGE, 0, value=b"x", base_offset=2))
    assert read_end_marker(leader_change) is None
    assert check(states, leader_change, AppendOrigin.COORDINATOR) is None
    apply(states, leader_change, index)
    assert states.first_undecided_offset == 0


def test_a_control_batch_without_sense_is_corrupt(states):
    senseless = batch(0, [b"v"], producer_id=7, producer_epoch=0, base_sequence=0, is_control=True)
    with pytest.raises(CorruptBatchError):
        check(states, senseless[:-5] + b"12345", AppendOrigin.COORDINATOR)


def test_the_marker_of_an_old_epoch_is_refused(states):
    apply(states, produced(0, 0, epoch=3))
    with pytest.raises(InvalidProducerEpoch):
        check(states, marker(2, 7, ABORT), AppendOrigin.COORDINATOR)


def test_an_abort_is_noted_in_the_transaction_index(states, index):
    apply(states, produced(0, 0, producer_id=7))
    apply(states, produced(2, 0, producer_id=8))
    apply(states, marker(4, 7, ABORT), index)
    apply(states, marker(5, 8, ABORT), index)
    # producer, first offset, the marker's offset, and what the last stable offset became
    assert [tuple(entry) for entry in index.entries] == [(7, 0, 4, 2), (8, 2, 5, 6)]
    assert states.first_undecided_offset is None
    assert states.first_unstable_offset == 0


def test_a_commit_is_not(states, index):
    apply(states, produced(0, 0))
    apply(states, marker(2, 7, COMMIT), index)
    assert index.entries == []
    assert not index.path.exists()
    assert states.first_undecided_offset is None


def test_the_marker_of_a_transaction_without_records_here_concerns_no_index(states, index):
    apply(states, marker(0, 7, ABORT), index)
    assert index.entries == []
    assert states.entry(7).coordinator_epoch == 0


def test_the_replay_of_a_segment_whose_index_is_whole_writes_nothing(states):
    apply(states, produced(0, 0))
    apply(states, marker(2, 7, ABORT))
    assert states.first_undecided_offset is None
