"""The transaction APIs in each of their versions, and what they refuse before a coordinator is asked."""

import pytest
from tests.broker.transaction_stage import TransactionStage
from tests.log.faults.faulty_files import FullDisk
from tests.transactions.clients import add_request_v1, add_request_v2, added, init_request, topics_of

from distributedlog.wire import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTransaction,
)
from distributedlog.wire.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from distributedlog.wire.k26_end_txn import EndTxnRequest
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest


@pytest.fixture
def stage(tmp_path):
    made = TransactionStage(tmp_path / "data", files=FullDisk())
    yield made
    made.directory.abandon()


@pytest.mark.parametrize("version", range(6))
def test_init_producer_id_in_every_version(stage, version):
    response = stage.ask(22, init_request("t"), version)
    assert (response.error_code, response.producer_id, response.producer_epoch) == (0, 0, 0)
    assert stage.ask(22, init_request("t"), version).producer_epoch == 1


@pytest.mark.parametrize("timeout_ms", [0, 900_001])
def test_a_time_out_out_of_bounds_is_refused_with_and_without_a_coordinator(tmp_path, stage, timeout_ms):
    bare = TransactionStage(tmp_path / "bare", prepared=False, files=FullDisk())
    for each in (stage, bare):
        response = each.ask(22, InitProducerIdRequest("t", timeout_ms), 5)
        assert response.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    bare.directory.abandon()


@pytest.mark.parametrize("version", range(4))
def test_a_client_adds_partitions_in_every_version(stage, version):
    producer = stage.producer(version=1)
    asked = add_request_v1("t", *producer.identity, "orders-0", "orders-1")
    assert added(stage.ask(24, asked, version)) == ErrorCode.NONE
    assert stage.state() == "Ongoing"


@pytest.mark.parametrize("version", [4, 5])
def test_a_leader_adds_partitions_in_every_version(stage, version):
    producer = stage.producer()
    asked = add_request_v2("t", *producer.identity, "orders-0")
    assert added(stage.ask(24, asked, version)) == ErrorCode.NONE


@pytest.mark.parametrize("version", [1, 2])
def test_with_a_partition_that_does_not_exist_none_is_added(stage, version):
    producer = stage.producer(version)
    assert producer.add("orders-0", "orders-7", "nowhere-0") == {
        "orders-0": ErrorCode.OPERATION_NOT_ATTEMPTED,
        "orders-7": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "nowhere-0": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert stage.state() == "Empty"


def test_negative_partitions_do_not_exist(stage):
    assert stage.producer().add("orders--1") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_client_does_not_add_the_brokers_own_topics_but_a_leader_does(stage):
    stage.find("group")
    old, new = stage.producer(version=1, transactional_id="old"), stage.producer(transactional_id="new")
    name = "__consumer_offsets-0"
    assert old.add(name, "orders-0") == {
        name: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        "orders-0": ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
    assert new.add(name) == ErrorCode.NONE


def test_many_transactions_of_many_coordinators_in_the_order_of_the_request(stage):
    producers = [stage.producer(transactional_id=name) for name in ("payments", "t", "my-id", "u")]
    asked = [
        AddPartitionsToTxnTransaction(
            each.transactional_id,
            *each.identity,
            False,
            topics_of("nowhere-0" if number == 1 else "orders-0"),
        )
        for number, each in enumerate(producers)
    ]
    asked.append(AddPartitionsToTxnTransaction("stranger", 5, 5, False, topics_of("orders-0")))
    response = stage.ask(24, AddPartitionsToTxnRequest(asked), 5)
    rows = [
        (each.transactional_id, each.topic_results[0].results_by_partition[0].partition_error_code)
        for each in response.results_by_transaction
    ]
    assert rows == [
        ("payments", 0),
        ("t", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("my-id", 0),
        ("u", 0),
        ("stranger", ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ]


def test_a_request_for_no_transaction(stage):
    assert stage.ask(24, AddPartitionsToTxnRequest(), 5).results_by_transaction == []


# -- offsets ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_a_groups_offsets_join_a_transaction(stage, version):
    producer = stage.producer(version=1)
    request = AddOffsetsToTxnRequest("t", *producer.identity, "group")
    assert stage.ask(25, request, version).error_code == 0
    (row,) = stage.describe("t")
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [
        ("__consumer_offsets", [stage.partition_of("group").index])
    ]


@pytest.mark.parametrize(("version", "name"), [(1, "INVALID_PRODUCER_EPOCH"), (2, "PRODUCER_FENCED")])
def test_offsets_of_a_fenced_producer(stage, version, name):
    stage.producer()
    asked = AddOffsetsToTxnRequest("t", 0, 9, "group")
    assert stage.ask(25, asked, version).error_code == ErrorCode[name]


def test_offsets_without_a_coordinator(tmp_path):
    stage = TransactionStage(tmp_path / "bare", prepared=False, files=FullDisk())
    asked = AddOffsetsToTxnRequest("t", 0, 9, "group")
    assert stage.ask(25, asked).error_code == ErrorCode.NOT_COORDINATOR
    stage.directory.abandon()


# -- the end ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(6))
def test_end_txn_in_every_version(stage, version):
    producer = stage.producer()
    producer.add("orders-0")
    response = stage.ask(26, EndTxnRequest("t", *producer.identity, True), version)
    assert response.error_code == 0
    assert (response.producer_id, response.producer_epoch) == ((0, 1) if version == 5 else (-1, -1))


@pytest.mark.parametrize("version", range(3))
def test_list_transactions_in_every_version(stage, version):
    for name in ("t", "payments", "my-id"):
        stage.producer(transactional_id=name)
    response = stage.ask(66, ListTransactionsRequest(["Empty", "Odd"]), version)
    assert sorted(row.transactional_id for row in response.transaction_states) == ["my-id", "payments", "t"]
    assert response.unknown_state_filters == ["Odd"]


def test_a_pattern_that_is_none_is_told_once(stage):
    request = ListTransactionsRequest(transactional_id_pattern="(a")
    assert stage.ask(66, request).error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_ids_are_described_in_the_order_of_the_request(stage):
    for name in ("t", "payments"):
        stage.producer(transactional_id=name)
    rows = stage.describe("payments", "nobody", "t", "")
    assert [(row.transactional_id, row.error_code) for row in rows] == [
        ("payments", 0),
        ("nobody", ErrorCode.TRANSACTIONAL_ID_NOT_FOUND),
        ("t", 0),
        ("", ErrorCode.INVALID_REQUEST),
    ]
