"""What is told, and what is left, when the coordinator's own append fails."""

import pytest
from tests.transactions.clients import Producer, add_request_v1, added, init_request, topics_of

from distributedlog.transactions import TransactionState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)

#: By the log's error what clients are told.
TOLD = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.UNKNOWN_SERVER_ERROR: ErrorCode.UNKNOWN_SERVER_ERROR,
}


@pytest.mark.parametrize(("error", "told"), TOLD.items(), ids=lambda error: error.name)
def test_what_clients_are_told(driver, error, told):
    driver.append_errors = [error]
    response = driver.ask(init_request(), 5)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (told, -1, -1)
    assert driver.transactions == {}
    producer = Producer(driver)
    producer.init()
    driver.append_errors = [error]
    assert producer.add("a-0", "b-0") == told
    assert driver.transactions["t"].state is TransactionState.EMPTY
    producer.add("a-0")
    driver.append_errors = [error]
    assert producer.commit() == told
    assert driver.transactions["t"].state is TransactionState.ONGOING
    assert (driver.markers, driver.plans) == ([], [])
    assert producer.commit() == ErrorCode.NONE
    driver.assert_replayable()


def test_a_failed_end_leaves_nobody_waiting(driver, producer):
    producer.add("a-0")
    driver.append_errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
    producer.commit()
    driver.advance(10_000)
    assert driver.unanswered() == []
    assert driver.coordinator.state.ending == {}


def test_a_failed_fence_lets_the_transaction_go_on(driver, producer):
    producer.add("a-0")
    driver.append_errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
    other = Producer(driver)
    assert other.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert (driver.transactions["t"].state, driver.markers) == (TransactionState.ONGOING, [])
    assert producer.commit() == ErrorCode.NONE
    assert other.init() == ErrorCode.NONE
    assert other.epoch == 2


def test_a_failed_raise_of_the_epoch_fences_nobody(driver, producer):
    driver.append_errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert Producer(driver).init() == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert producer.add("a-0") == ErrorCode.NONE


def test_an_error_of_the_request_stays_that_error(driver, producer):
    other = Producer(driver, transactional_id="other")
    other.init()
    driver.append_errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
    asked = AddPartitionsToTxnRequest(
        [
            AddPartitionsToTxnTransaction("t", producer.producer_id, 9, False, topics_of("a-0")),
            AddPartitionsToTxnTransaction("other", *other.identity, False, topics_of("a-0")),
        ]
    )
    response = driver.ask(asked, 5)
    assert [
        each.topic_results[0].results_by_partition[0].partition_error_code
        for each in response.results_by_transaction
    ] == [ErrorCode.PRODUCER_FENCED, ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_every_row_of_an_old_request_is_told(driver, producer):
    driver.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    response = driver.ask(add_request_v1("t", *producer.identity, "a-0", "a-1", "b-0"), 0)
    assert added(response) == ErrorCode.NOT_COORDINATOR
