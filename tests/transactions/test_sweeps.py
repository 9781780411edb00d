"""Transactions that last too long, and ids that nobody uses."""

import pytest
from tests.transactions.clients import Producer, tp
from tests.transactions.driver import Driver

from distributedlog.transactions import TransactionConfig, TransactionState
from distributedlog.wire.error_codes import ErrorCode

INTERVAL_MS = 10_000
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize("version", [1, 2])
def test_a_transaction_that_lasts_too_long_is_aborted_and_its_producer_fenced(driver, version):
    producer = Producer(driver, version, timeout_ms=25_000)
    producer.init()
    producer.add("a-0")
    driver.advance(20_000)
    producer.add("b-0")
    driver.advance(5_000)
    assert driver.transactions["t"].state is TransactionState.ONGOING
    driver.advance(INTERVAL_MS)
    assert driver.transactions["t"].state is TransactionState.COMPLETE_ABORT
    assert sorted(driver.markers) == [
        (tp("a-0"), 1_000, 1, False, 3),
        (tp("b-0"), 1_000, 1, False, 3),
    ]
    assert (driver.counts.aborted, driver.counts.timed_out) == (1, 1)
    assert producer.add("a-0") == ErrorCode.PRODUCER_FENCED
    driver.assert_replayable()


def test_at_level_0_the_abort_is_of_version_0():
    driver = Driver(TransactionConfig(transaction_version=0))
    producer = Producer(driver, 1, timeout_ms=1_000)
    producer.init()
    producer.add("a-0")
    driver.advance(2 * INTERVAL_MS)
    assert driver.markers == [(tp("a-0"), 1_000, 1, False, 3)]
    assert driver.transactions["t"].client_version == 0
    assert driver.log[-1][1][:2] == b"\x00\x00"
    assert producer.abort() == ErrorCode.PRODUCER_FENCED


def test_what_a_producer_of_version_2_hears_after_its_time(driver):
    producer = Producer(driver, timeout_ms=1_000)
    producer.init()
    producer.add("a-0")
    driver.advance(2 * INTERVAL_MS)
    assert producer.commit() == ErrorCode.INVALID_TXN_STATE
    assert producer.abort() == ErrorCode.NONE
    assert producer.epoch == 1
    assert producer.add("a-0") == ErrorCode.NONE


def test_a_time_out_at_the_last_epoch_takes_a_producer_id(driver, producer):
    driver.put(producer_epoch=32_766, timeout_ms=1_000)
    producer.epoch = 32_766
    producer.add("a-0")
    driver.holds_ids = True
    driver.advance(2 * INTERVAL_MS)
    assert driver.transactions["t"].state is TransactionState.ONGOING
    wanted = driver.wanting[0]
    driver.give_id(wanted)
    metadata = driver.transactions["t"]
    assert (metadata.state, metadata.producer_id) == (TransactionState.COMPLETE_ABORT, 1_001)
    assert driver.markers == [(tp("a-0"), 1_000, 32_767, False, 3)]
    driver.give_id(wanted)
    assert len(driver.markers) == 1, "the transaction that it was for has ended"
    driver.give_id(wanted, ErrorCode.COORDINATOR_NOT_AVAILABLE)


def test_a_transaction_without_a_time_out_stays_open(driver, producer):
    driver.put(timeout_ms=2**31 - 1)
    producer.add("a-0")
    driver.advance(30 * DAY_MS)
    assert driver.transactions["t"].state is TransactionState.ONGOING


def test_open_transactions_of_before_a_restart_time_out_too(driver):
    producer = Producer(driver, timeout_ms=1_000)
    producer.init()
    producer.add("a-0")
    driver.restart()
    driver.advance(2 * INTERVAL_MS)
    assert driver.transactions["t"].state is TransactionState.COMPLETE_ABORT


def test_an_abort_that_cannot_be_written_is_tried_again(driver):
    producer = Producer(driver, timeout_ms=1_000)
    producer.init()
    producer.add("a-0")
    driver.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    driver.advance(INTERVAL_MS)
    assert driver.transactions["t"].state is TransactionState.ONGOING
    driver.advance(INTERVAL_MS)
    assert driver.transactions["t"].state is TransactionState.COMPLETE_ABORT
    assert driver.counts.timed_out == 1


def test_without_open_transactions_nothing_wakes_up_to_look_for_them(driver, producer):
    producer.add("a-0")
    producer.commit()
    driver.advance(2 * INTERVAL_MS)
    kinds = {key.kind.name for key in driver.coordinator.state.timers._deadlines}
    assert kinds == {"EXPIRE"}


# -- expiry -------------------------------------------------------------------------------------------------


def test_an_id_that_nobody_uses_is_forgotten(driver, producer):
    other = Producer(driver, transactional_id="used")
    other.init()
    driver.advance(7 * DAY_MS - HOUR_MS)
    other.init()
    assert driver.live_ids() == ["t", "used"]
    driver.advance(2 * HOUR_MS)
    assert driver.live_ids() == ["used"]
    assert driver.transactions.keys() == {"used"}
    assert producer.add("a-0") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.init() == ErrorCode.NONE
    assert producer.identity == (1_002, 0)
    driver.assert_replayable()


def test_an_open_transaction_keeps_its_id(driver, producer):
    driver.put(timeout_ms=2**31 - 1)
    producer.add("a-0")
    driver.advance(30 * DAY_MS)
    assert driver.live_ids() == ["t"]


def test_a_transaction_without_its_markers_keeps_its_id(driver, producer):
    producer.add("a-0")
    driver.holds_markers = True
    producer.send_end(True)
    driver.advance(30 * DAY_MS)
    assert driver.live_ids() == ["t"]


def test_tombstones_that_cannot_be_written_are_written_later(driver, producer):
    driver.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    driver.advance(7 * DAY_MS + HOUR_MS)
    assert driver.append_errors == []
    assert driver.live_ids() == []


def test_restarts_do_not_put_expiry_off(driver, producer):
    for _ in range(8):
        driver.advance(DAY_MS)
        driver.restart()
    driver.advance(HOUR_MS)
    assert driver.live_ids() == []
