"""The first batch of a transaction enters a partition only with the guard that its coordinator confirmed."""

import pytest

from distributedlog.log.errors import InvalidProducerEpoch, InvalidTxnState, OutOfOrderSequence
from distributedlog.log.producer_checks import PRODUCER_EPOCH_MAX, AppendOrigin
from distributedlog.log.producer_state import ProducerStateManager
from distributedlog.log.transaction_verification import VerificationGuard
from distributedlog.records import BatchHeader

NOW_MS = 1_000_000
PRODUCER = 7


def header(sequence=0, epoch=0, *, transactional=True, producer_id=PRODUCER, count=1):
    attributes = 0x10 if transactional else 0
    return BatchHeader(
        0, 100, -1, 2, 0, attributes, count - 1, NOW_MS, NOW_MS, producer_id, epoch, sequence, count
    )


class Partition:
    def __init__(self):
        self.states = ProducerStateManager()
        self.states.requires_verification = True
        self.end_offset = 0

    def start(self, sequence=0, epoch=0, *, bumps_epoch=False, producer_id=PRODUCER, now_ms=NOW_MS):
        return self.states.start_verification(
            producer_id, epoch, sequence, bumps_epoch=bumps_epoch, now_ms=now_ms
        )

    def append(self, batch, guard=None, origin=AppendOrigin.CLIENT):
        duplicate = self.states.check(batch, origin, guard)
        if duplicate is None:
            self.states.update(batch, self.end_offset)
            self.end_offset += batch.last_offset_delta + 1
        return duplicate

    def mark(self, epoch=0, *, version=0, coordinator_epoch=0, producer_id=PRODUCER):
        self.states.check_marker(producer_id, epoch, coordinator_epoch, transaction_version=version)
        completed = self.states.update_marker(
            producer_id, epoch, coordinator_epoch, offset=self.end_offset, timestamp=NOW_MS, is_abort=False
        )
        self.end_offset += 1
        if completed is not None:
            self.states.complete_transaction(completed)
        return completed


@pytest.fixture
def partition():
    return Partition()


def test_a_transaction_does_not_begin_without_a_guard(partition):
    with pytest.raises(InvalidTxnState):
        partition.append(header())
    partition.start()
    with pytest.raises(InvalidTxnState):
        partition.append(header())
    with pytest.raises(InvalidTxnState):
        partition.append(header(), VerificationGuard())
    assert partition.end_offset == 0
    assert partition.states.first_unstable_offset is None


def test_it_begins_with_the_guard_and_goes_on_without(partition):
    partition.append(header(0), partition.start())
    assert partition.start(sequence=1) is None, "the partition knows by itself"
    partition.append(header(1))
    assert not len(partition.states.verifications)


def test_batches_outside_of_transactions_need_no_guard(partition):
    partition.append(header(0, transactional=False))
    partition.append(header(1, transactional=False))
    partition.append(header(0, producer_id=-1, transactional=False))


def test_a_coordinators_records_need_a_guard_too(partition):
    batch = header(-1)
    with pytest.raises(InvalidTxnState):
        partition.append(batch, origin=AppendOrigin.COORDINATOR)
    partition.append(batch, partition.start(-1), AppendOrigin.COORDINATOR)


def test_what_a_leader_has_taken_a_follower_takes(partition):
    partition.append(header(), origin=AppendOrigin.REPLICATION)


def test_a_broker_that_does_not_verify_needs_no_guard(partition):
    partition.states.requires_verification = False
    partition.append(header())


def test_a_marker_between_the_answer_and_the_append_takes_the_guard_away(partition):
    """The transaction that was verified is aborted, another one begins, and only then comes the batch."""
    guard = partition.start()
    partition.mark()
    with pytest.raises(InvalidTxnState):
        partition.append(header(), guard)
    partition.start()
    with pytest.raises(InvalidTxnState):
        partition.append(header(), guard)


def test_a_transaction_that_has_ended_needs_a_guard_again(partition):
    guard = partition.start()
    partition.append(header(0), guard)
    partition.mark()
    with pytest.raises(InvalidTxnState):
        partition.append(header(1), guard)
    partition.append(header(1), partition.start(1))


def test_a_new_epoch_is_another_transaction(partition):
    partition.append(header(0), partition.start())
    with pytest.raises(InvalidTxnState):
        partition.append(header(0, epoch=1))
    guard = partition.start(epoch=1)
    assert guard is not None
    partition.append(header(0, epoch=1), guard)


