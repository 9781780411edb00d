import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from distributedlog.log.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTxnState,
    LogError,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from distributedlog.log.producer_checks import AppendOrigin
from distributedlog.log.producer_entry import ProducerStateEntry, first_sequence_of, last_sequence_of
from distributedlog.log.producer_state import CompletedTransaction, ProducerStateManager
from distributedlog.records import BatchHeader

MAX = 2**31 - 1


def batch(producer_id=1, epoch=0, sequence=0, count=1, *, transactional=False, timestamp=1000):
    return BatchHeader(
        base_offset=0,
        batch_length=100,
        partition_leader_epoch=-1,
        magic=2,
        crc=0,
        attributes=0x10 if transactional else 0,
        last_offset_delta=count - 1,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        records_count=count,
    )


class Log:
    """Appends as the partition log does: check, write, update."""

    def __init__(self):
        self.manager = ProducerStateManager()
        self.end_offset = 0

    def append(self, header, origin=AppendOrigin.CLIENT):
        duplicate = self.manager.check(header, origin)
        if duplicate is not None:
            return duplicate
        self.manager.update(header, self.end_offset)
        self.end_offset += header.last_offset_delta + 1
        self.manager.map_end_offset = self.end_offset
        return None

    def end_transaction(self, producer_id=1, epoch=0, is_abort=False, coordinator_epoch=0, version=0):
        self.manager.check_marker(producer_id, epoch, coordinator_epoch, transaction_version=version)
        completed = self.manager.update_marker(
            producer_id,
            epoch,
            coordinator_epoch,
            offset=self.end_offset,
            timestamp=2000,
            is_abort=is_abort,
        )
        self.end_offset += 1
        stable = None
        if completed is not None:
            stable = self.manager.last_stable_offset(completed)
            self.manager.complete_transaction(completed)
        return completed, stable


@pytest.fixture
def log():
    return Log()


def test_sequences_wrap_to_zero():
    assert last_sequence_of(MAX - 1, 1) == MAX
    assert last_sequence_of(MAX - 1, 2) == 0
    assert last_sequence_of(-1, 5) == -1
    assert first_sequence_of(0, 2) == MAX - 1
    assert first_sequence_of(-1, 2) == -1


@given(st.integers(0, MAX), st.integers(0, MAX))
def test_first_and_last_sequence_are_inverse(first, delta):
    assert first_sequence_of(last_sequence_of(first, delta), delta) == first


def test_an_append_without_a_producer_is_nobodys(log):
    assert log.append(batch(producer_id=-1, epoch=-1, sequence=-1)) is None
    assert len(log.manager) == 0


def test_sequences_must_follow_one_another(log):
    assert log.append(batch(sequence=0, count=3)) is None
    assert log.append(batch(sequence=3, count=2)) is None
    with pytest.raises(OutOfOrderSequence) as caught:
        log.append(batch(sequence=6))
    assert (caught.value.sequence, caught.value.expected) == (6, 5)
    assert log.append(batch(sequence=5)) is None


def test_sequences_go_on_with_zero_after_the_last(log):
    assert log.append(batch(sequence=MAX - 1, count=2)) is None
    with pytest.raises(OutOfOrderSequence) as caught:
        log.append(batch(sequence=1))
    assert caught.value.expected == 0
    assert log.append(batch(sequence=0)) is None
    assert log.append(batch(sequence=MAX - 1, count=2)).first_offset == 0, "still known"


def test_a_batch_across_the_wrap(log):
    assert log.append(batch(sequence=MAX, count=3)) is None
    assert log.manager.entry(1).last_sequence == 1
    assert log.append(batch(sequence=2)) is None
    assert log.append(batch(sequence=MAX, count=3)).last_offset == 2


def test_the_last_five_batches_are_known_again(log):
    for number in range(6):
        assert log.append(batch(sequence=2 * number, count=2, timestamp=number)) is None
    for number in range(1, 6):
        duplicate = log.append(batch(sequence=2 * number, count=2))
        assert (duplicate.first_offset, duplicate.last_offset) == (2 * number, 2 * number + 1)
        assert duplicate.timestamp == number
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(sequence=0, count=2))
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(sequence=10, count=1))
    assert log.end_offset == 12


def test_an_unknown_producer_may_begin_anywhere(log):
    assert log.append(batch(sequence=77)) is None
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(sequence=79))


def test_a_new_epoch_begins_at_zero_and_fences_the_old(log):
    log.append(batch(epoch=1, sequence=0))
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(epoch=2, sequence=1))
    assert log.append(batch(epoch=2, sequence=0)) is None
    with pytest.raises(InvalidProducerEpoch) as caught:
        log.append(batch(epoch=1, sequence=1))
    assert caught.value.current_epoch == 2
    with pytest.raises(InvalidProducerEpoch):
        log.append(batch(epoch=1, sequence=0))
    assert log.append(batch(epoch=2, sequence=0)).first_offset == 1


@pytest.mark.parametrize("header", [batch(sequence=-1), batch(epoch=-1)])
def test_a_client_with_a_producer_id_needs_a_sequence_and_an_epoch(log, header):
    with pytest.raises(InvalidRecord):
        log.append(header)


def test_a_coordinator_has_epochs_but_no_sequences(log):
    for _ in range(3):
        assert log.append(batch(epoch=1, sequence=-1, transactional=True), AppendOrigin.COORDINATOR) is None
    with pytest.raises(InvalidProducerEpoch):
        log.append(batch(epoch=0, sequence=-1, transactional=True), AppendOrigin.COORDINATOR)


def test_what_a_leader_has_checked_is_not_checked_again(log):
    log.append(batch(epoch=5, sequence=0))
    for header in (batch(epoch=5, sequence=9), batch(epoch=4, sequence=3)):
        assert log.append(header, AppendOrigin.REPLICATION) is None
    assert log.manager.entry(1).producer_epoch == 4


# Transactions


def test_the_first_record_of_an_open_transaction_is_unstable(log):
    log.append(batch(producer_id=9, sequence=0))
    assert log.manager.first_unstable_offset is None
    log.append(batch(producer_id=1, sequence=0, transactional=True))
    log.append(batch(producer_id=2, sequence=0, transactional=True))
    log.append(batch(producer_id=1, sequence=1, transactional=True))
    assert log.manager.first_unstable_offset == log.manager.first_undecided_offset == 1
    assert log.manager.has_ongoing_transaction(1, 0)
    assert not log.manager.has_ongoing_transaction(1, 1)
    assert not log.manager.has_ongoing_transaction(3, 0)

    completed, stable = log.end_transaction(producer_id=1, is_abort=True)
    assert completed == CompletedTransaction(1, 1, 4, is_aborted=True)
    assert stable == 2, "the transaction of producer 2 is still open"
    assert not log.manager.has_ongoing_transaction(1, 0)
    assert log.manager.first_undecided_offset == 2
    assert log.manager.first_unstable_offset == 1, "its marker is not replicated yet"

    log.manager.on_high_watermark_updated(4)
    assert log.manager.first_unstable_offset == 1
    log.manager.on_high_watermark_updated(5)
    assert log.manager.first_unstable_offset == 2

    completed, stable = log.end_transaction(producer_id=2)
    assert completed == CompletedTransaction(2, 2, 5, is_aborted=False)
    assert stable == 6
    assert log.manager.first_unstable_offset == 2
    log.manager.on_high_watermark_updated(6)
    assert log.manager.first_unstable_offset is None


def test_a_decided_transaction_that_began_later_may_become_stable_later(log):
    log.append(batch(producer_id=1, sequence=0, transactional=True))
    log.append(batch(producer_id=2, sequence=0, transactional=True))
    log.end_transaction(producer_id=2)
    assert log.manager.first_unstable_offset == 0
    log.end_transaction(producer_id=1)
    assert log.manager.first_unstable_offset == 0
    log.manager.on_high_watermark_updated(3)
    assert log.manager.first_unstable_offset == 0
    log.manager.on_high_watermark_updated(4)
    assert log.manager.first_unstable_offset is None


def test_a_marker_without_records_completes_nothing(log):
    assert log.end_transaction(epoch=3) == (None, None)
    assert log.manager.entry(1).producer_epoch == 3
    assert log.manager.first_unstable_offset is None


def test_a_plain_batch_in_an_open_transaction_is_refused(log):
    log.append(batch(sequence=0, transactional=True))
    with pytest.raises(InvalidTxnState):
        log.append(batch(sequence=1))
    log.end_transaction()
    assert log.append(batch(sequence=1)) is None


def test_sequences_go_on_over_a_marker_of_the_same_epoch(log):
    log.append(batch(sequence=0, transactional=True))
    log.end_transaction(epoch=0)
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(sequence=5, transactional=True))
    assert log.append(batch(sequence=1, transactional=True)) is None


def test_sequences_begin_again_after_a_marker_that_raised_the_epoch(log):
    log.append(batch(epoch=0, sequence=0, transactional=True))
    log.end_transaction(epoch=1, version=2)
    with pytest.raises(InvalidProducerEpoch):
        log.append(batch(epoch=0, sequence=1, transactional=True))
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(epoch=1, sequence=1, transactional=True))
    assert log.append(batch(epoch=1, sequence=0, transactional=True)) is None


