import pytest
from tests.broker.stage import answer_of, call, send

from distributedlog.broker.handlers import k22_init_producer_id
from distributedlog.broker.producer_ids import ProducerIds
from distributedlog.wire import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest

NEWEST = 6


def ask(stage, version=NEWEST, **fields):
    request = InitProducerIdRequest(**{"transactional_id": None, **fields})
    return call(stage, k22_init_producer_id, 22, version, request)


@pytest.mark.parametrize("version", range(NEWEST + 1))
def test_an_idempotent_producer_gets_an_id_of_its_own(stage, version):
    given = [ask(stage, version) for _ in range(5)]
    assert all(response.error_code == response.producer_epoch == 0 for response in given)
    assert [response.producer_id for response in given] == [0, 1, 2, 3, 4]


def test_whatever_an_idempotent_producer_names_it_gets_a_new_id(stage):
    assert ask(stage).producer_id == 0
    again = ask(stage, producer_id=0, producer_epoch=3)
    assert (again.producer_id, again.producer_epoch) == (1, 0)


def test_ids_come_from_blocks_that_were_recorded_before(stage):
    pending = send(stage, k22_init_producer_id, 22, NEWEST, InitProducerIdRequest(None))
    assert not pending.is_done
    stage.scheduler.run()
    assert answer_of(pending).producer_id == 0
    assert [record.next_producer_id for record in stage.metadata_records] == [1000]
    for _ in range(1000):
        last = ask(stage)
    assert last.producer_id == 1000
    assert [record.next_producer_id for record in stage.metadata_records] == [1000, 2000]


def test_many_who_ask_at_once_are_served_by_as_few_blocks_as_it_takes(stage):
    waiting = [
        send(stage, k22_init_producer_id, 22, NEWEST, InitProducerIdRequest(None)) for _ in range(2500)
    ]
    stage.scheduler.run()
    assert [answer_of(pending).producer_id for pending in waiting] == list(range(2500))
    assert len(stage.metadata_records) == 3


def test_a_restarted_broker_gives_no_id_twice(stage):
    first = ask(stage).producer_id
    stage.producer_ids = ProducerIds(stage)
    assert ask(stage).producer_id == 1000 > first


def test_a_metadata_log_that_cannot_be_written(stage):
    stage.metadata_error = OSError("disk")
    response = ask(stage)
    assert (response.error_code, response.producer_id) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1)
    stage.metadata_error = None
    assert ask(stage).producer_id == 0


@pytest.mark.parametrize("fields", [{"producer_id": 5}, {"producer_epoch": 5}])
def test_half_an_identity_is_an_invalid_request(stage, fields):
    assert ask(stage, **fields).error_code == ErrorCode.INVALID_REQUEST


def test_an_empty_transactional_id_is_an_invalid_request(stage):
    assert (
        ask(stage, transactional_id="", transaction_timeout_ms=1000).error_code == ErrorCode.INVALID_REQUEST
    )


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001, 2**31 - 1])
def test_a_transaction_timeout_out_of_bounds(stage, timeout_ms):
    response = ask(stage, transactional_id="t", transaction_timeout_ms=timeout_ms)
    assert response.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT
