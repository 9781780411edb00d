"""AddPartitionsToTxn of clients, and of partition leaders who verify or add."""

import pytest
from tests.transactions.clients import (
    ADD_V2,
    Producer,
    add_request_v1,
    add_request_v2,
    added,
    topics_of,
    tp,
)

from distributedlog.transactions import TransactionState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)


@pytest.fixture(params=[1, 2])
def either(request, driver):
    made = Producer(driver, version=request.param)
    made.init()
    return made


def test_the_first_partitions_begin_the_transaction(driver, either):
    driver.now_ms += 50
    assert either.add("a-0", "a-1", "b-0") == ErrorCode.NONE
    metadata = driver.transactions["t"]
    assert metadata.state is TransactionState.ONGOING
    assert metadata.start_ms == metadata.last_update_ms == driver.now_ms
    assert metadata.client_version == (2 if either.version == 2 else 0)
    driver.now_ms += 50
    assert either.add("c-0") == ErrorCode.NONE
    metadata = driver.transactions["t"]
    assert metadata.partitions == {tp("a-0"), tp("a-1"), tp("b-0"), tp("c-0")}
    assert (metadata.start_ms, metadata.last_update_ms) == (driver.now_ms - 50, driver.now_ms)
    driver.assert_replayable()


def test_what_is_there_already_is_not_written_again(driver, either):
    either.add("a-0", "a-1")
    written = len(driver.log)
    assert either.add("a-1") == ErrorCode.NONE
    assert len(driver.log) == written


def test_after_the_end_the_next_transaction_begins(driver, either):
    either.add("a-0")
    either.commit()
    assert either.add("b-0") == ErrorCode.NONE
    assert driver.transactions["t"].partitions == {tp("b-0")}


def test_while_the_markers_are_being_written_nothing_is_added(driver, either):
    driver.holds_markers = True
    either.add("a-0")
    either.send_end(True)
    epoch = either.epoch + (either.version == 2)
    assert either.add("b-0", epoch=epoch) == ErrorCode.CONCURRENT_TRANSACTIONS
    either.epoch = epoch
    assert either.verify("a-0") == ErrorCode.CONCURRENT_TRANSACTIONS


@pytest.mark.parametrize(
    ("transactional_id", "producer_id", "epoch", "error"),
    [
        ("", 1_000, 0, ErrorCode.INVALID_REQUEST),
        ("unknown", 1_000, 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 999, 0, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        ("t", 1_000, 1, ErrorCode.PRODUCER_FENCED),
        ("t", 1_000, -1, ErrorCode.PRODUCER_FENCED),
    ],
)
def test_who_may_not_add(driver, producer, transactional_id, producer_id, epoch, error):
    identity = transactional_id, producer_id, epoch
    asked = add_request_v1(*identity, "a-0", "b-1")
    assert added(driver.ask(asked, 3)) == error
    for verify_only in (False, True):
        asked = add_request_v2(*identity, "a-0", "b-1", verify_only=verify_only)
        assert added(driver.ask(asked, ADD_V2)) == error
    assert driver.transactions["t"].state is TransactionState.EMPTY


@pytest.mark.parametrize(("version", "name"), [(0, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")])
def test_older_clients_know_another_name_for_fenced(driver, producer, version, name):
    asked = add_request_v1("t", producer.producer_id, 5, "a-0")
    assert added(driver.ask(asked, version)) == ErrorCode[name]


# -- leaders ------------------------------------------------------------------------------------------------


def test_a_leader_verifies_partition_by_partition_and_changes_nothing(driver, producer):
    producer.add("a-0", "a-1")
    written = len(driver.log)
    assert producer.verify("a-0", "a-1") == ErrorCode.NONE
    assert producer.verify("a-1", "b-0") == {
        "a-1": ErrorCode.NONE,
        "b-0": ErrorCode.TRANSACTION_ABORTABLE,
    }
    assert len(driver.log) == written


def test_without_an_open_transaction_nothing_is_verified(driver, old_producer):
    assert old_producer.verify("a-0") == ErrorCode.TRANSACTION_ABORTABLE
    old_producer.add("a-0")
    old_producer.commit()
    assert old_producer.verify("a-0") == ErrorCode.TRANSACTION_ABORTABLE


def test_many_transactions_in_one_request(driver):
    producers = [Producer(driver, transactional_id=name) for name in ("one", "two", "three")]
    for producer in producers:
        producer.init()
    producers[1].epoch = 9
    asked = AddPartitionsToTxnRequest(
        [
            AddPartitionsToTxnTransaction(each.transactional_id, *each.identity, False, topics_of("a-0"))
            for each in producers
        ]
    )
    response = driver.ask(asked, ADD_V2)
    assert [
        (each.transactional_id, each.topic_results[0].results_by_partition[0].partition_error_code)
        for each in response.results_by_transaction
    ] == [("one", 0), ("two", ErrorCode.PRODUCER_FENCED), ("three", 0)]
    driver.assert_replayable()


def test_one_transaction_named_twice_gets_the_partitions_of_both(driver, producer):
    asked = AddPartitionsToTxnRequest(
        [
            AddPartitionsToTxnTransaction("t", *producer.identity, False, topics_of(name))
            for name in ("a-0", "b-0")
        ]
    )
    driver.ask(asked, ADD_V2)
    assert driver.transactions["t"].partitions == {tp("a-0"), tp("b-0")}
    driver.assert_replayable()
