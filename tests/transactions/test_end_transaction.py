"""EndTxn of both versions, in every state, at the current epoch and repeated."""

import pytest
from tests.transactions.clients import Producer, tp

from distributedlog.transactions import TransactionState
from distributedlog.transactions.end_transaction import MARKERS_WAIT_MS
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k26_end_txn import EndTxnRequest

NONE, FENCED, INVALID = ErrorCode.NONE, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_TXN_STATE
LAST_EPOCH = 32_766


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", [1, 2])
def test_an_end_is_decided_marked_and_complete(driver, version, committed):
    producer = Producer(driver, version)
    producer.init()
    producer.add("a-0", "b-2")
    assert producer.end(committed) == NONE
    epoch = 1 if version == 2 else 0
    assert sorted(driver.markers) == [
        (("a", 0), 1_000, epoch, committed, 3),
        (("b", 2), 1_000, epoch, committed, 3),
    ]
    metadata = driver.transactions["t"]
    assert metadata.state is (
        TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
    )
    assert (metadata.producer_epoch, metadata.partitions) == (epoch, frozenset())
    assert producer.identity == (1_000, epoch)
    assert (driver.counts.committed, driver.counts.aborted) == ((1, 0) if committed else (0, 1))
    driver.assert_replayable()


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize(
    ("transactional_id", "producer_id", "epoch", "error"),
    [
        ("", 1_000, 0, ErrorCode.INVALID_REQUEST),
        ("unknown", 1_000, 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 999, 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 1_000, 1, FENCED),
        ("t", 1_000, -2, FENCED),
    ],
)
def test_who_may_not_end(driver, producer, version, transactional_id, producer_id, epoch, error):
    producer.add("a-0")
    response = driver.ask(EndTxnRequest(transactional_id, producer_id, epoch, True), version)
    assert response.error_code == error
    assert (response.producer_id, response.producer_epoch) == (-1, -1)
    assert driver.transactions["t"].state is TransactionState.ONGOING


def test_older_clients_know_another_name_for_fenced(driver, producer):
    producer.add("a-0")
    asked = EndTxnRequest("t", 1_000, 5, True)
    assert driver.ask(asked, 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert driver.ask(asked, 2).error_code == FENCED


# -- version 1: the state alone tells whether a request is repeated -----------------------------------------


def test_a_commit_of_nothing_in_version_1(driver, old_producer):
    assert old_producer.commit() == INVALID
    assert old_producer.abort() == INVALID


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_of_version_1_may_be_repeated_and_not_be_changed(driver, old_producer, committed):
    old_producer.add("a-0")
    old_producer.end(committed)
    written = len(driver.log)
    assert old_producer.end(committed) == NONE
    assert old_producer.end(not committed) == INVALID
    assert len(driver.log) == written


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_of_version_1_while_markers_are_being_written(driver, old_producer, committed):
    driver.holds_markers = True
    old_producer.add("a-0")
    old_producer.send_end(committed)
    assert old_producer.end(committed) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert old_producer.end(not committed) == INVALID


# -- version 2: the epoch tells -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "abort_again", "abort_now", "commit_again", "commit_now"),
    [
        ("nothing", FENCED, "another epoch", FENCED, INVALID),
        ("abort", "the same epoch", "another epoch", INVALID, INVALID),
        ("commit", INVALID, "another epoch", "the same epoch", INVALID),
    ],
)
@pytest.mark.parametrize(
    ("is_again", "committed"), [(True, False), (False, False), (True, True), (False, True)]
)
def test_the_table_of_kip_890(
    driver, producer, before, abort_again, abort_now, commit_again, commit_now, is_again, committed
):
    if before == "nothing":
        producer.init()
    else:
        producer.add("a-0")
        assert producer.end(before == "commit") == NONE
    expected = {
        (True, False): abort_again,
        (False, False): abort_now,
        (True, True): commit_again,
        (False, True): commit_now,
    }[is_again, committed]
    producer.epoch -= is_again
    epoch = driver.transactions["t"].producer_epoch
    outcome = producer.end(committed)
    if isinstance(expected, ErrorCode):
        assert outcome == expected
        assert driver.transactions["t"].producer_epoch == epoch
    else:
        assert outcome == NONE
        assert producer.epoch == epoch + (expected == "another epoch")
    driver.assert_replayable()


def test_an_abort_of_nothing_writes_no_marker_and_is_no_transaction(driver, producer):
    driver.now_ms += 70
    assert producer.abort() == NONE
    assert (producer.epoch, driver.markers, driver.counts.aborted) == (1, [], 0)
    metadata = driver.transactions["t"]
    assert (metadata.state, metadata.start_ms) == (TransactionState.COMPLETE_ABORT, driver.now_ms)


@pytest.mark.parametrize("committed", [True, False])
def test_an_end_of_version_2_while_markers_are_being_written(driver, producer, committed):
    driver.holds_markers = True
    producer.add("a-0")
    producer.send_end(committed)
    assert producer.end(committed) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.end(not committed) == INVALID
    producer.epoch += 1
    assert producer.end(committed) == FENCED


def test_a_late_end_cannot_reach_the_next_transaction(driver, producer):
    producer.add("a-0")
    late = producer.end_request(True)
    assert producer.abort() == NONE
    producer.add("a-0")
    assert driver.ask(late, 5).error_code == FENCED
    assert driver.transactions["t"].state is TransactionState.ONGOING
    assert producer.abort() == NONE


def test_in_version_1_a_late_end_does_reach_the_next_transaction(driver, old_producer):
    """KAFKA-17754, which the rise of the epoch is the cure of: ADR 11 says what remains for old clients."""
    old_producer.add("a-0")
    late = old_producer.end_request(True)
    assert old_producer.commit() == NONE
    old_producer.add("a-0")
    assert driver.ask(late, 4).error_code == NONE
    assert driver.transactions["t"].state is TransactionState.COMPLETE_COMMIT


def test_a_late_add_cannot_begin_another_transaction(driver, producer):
    producer.add("a-0")
    epoch = producer.epoch
    producer.commit()
    assert producer.add("a-0", epoch=epoch) == FENCED


@pytest.mark.parametrize("committed", [True, False])
def test_the_last_epoch_ends_in_another_producer_id(driver, producer, committed):
    driver.put(producer_epoch=LAST_EPOCH)
    producer.epoch = LAST_EPOCH
    producer.add("a-0")
    driver.holds_markers = True
    token = producer.send_end(committed)
    (plan,) = driver.plans
    assert (plan.producer_id, plan.producer_epoch) == (1_000, 32_767)
    assert producer.end(committed) == ErrorCode.CONCURRENT_TRANSACTIONS
    driver.write_markers(plan)
    response = driver.reply(token)
    assert (response.producer_id, response.producer_epoch) == (1_001, 0)
    # The answer got lost.
    assert producer.end(not committed) == INVALID
    assert producer.end(committed) == NONE
    assert producer.identity == (1_001, 0)
    driver.assert_replayable()
    driver.holds_markers = False
    assert producer.add("a-0") == NONE
    assert producer.commit() == NONE
    assert producer.identity == (1_001, 1)


def test_the_last_epoch_after_a_restart_in_the_middle(driver, producer):
    driver.put(producer_epoch=LAST_EPOCH)
    producer.epoch = LAST_EPOCH
    producer.add("a-0")
    driver.holds_markers = True
    producer.send_end(True)
    driver.holds_markers = False
    driver.restart()
    assert driver.transactions["t"].state is TransactionState.COMPLETE_COMMIT
    assert producer.commit() == NONE
    assert producer.identity == (1_001, 0)


def test_no_producer_id_for_the_end_of_the_last_epoch(driver, producer):
    driver.put(producer_epoch=LAST_EPOCH)
    producer.epoch = LAST_EPOCH
    producer.add("a-0")
    driver.holds_ids = True
    token = producer.send_end(True)
    driver.give_id(driver.wanting[0], ErrorCode.COORDINATOR_NOT_AVAILABLE)
    response = driver.reply(token)
    assert (response.error_code, response.producer_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    assert driver.transactions["t"].state is TransactionState.ONGOING
    driver.holds_ids = False
    assert producer.commit() == NONE


# -- when it is answered ------------------------------------------------------------------------------------


def test_the_answer_waits_for_the_markers(driver, producer):
    driver.holds_markers = True
    producer.add("a-0")
    token = producer.send_end(True)
    assert driver.reply(token) is None
    driver.write_markers(driver.plans[0])
    assert driver.reply(token).error_code == NONE
    assert driver.reply(token).producer_epoch == 1


def test_the_answer_waits_for_the_markers_but_not_for_ever(driver, producer):
    driver.holds_markers = True
    producer.add("a-0")
    token = producer.send_end(True)
    driver.advance(MARKERS_WAIT_MS - 1)
    assert driver.reply(token) is None
    driver.advance(1)
    assert (driver.reply(token).error_code, driver.reply(token).producer_epoch) == (NONE, 1)
    driver.write_markers(driver.plans[0])
    assert driver.transactions["t"].state is TransactionState.COMPLETE_COMMIT


def test_before_the_decision_is_on_the_disk_there_is_neither_marker_nor_answer(driver, producer):
    producer.add("a-0")
    driver.holds_disk = True
    token = producer.send_end(True)
    driver.advance(MARKERS_WAIT_MS)
    assert (driver.markers, driver.plans, driver.reply(token)) == ([], [], None)
    driver.flush()
    assert len(driver.markers) == 1
    assert driver.reply(token).error_code == NONE


def test_a_decision_that_a_crash_takes_back_leaves_the_transaction_open(driver, producer):
    producer.add("a-0")
    driver.holds_disk = True
    producer.send_end(True)
    driver.crash(kept=0)
    driver.holds_disk = False
    assert driver.transactions["t"].state is TransactionState.ONGOING
    assert driver.transactions["t"].partitions == {tp("a-0")}
    assert producer.abort() == NONE
    assert driver.markers == [(("a", 0), 1_000, 1, False, 3)]


def test_who_waits_for_markers_when_the_coordinator_goes_looks_for_another(driver, producer):
    driver.holds_markers = True
    producer.add("a-0")
    token = producer.send_end(True)
    driver.restart()
    assert driver.reply(token).error_code == ErrorCode.NOT_COORDINATOR
    driver.write_markers(driver.plans[0])
    assert producer.commit() == NONE
    assert producer.epoch == 1