def test_a_late_marker_does_not_end_the_next_transaction(log):
    log.append(batch(epoch=0, sequence=0, transactional=True))
    log.end_transaction(epoch=1, version=2)
    assert log.end_transaction(epoch=1, version=2) == (None, None), "a repetition does no harm"
    log.append(batch(epoch=1, sequence=0, transactional=True))
    with pytest.raises(InvalidProducerEpoch):
        log.end_transaction(epoch=1, version=2)
    assert log.manager.has_ongoing_transaction(1, 1)
    with pytest.raises(InvalidProducerEpoch):
        log.end_transaction(epoch=0, version=2)
    assert log.end_transaction(epoch=1, version=0)[0] is not None, "older versions cannot tell"


def test_a_replaced_coordinator_is_fenced(log):
    log.append(batch(sequence=0, transactional=True))
    log.end_transaction(coordinator_epoch=7)
    log.append(batch(sequence=1, transactional=True))
    with pytest.raises(TransactionCoordinatorFenced):
        log.end_transaction(coordinator_epoch=6)
    log.manager.check_marker(1, 0, 6, origin=AppendOrigin.REPLICATION)
    assert log.end_transaction(coordinator_epoch=7)[0] is not None


def test_completing_what_is_not_open_is_a_mistake(log):
    with pytest.raises(ValueError):
        log.manager.complete_transaction(CompletedTransaction(1, 0, 1, False))


def test_a_hanging_transaction_is_noticed(log):
    five_minutes = 5 * 60 * 1000
    assert not log.manager.has_late_transaction(10**9, 0)
    log.append(batch(sequence=0, transactional=True, timestamp=1000))
    assert not log.manager.has_late_transaction(1000 + 900 + five_minutes, 900)
    assert log.manager.has_late_transaction(1001 + 900 + five_minutes, 900)


# The state as a whole


def test_idle_producers_expire_unless_a_transaction_is_open():
    log = Log()
    log.manager = ProducerStateManager(producer_id_expiration_ms=100)
    log.append(batch(producer_id=1, timestamp=1000))
    log.append(batch(producer_id=2, timestamp=1001))
    log.append(batch(producer_id=3, timestamp=1000, transactional=True))
    assert log.manager.remove_expired(1099) == 0
    assert log.manager.remove_expired(1100) == 1
    assert [entry.producer_id for entry in log.manager.entries()] == [2, 3]


def test_a_snapshot_is_due_when_the_log_has_grown(log):
    assert not log.manager.snapshot_is_due
    log.append(batch())
    assert log.manager.snapshot_is_due
    log.manager.last_snapshot_offset = 1
    assert not log.manager.snapshot_is_due


def test_reload_begins_again_from_a_snapshot(log):
    log.append(batch(producer_id=5, transactional=True))
    log.end_transaction(producer_id=5)
    entries = [
        ProducerStateEntry(2, producer_epoch=1, last_timestamp=5, current_txn_first_offset=30),
        ProducerStateEntry(3, producer_epoch=1, last_timestamp=5, current_txn_first_offset=20),
        ProducerStateEntry(4, producer_epoch=1, last_timestamp=5),
    ]
    log.manager.reload(entries, 40, now_ms=5 + 24 * 3600 * 1000)
    assert {entry.producer_id for entry in log.manager.entries()} == {2, 3}, "4 has expired"
    assert log.manager.first_unstable_offset == 20
    assert log.manager.map_end_offset == log.manager.last_snapshot_offset == 40
    completed = log.manager.update_marker(3, 1, 0, offset=41, timestamp=6, is_abort=True)
    assert completed == CompletedTransaction(3, 20, 41, True)
    assert log.manager.last_stable_offset(completed) == 30


def test_truncating_all_forgets_all(log):
    log.append(batch(producer_id=1, transactional=True))
    log.end_transaction()
    log.append(batch(producer_id=2, transactional=True))
    log.manager.truncate_fully_and_start_at(17)
    assert len(log.manager) == 0
    assert log.manager.first_unstable_offset is None
    assert log.manager.map_end_offset == 17


def test_deleted_records_leave_their_producer_known(log):
    log.append(batch(sequence=0, transactional=True))
    log.end_transaction()
    log.manager.on_log_start_offset_incremented(2)
    assert log.manager.first_unstable_offset is None
    with pytest.raises(OutOfOrderSequence):
        log.append(batch(sequence=5))
    log.manager.on_log_start_offset_incremented(9)
    assert log.manager.map_end_offset == 9


# Against a model that keeps every batch and every marker and looks at all of them each time


