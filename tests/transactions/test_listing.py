"""DescribeTransactions and ListTransactions."""

import pytest
from tests.transactions.clients import Producer, tp

from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k65_describe_transactions import DescribeTransactionsRequest
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest


def describe(driver, *names):
    return driver.ask(DescribeTransactionsRequest(list(names)), 0).transaction_states


def listed(driver, **filters):
    response = driver.ask(ListTransactionsRequest(**filters), 2)
    assert response.error_code == 0
    return {each.transactional_id: each.transaction_state for each in response.transaction_states}


@pytest.fixture
def crowd(driver):
    """An id in each state that lasts, with producer ids 1000 and so on."""
    made = {}
    for name in ("empty", "open", "committed", "aborted", "committing"):
        producer = made[name] = Producer(driver, transactional_id=name)
        producer.init()
        if name != "empty":
            producer.add("a-1", "a-0", "b-0")
    made["committed"].commit()
    made["aborted"].abort()
    driver.holds_markers = True
    made["committing"].send_end(True)
    return made


STATES = {
    "empty": "Empty",
    "open": "Ongoing",
    "committed": "CompleteCommit",
    "aborted": "CompleteAbort",
    "committing": "PrepareCommit",
}


def test_an_open_transaction_is_described_in_full(driver, crowd):
    (row,) = describe(driver, "open")
    assert (row.error_code, row.transactional_id, row.transaction_state) == (0, "open", "Ongoing")
    assert (row.transaction_timeout_ms, row.transaction_start_time_ms) == (60_000, driver.now_ms)
    assert (row.producer_id, row.producer_epoch) == (1_001, 0)
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("a", [0, 1]), ("b", [0])]


def test_an_id_without_a_transaction_has_no_start(driver, crowd):
    (row,) = describe(driver, "empty")
    assert (row.transaction_state, row.transaction_start_time_ms, row.topics) == ("Empty", -1, [])


def test_of_a_transaction_that_is_being_ended_the_partitions_without_a_marker_are_shown(driver, crowd):
    driver.write_markers(driver.plans[0], {tp("a-1"): ErrorCode.NOT_ENOUGH_REPLICAS})
    (row,) = describe(driver, "committing")
    assert row.transaction_state == "PrepareCommit"
    assert [(topic.topic, topic.partitions) for topic in row.topics] == [("a", [1])]


def test_ids_that_are_none(driver, crowd):
    rows = describe(driver, "", "nobody", "open")
    assert [row.error_code for row in rows] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
        ErrorCode.NONE,
    ]
    assert [row.transactional_id for row in rows] == ["", "nobody", "open"]


def test_all_are_listed(driver, crowd):
    assert listed(driver) == STATES


def test_filters_by_state(driver, crowd):
    assert listed(driver, state_filters=["Ongoing", "Empty"]) == {"empty": "Empty", "open": "Ongoing"}
    assert listed(driver, state_filters=["Dead"]) == {}


def test_states_that_do_not_exist_come_back(driver, crowd):
    asked = ListTransactionsRequest(["Ongoing", "Odd", "ongoing", "Odd"])
    response = driver.ask(asked, 0)
    assert response.unknown_state_filters == ["Odd", "ongoing"]
    assert [each.transactional_id for each in response.transaction_states] == ["open"]
    assert listed(driver, state_filters=["Odd"]) == {}


def test_filters_by_producer_id(driver, crowd):
    assert listed(driver, producer_id_filters=[1_000, 1_002, 7]).keys() == {"empty", "committed"}


def test_filters_by_duration(driver, crowd):
    driver.now_ms += 100
    late = Producer(driver, transactional_id="late")
    late.init()
    late.add("a-0")
    driver.now_ms += 50
    assert "late" not in listed(driver, duration_filter=50)
    assert "late" in listed(driver, duration_filter=49)
    assert listed(driver, duration_filter=149, state_filters=["Ongoing"]) == {"open": "Ongoing"}
    assert listed(driver, duration_filter=-1).keys() == {*STATES, "late"}
    assert "empty" in listed(driver, duration_filter=150), "no start counts as long ago"


def test_filters_by_pattern(driver, crowd):
    assert listed(driver, transactional_id_pattern="comm.*").keys() == {"committed", "committing"}
    assert listed(driver, transactional_id_pattern="comm") == {}, "the whole id has to match"
    assert listed(driver, transactional_id_pattern="") == STATES
    assert listed(driver, transactional_id_pattern=None) == STATES


def test_a_pattern_that_is_none(driver, crowd):
    response = driver.ask(ListTransactionsRequest(transactional_id_pattern="(a"), 2)
    assert (response.error_code, response.transaction_states) == (ErrorCode.INVALID_REGULAR_EXPRESSION, [])


def test_filters_are_joined_by_and(driver, crowd):
    filters = {"state_filters": ["PrepareCommit"], "transactional_id_pattern": "comm.*"}
    assert listed(driver, **filters) == {"committing": "PrepareCommit"}
    assert listed(driver, **filters, producer_id_filters=[1]) == {}
