"""From a decision to its markers: errors, retries, deleted topics, restarts."""

import pytest
from tests.transactions.clients import Producer, tp

from distributedlog.transactions import TransactionState
from distributedlog.transactions.markers import RETRY_MS_MAX, RETRY_MS_MIN
from distributedlog.wire.error_codes import ErrorCode

A, B, C = map(tp, ("a-0", "b-0", "c-0"))


@pytest.fixture
def ending(driver, producer):
    """A commit over three partitions whose markers wait; its plan."""
    driver.holds_markers = True
    producer.add("a-0", "b-0", "c-0")
    producer.send_end(True)
    (plan,) = driver.plans
    return plan


def state_of(driver):
    return driver.transactions["t"].state


def test_a_plan_says_all_that_a_marker_needs(ending):
    assert ending.transactional_id == "t"
    assert (ending.producer_id, ending.producer_epoch, ending.is_commit) == (1_000, 1, True)
    assert ending.partitions == {A, B, C}
    assert (ending.coordinator_epoch, ending.transaction_version) == (3, 2)


def test_what_failed_is_tried_again_after_a_pause_and_nothing_else(driver, ending):
    driver.write_markers(ending, {B: ErrorCode.NOT_ENOUGH_REPLICAS, C: ErrorCode.KAFKA_STORAGE_ERROR})
    assert driver.plans == []
    driver.advance(RETRY_MS_MIN)
    (again,) = driver.plans
    assert again == ending._replace(partitions=frozenset({B, C}))
    driver.write_markers(again, {C: ErrorCode.REQUEST_TIMED_OUT})
    driver.advance(RETRY_MS_MAX)
    (last,) = driver.plans
    assert last.partitions == {C}
    driver.write_markers(last)
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT
    assert [marker[0] for marker in driver.markers] == [A, B, C]


def test_pauses_grow_to_a_second(driver, ending):
    pauses, plan = [], ending
    for _ in range(10):
        driver.write_markers(plan, dict.fromkeys(plan.partitions, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        began_ms = driver.now_ms
        while not driver.plans:
            driver.advance(1)
        pauses.append(driver.now_ms - began_ms)
        (plan,) = driver.plans
    assert pauses[:4] == [20, 40, 80, 160]
    assert pauses[-1] == RETRY_MS_MAX
    driver.write_markers(plan)
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    ],
)
def test_errors_that_leave_nothing_to_do(driver, ending, error):
    driver.write_markers(ending, {A: error})
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION])
def test_any_other_error_is_tried_again(driver, ending, error):
    driver.write_markers(ending, {A: error})
    assert state_of(driver) is TransactionState.PREPARE_COMMIT
    driver.advance(RETRY_MS_MAX)
    driver.write_markers(driver.plans[0])
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT


def test_partitions_of_deleted_topics_are_left_out(driver, ending):
    driver.write_markers(ending, gone={A, B})
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT
    assert [marker[0] for marker in driver.markers] == [C]


def test_a_transaction_over_deleted_topics_alone_completes(driver, ending):
    driver.write_markers(ending, gone={A, B, C})
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT
    assert driver.markers == []


def test_where_another_coordinator_has_taken_over_this_one_leaves_off(driver, ending):
    driver.write_markers(ending, dict.fromkeys((A, B, C), ErrorCode.TRANSACTION_COORDINATOR_FENCED))
    driver.advance(10 * RETRY_MS_MAX)
    assert driver.plans == []
    assert state_of(driver) is TransactionState.PREPARE_COMMIT


def test_a_partition_of_which_nothing_is_said_is_tried_again(driver, ending):
    driver.plans.clear()
    driver.act(driver.coordinator.markers_written(ending, {A: ErrorCode.NONE}, driver.now_ms))
    driver.advance(RETRY_MS_MAX)
    assert driver.plans[0].partitions == {B, C}


def test_what_came_of_an_older_plan_says_nothing_of_a_newer_transaction(driver, producer, ending):
    driver.write_markers(ending)
    producer.epoch = 1
    producer.add("a-0")
    producer.send_end(False)
    driver.act(driver.coordinator.markers_written(ending, {A: ErrorCode.NONE}, driver.now_ms))
    assert state_of(driver) is TransactionState.PREPARE_ABORT


def test_what_came_of_a_plan_when_its_id_is_gone_is_nothing(driver, ending):
    plan = ending._replace(transactional_id="gone")
    driver.act(driver.coordinator.markers_written(plan, {A: ErrorCode.NONE}, driver.now_ms))


def test_after_a_restart_the_markers_are_written_from_the_beginning(driver, ending):
    driver.write_markers(ending, {B: ErrorCode.NOT_ENOUGH_REPLICAS})
    driver.restart()
    (again,) = driver.plans
    assert again == ending
    driver.write_markers(again)
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT
    driver.assert_replayable()


def test_every_prepared_transaction_is_finished_by_a_restart(driver):
    driver.holds_markers = True
    for name in ("one", "two", "three"):
        producer = Producer(driver, transactional_id=name, version=1 + (name == "two"))
        producer.init()
        producer.add(f"{name}-0")
        producer.send_end(name != "three")
    driver.holds_markers = False
    driver.restart()
    states = {name: metadata.state.label for name, metadata in driver.transactions.items()}
    assert states == {"one": "CompleteCommit", "two": "CompleteCommit", "three": "CompleteAbort"}
    assert sorted((marker[0].topic, marker[3]) for marker in driver.markers) == [
        ("one", True),
        ("three", False),
        ("two", True),
    ]


def test_an_end_that_cannot_be_recorded_is_recorded_later(driver, ending):
    driver.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS]
    driver.write_markers(ending)
    assert state_of(driver) is TransactionState.PREPARE_COMMIT
    driver.advance(1_000)
    assert (driver.append_errors, driver.plans) == ([], [])
    assert state_of(driver) is TransactionState.COMPLETE_COMMIT
    assert len(driver.markers) == 3
    driver.assert_replayable()
