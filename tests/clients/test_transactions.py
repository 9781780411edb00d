"""Transactions of real clients: what one library commits, every library reads, and nothing else."""

import contextlib

import pytest
from tests.broker_fire.asking import committed, create_topic, end_offset
from tests.clients.face import Refused
from tests.clients.transactional import TRANSACTIONAL
from tests.server.processes import eventually

from distributedlog.wire import ErrorCode

FENCED = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH, -144}  # the last is librdkafka's own


@pytest.fixture(params=TRANSACTIONAL)
def kind(request):
    return TRANSACTIONAL[request.param]


@pytest.fixture
def producer(kind, bootstrap, topic, ask):
    create_topic(ask, topic, 3)
    with contextlib.closing(kind(bootstrap, topic)) as made:
        yield made


def test_every_library_reads_what_was_committed_and_not_what_was_aborted(producer, bootstrap, topic, ask):
    for number in range(6):
        producer.begin()
        for place in range(30):
            producer.send(topic, b"%d-%02d" % (number, place), partition=place % 3)
        if number % 3 == 1:
            producer.flush()
            producer.abort()
        else:
            producer.commit()
    kept = [number for number in range(6) if number % 3 != 1]
    for partition in range(3):
        expected = [b"%d-%02d" % (number, place) for number in kept for place in range(partition, 30, 3)]
        for reader in TRANSACTIONAL.values():
            assert reader.read_committed(bootstrap, topic, partition) == expected
        # and everything is there: 6 transactions of 10 records, each with its marker
        assert end_offset(ask, topic, partition) == 66


def test_readers_do_not_see_beyond_an_open_transaction(producer, kind, bootstrap, topic):
    producer.begin()
    producer.send(topic, b"committed")
    producer.commit()
    producer.begin()
    producer.send(topic, b"open")
    producer.flush()
    for reader in TRANSACTIONAL.values():
        assert reader.read_committed(bootstrap, topic) == [b"committed"]
    producer.commit()
    assert kind.read_committed(bootstrap, topic) == [b"committed", b"open"]


def test_offsets_hold_with_the_commit_and_not_with_the_abort(producer, topic, ask):
    producer.begin()
    producer.send(topic, b"1")
    producer.send_offsets({(topic, 0): 5, (topic, 1): 7}, topic)
    producer.commit()
    assert [committed(ask, topic, topic, partition) for partition in range(3)] == [5, 7, -1]
    producer.begin()
    producer.send_offsets({(topic, 0): 9}, topic)
    producer.abort()
    assert committed(ask, topic, topic, 0) == 5


def send_and_commit(producer, topic, value):
    producer.send(topic, value)
    producer.commit()


def refusal_of(step):
    """kafka-python learns in the background that it is fenced; until then it may only say that it is busy."""
    with pytest.raises(Refused) as refused:
        step()
    return refused.value.code


def test_a_second_producer_fences_the_first(producer, kind, bootstrap, topic):
    producer.begin()
    producer.send(topic, b"of the first")
    producer.flush()
    with contextlib.closing(kind(bootstrap, topic)) as second:
        with pytest.raises(Refused) as refused:
            send_and_commit(producer, topic, b"too late")
        eventually(lambda: refused.value.code in FENCED or refusal_of(producer.commit) in FENCED)
        second.begin()
        second.send(topic, b"of the second")
        second.commit()
    assert kind.read_committed(bootstrap, topic) == [b"of the second"]


def test_a_commit_of_nothing_and_what_comes_after_it(producer, kind, bootstrap, topic):
    producer.begin()
    producer.commit()
    producer.begin()
    producer.abort()
    producer.begin()
    producer.send(topic, b"something")
    producer.commit()
    eventually(lambda: kind.read_committed(bootstrap, topic) == [b"something"])