class Model:
    def __init__(self):
        # ("batch", producer id, epoch, sequence, count, transactional, offset) or
        # ("marker", producer id, epoch, offset)
        self.entries = []
        self.end_offset = 0
        self.high_watermark = 0

    def of(self, producer_id):
        return [entry for entry in self.entries if entry[1] == producer_id]

    def current_epoch(self, producer_id):
        mine = self.of(producer_id)
        return mine[-1][2] if mine else None

    def open_since(self, producer_id):
        first = None
        for entry in self.of(producer_id):
            if entry[0] == "marker":
                first = None
            elif entry[5] and first is None:
                first = entry[6]
        return first

    def append(self, producer_id, epoch, sequence, count, transactional):
        """The offset of the duplicate, the name of an error, or None when appended."""
        current = self.current_epoch(producer_id)
        if current is not None:
            batches = []
            for entry in self.of(producer_id):
                if entry[2] != (batches[-1][2] if batches else entry[2]):
                    batches = []
                batches.append(entry)
            batches = [entry for entry in batches if entry[2] == current and entry[0] == "batch"]
            if epoch == current:
                for entry in batches[-5:]:
                    if (entry[3], entry[4]) == (sequence, count):
                        return entry[6]
                due = (batches[-1][3] + batches[-1][4]) % 2**31 if batches else 0
                if sequence != due:
                    return "OutOfOrderSequence"
            elif epoch < current:
                return "InvalidProducerEpoch"
            elif sequence != 0:
                return "OutOfOrderSequence"
        if self.open_since(producer_id) is not None and not transactional:
            return "InvalidTxnState"
        self.entries.append(("batch", producer_id, epoch, sequence, count, transactional, self.end_offset))
        self.end_offset += count
        return None

    def end(self, producer_id, epoch):
        current = self.current_epoch(producer_id)
        if current is not None and epoch < current:
            return "InvalidProducerEpoch"
        first = self.open_since(producer_id)
        self.entries.append(("marker", producer_id, epoch, self.end_offset))
        self.end_offset += 1
        return first

    def first_unstable(self):
        """The first offset below which every transaction has a marker below the high watermark."""
        unstable = []
        for producer_id in {entry[1] for entry in self.entries}:
            first = None
            for entry in self.of(producer_id):
                if entry[0] == "batch" and entry[5] and first is None:
                    first = entry[6]
                elif entry[0] == "marker" and first is not None:
                    if entry[3] >= self.high_watermark:
                        unstable.append(first)
                    first = None
            if first is not None:
                unstable.append(first)
        return min(unstable, default=None)


producers = st.sampled_from([1, 1, 1, 2])
steps = st.lists(
    st.one_of(
        st.tuples(
            st.just("append"),
            producers,
            st.sampled_from([0, 0, 0, 0, 0, 0, 0, 0, 1, -1]),  # added to the current epoch
            st.sampled_from(["due", "due", "due", "due", "due", "again", "again", "zero", "gap", "wrap"]),
            st.integers(1, 3),
            st.sampled_from([True, True, True, False]),
        ),
        st.tuples(st.just("end"), producers, st.integers(-1, 1)),
        st.tuples(st.just("replicated"), st.integers(0, 5)),
    ),
    max_size=40,
)


@settings(max_examples=300)
@given(steps)
def test_the_state_agrees_with_a_model_that_remembers_everything(steps):
    model, log = Model(), Log()
    for step in steps:
        if step[0] == "append":
            _, producer_id, bump, kind, count, transactional = step
            epoch = max(0, (model.current_epoch(producer_id) or 0) + bump)
            mine = [entry for entry in model.of(producer_id) if entry[0] == "batch"]
            sequence = (mine[-1][3] + mine[-1][4]) % 2**31 if mine else 0
            if kind == "again" and mine:
                chosen = mine[-min(len(mine), count + 3)]
                sequence, count = chosen[3], chosen[4]
            elif kind == "zero":
                sequence = 0
            elif kind == "gap":
                sequence += 1
            elif kind == "wrap":
                sequence = 2**31 - 2
            expected = model.append(producer_id, epoch, sequence, count, transactional)
            try:
                duplicate = log.append(
                    batch(producer_id, epoch, sequence, count, transactional=transactional)
                )
                found = None if duplicate is None else duplicate.first_offset
            except LogError as error:
                found = type(error).__name__
            assert found == expected
        elif step[0] == "end":
            _, producer_id, bump = step
            epoch = max(0, (model.current_epoch(producer_id) or 0) + bump)
            expected = model.end(producer_id, epoch)
            try:
                completed, _ = log.end_transaction(producer_id, epoch)
                found = None if completed is None else completed.first_offset
            except LogError as error:
                found = type(error).__name__
            assert found == expected
        else:
            model.high_watermark = min(model.end_offset, model.high_watermark + step[1])
            log.manager.on_high_watermark_updated(model.high_watermark)
        assert log.end_offset == model.end_offset
        assert log.manager.first_unstable_offset == model.first_unstable()
