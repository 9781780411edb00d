"""InitProducerId: new ids, fencing, a producer's own epoch, and epochs that are used up."""

import pytest
from tests.transactions.clients import Producer, init_request
from tests.transactions.driver import Driver

from distributedlog.transactions import TransactionConfig, TransactionState
from distributedlog.wire.error_codes import ErrorCode

LAST_EPOCH = 32_766


def test_a_new_id_gets_a_producer_id_and_epoch_0(driver):
    producer = Producer(driver)
    assert producer.init() == ErrorCode.NONE
    assert producer.identity == (1_000, 0)
    metadata = driver.transactions["t"]
    assert (metadata.state, metadata.timeout_ms, metadata.start_ms) == (TransactionState.EMPTY, 60_000, -1)
    assert metadata.last_update_ms == driver.now_ms
    driver.assert_replayable()


def test_every_init_raises_the_epoch_and_fences_who_was_there_before(driver):
    first, second = Producer(driver), Producer(driver)
    first.init()
    assert second.init() == ErrorCode.NONE
    assert second.identity == (1_000, 1)
    assert first.add("a-0") == ErrorCode.PRODUCER_FENCED
    assert first.commit() == ErrorCode.PRODUCER_FENCED
    assert first.init(recovers=True) == ErrorCode.PRODUCER_FENCED


def test_the_time_out_is_that_of_the_last_init(driver, producer):
    producer.timeout_ms = 5_000
    producer.init()
    assert driver.transactions["t"].timeout_ms == 5_000


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001, 2**31 - 1])
def test_a_time_out_out_of_bounds(driver, timeout_ms):
    response = driver.ask(init_request("t", timeout_ms), 5)
    assert response.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert (response.producer_id, response.producer_epoch) == (-1, -1)
    assert driver.log == []


def test_an_empty_id_is_an_invalid_request(driver):
    assert driver.ask(init_request(""), 5).error_code == ErrorCode.INVALID_REQUEST


def test_two_phase_commit_is_not_to_be_had(driver):
    asked = init_request("t", enable_2pc=True)
    assert driver.ask(asked, 6).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    asked = init_request("t", keep_prepared_txn=True)
    assert driver.ask(asked, 6).error_code == ErrorCode.UNSUPPORTED_VERSION


# -- an open transaction ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2])
def test_an_open_transaction_is_aborted_and_the_producer_comes_again(driver, version):
    first, second = Producer(driver, version), Producer(driver, version)
    first.init()
    first.add("a-0", "b-1")
    assert second.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert sorted(driver.markers) == [
        (("a", 0), 1_000, 1, False, 3),
        (("b", 1), 1_000, 1, False, 3),
    ]
    assert driver.transactions["t"].state is TransactionState.COMPLETE_ABORT
    assert second.init() == ErrorCode.NONE
    assert second.identity == (1_000, 2)
    assert first.commit() == ErrorCode.PRODUCER_FENCED
    assert driver.counts.aborted == 1
    driver.assert_replayable()


def test_while_the_markers_are_being_written_the_producer_waits(driver, producer):
    driver.holds_markers = True
    producer.add("a-0")
    producer.send_end(True)
    assert producer.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    driver.write_markers(driver.plans[0])
    assert producer.init() == ErrorCode.NONE


def test_a_stale_producer_that_names_its_epoch_does_not_abort_the_newer_ones_transaction(driver):
    stale, newer = Producer(driver), Producer(driver)
    stale.init()
    newer.init()
    newer.add("a-0")
    assert stale.init(recovers=True) == ErrorCode.PRODUCER_FENCED
    assert driver.transactions["t"].state is TransactionState.ONGOING
    assert newer.commit() == ErrorCode.NONE


def test_a_producer_may_abort_its_own_open_transaction_by_asking_for_a_higher_epoch(driver, producer):
    producer.add("a-0")
    assert producer.init(recovers=True) == ErrorCode.CONCURRENT_TRANSACTIONS
    assert producer.init(recovers=True) == ErrorCode.NONE
    assert producer.identity == (1_000, 1)
    assert producer.add("a-0") == ErrorCode.NONE


# -- a producer that names what it has (KIP-360) ------------------------------------------------------------


def test_a_producer_that_names_its_epoch_gets_the_next(driver, producer):
    assert producer.init(recovers=True) == ErrorCode.NONE
    assert producer.identity == (1_000, 1)


def test_who_did_not_hear_the_answer_gets_the_same_again(driver, producer):
    deaf = Producer(driver)
    deaf.producer_id, deaf.epoch = producer.identity
    producer.init(recovers=True)
    assert deaf.init(recovers=True) == ErrorCode.NONE
    assert deaf.identity == producer.identity == (1_000, 1)