def test_a_repetition_is_answered_whatever_has_become_of_the_transaction(partition):
    partition.append(header(0, count=3), partition.start())
    partition.mark()
    again = partition.append(header(0, count=3))
    assert (again.first_offset, again.last_offset) == (0, 2)


def test_an_old_epoch_is_told_of_its_epoch(partition):
    partition.append(header(0, epoch=5), partition.start(epoch=5))
    partition.mark(epoch=5)
    with pytest.raises(InvalidProducerEpoch):
        partition.start(epoch=4)
    with pytest.raises(InvalidProducerEpoch):
        partition.append(header(0, epoch=4), VerificationGuard())


def test_the_marker_of_version_2_leaves_the_question_of_the_next_transaction(partition):
    """Its epoch is the next transaction's, whose first batch may wait for its answer already."""
    partition.append(header(0, epoch=1), partition.start(epoch=1, bumps_epoch=True))
    guard = partition.start(epoch=2, bumps_epoch=True)
    partition.mark(epoch=2, version=2)
    partition.append(header(0, epoch=2), guard)


@pytest.mark.parametrize(("epoch", "bumps_epoch"), [(1, False), (1, True), (2, False)])
def test_any_other_marker_ends_the_question(partition, epoch, bumps_epoch):
    guard = partition.start(epoch=1, bumps_epoch=bumps_epoch)
    marker_epoch = 2 if bumps_epoch else epoch
    partition.mark(epoch=marker_epoch)
    with pytest.raises((InvalidTxnState, InvalidProducerEpoch)):
        partition.append(header(0, epoch=1), guard)


def test_the_same_question_has_the_same_guard(partition):
    assert partition.start(3) is partition.start(4)
    assert partition.start(producer_id=8) is not partition.start(3)


def test_a_batch_does_not_overtake_one_that_asked_with_it(partition):
    """Batch 0 was refused for the time being: with 2 in the log it could never come in again."""
    guard = partition.start(sequence=0)
    assert partition.start(sequence=2) is guard
    with pytest.raises(OutOfOrderSequence):
        partition.append(header(2), guard)
    partition.append(header(0), guard)


def test_a_lower_sequence_and_a_later_epoch_are_remembered(partition):
    guard = partition.start(sequence=5)
    partition.start(sequence=4)
    with pytest.raises(OutOfOrderSequence):
        partition.append(header(5), guard)
    partition.start(sequence=1, epoch=1)
    partition.start(sequence=0, epoch=0)
    partition.append(header(1, epoch=1), guard)


@pytest.mark.parametrize("is_known", [False, True])
def test_a_producer_with_an_epoch_for_every_transaction_begins_at_zero(partition, is_known):
    """The batch before was lost, and a partition that has forgotten the producer cannot see that."""
    if is_known:
        partition.mark(epoch=3, version=2)
    guard = partition.start(sequence=2, epoch=3, bumps_epoch=True)
    with pytest.raises(OutOfOrderSequence):
        partition.append(header(2, epoch=3), guard)
    other = partition.start(sequence=2, epoch=3, producer_id=8)
    partition.append(header(2, epoch=3, producer_id=8), other)


def test_questions_without_a_batch_are_forgotten(partition):
    guard = partition.start()
    expiration_ms = partition.states.producer_id_expiration_ms
    partition.states.remove_expired(NOW_MS + expiration_ms - 1)
    assert len(partition.states.verifications) == 1
    partition.states.remove_expired(NOW_MS + expiration_ms)
    assert not len(partition.states.verifications)
    with pytest.raises(InvalidTxnState):
        partition.append(header(), guard)


def test_the_last_epoch_ends_its_own_transaction(partition):
    """It cannot be raised, so the rule that a marker of version 2 has a higher one does not hold for it."""
    last = PRODUCER_EPOCH_MAX
    partition.append(header(0, epoch=last), partition.start(epoch=last, bumps_epoch=True))
    assert partition.mark(epoch=last, version=2) is not None


def test_any_other_epoch_does_not_with_version_2(partition):
    partition.append(header(0, epoch=3), partition.start(epoch=3, bumps_epoch=True))
    with pytest.raises(InvalidProducerEpoch):
        partition.mark(epoch=3, version=2)
    assert partition.mark(epoch=4, version=2) is not None
    assert partition.mark(epoch=4, version=2) is None, "a repetition"