def test_the_answer_is_not_repeated_when_somebody_else_has_asked_since(driver, producer):
    deaf = Producer(driver)
    deaf.producer_id, deaf.epoch = producer.identity
    deaf_after = driver.ask(
        init_request(producer_id=deaf.producer_id, producer_epoch=deaf.epoch), 5
    ).producer_epoch
    assert deaf_after == 1
    assert Producer(driver).init() == ErrorCode.NONE
    assert deaf.init(recovers=True) == ErrorCode.PRODUCER_FENCED


def test_an_epoch_that_was_never_given_is_fenced(driver, producer):
    producer.epoch = 7
    assert producer.init(recovers=True) == ErrorCode.PRODUCER_FENCED


def test_a_foreign_producer_id_is_fenced(driver, producer):
    producer.producer_id = 4
    assert producer.init(recovers=True) == ErrorCode.PRODUCER_FENCED


def test_older_clients_know_another_name_for_fenced(driver, producer):
    producer.epoch = 7
    assert producer.init(recovers=True, api_version=3) == ErrorCode.INVALID_PRODUCER_EPOCH


def test_who_names_an_identity_for_an_unknown_id_gets_a_new_one(driver):
    producer = Producer(driver)
    producer.producer_id, producer.epoch = 12, 5
    assert producer.init(recovers=True) == ErrorCode.NONE
    assert producer.identity == (1_000, 0)


# -- epochs that are used up --------------------------------------------------------------------------------


def test_after_the_last_epoch_comes_another_producer_id(driver, producer):
    driver.put(producer_epoch=LAST_EPOCH - 1)
    assert producer.init() == ErrorCode.NONE
    assert producer.identity == (1_000, LAST_EPOCH)
    assert producer.init() == ErrorCode.NONE
    assert producer.identity == (1_001, 0)
    assert driver.transactions["t"].previous_producer_id == 1_000
    driver.assert_replayable()


def test_who_did_not_hear_of_the_new_producer_id_hears_it_again(driver, producer):
    driver.put(producer_epoch=LAST_EPOCH)
    producer.epoch = LAST_EPOCH
    deaf = Producer(driver)
    deaf.producer_id, deaf.epoch = producer.identity
    assert producer.init(recovers=True) == ErrorCode.NONE
    assert deaf.init(recovers=True) == ErrorCode.NONE
    assert deaf.identity == producer.identity == (1_001, 0)


def test_who_asks_again_at_the_last_epoch_hears_it_again(driver, producer):
    driver.put(producer_epoch=LAST_EPOCH - 1)
    producer.epoch = LAST_EPOCH - 1
    deaf = Producer(driver)
    deaf.producer_id, deaf.epoch = producer.identity
    assert producer.init(recovers=True) == ErrorCode.NONE
    assert deaf.init(recovers=True) == ErrorCode.NONE
    assert deaf.identity == (1_000, LAST_EPOCH)


def test_fencing_the_last_epoch_gives_the_transaction_the_epoch_kept_for_that(driver, producer):
    driver.put(producer_epoch=LAST_EPOCH)
    producer.epoch = LAST_EPOCH
    producer.add("a-0")
    other = Producer(driver)
    assert other.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert driver.markers == [(("a", 0), 1_000, 32_767, False, 3)]
    assert other.init() == ErrorCode.NONE
    assert other.identity == (1_001, 1)
    assert producer.commit() == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    driver.assert_replayable()


def test_fencing_the_last_epoch_at_level_0():
    driver = Driver(TransactionConfig(transaction_version=0))
    producer = Producer(driver, version=1)
    producer.init()
    driver.put(producer_epoch=LAST_EPOCH)
    producer.epoch = LAST_EPOCH
    producer.add("a-0")
    other = Producer(driver, version=1)
    assert other.init() == ErrorCode.CONCURRENT_TRANSACTIONS
    assert driver.markers == [(("a", 0), 1_000, 32_767, False, 3)]
    assert other.init() == ErrorCode.NONE
    assert other.identity == (1_001, 0)


# -- producer ids take time ---------------------------------------------------------------------------------


def test_nothing_is_written_before_there_is_a_producer_id(driver):
    driver.holds_ids = True
    token = driver.send(init_request(), 5)
    assert (driver.reply(token), driver.log) == (None, [])
    driver.give_id(driver.wanting[0])
    assert driver.reply(token).producer_id == 1_000


def test_two_that_begin_at_once_get_one_producer_id_and_two_epochs(driver):
    driver.holds_ids = True
    tokens = [driver.send(init_request(), 5) for _ in range(2)]
    for wanted in list(driver.wanting):
        driver.give_id(wanted)
    given = [(driver.reply(token).producer_id, driver.reply(token).producer_epoch) for token in tokens]
    assert given == [(1_000, 0), (1_000, 1)]


def test_no_producer_id_is_to_be_had(driver):
    driver.holds_ids = True
    token = driver.send(init_request(), 5)
    driver.give_id(driver.wanting[0], ErrorCode.COORDINATOR_NOT_AVAILABLE)
    response = driver.reply(token)
    assert (response.error_code, response.producer_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    driver.holds_ids = False
    assert Producer(driver).init() == ErrorCode.NONE
