"""What a transactional producer promises, on a cluster that has transactions."""

import pytest
from tests.client.scenarios.reading import create_topic, on_cluster, records_of

from distributedlog.client import TopicPartition
from distributedlog.client.committed import committed_offsets
from distributedlog.client.errors import BrokerError, InvalidOption, ProducerFenced, TransactionAborted
from distributedlog.client.producer.producer import Producer

PATIENCE = 60


def values(servers, topic, partition=0):
    """What readers of committed data see."""
    return [record.value for record in records_of(servers, topic, partition, is_committed=True)]


def test_what_a_block_writes_is_there_together_or_not_at_all(servers, topic):
    create_topic(servers, topic, 2)
    with Producer(servers, transactional_id=topic) as producer:
        for number in range(3):
            with producer.transaction():
                for partition in range(2):
                    producer.send(topic, b"kept-%d" % number, partition=partition)
            with pytest.raises(ZeroDivisionError), producer.transaction():
                future = producer.send(topic, b"lost-%d" % number, partition=0)
                future.result(PATIENCE)
                producer.send(topic, b"never sent", partition=1)
                raise ZeroDivisionError
    for partition in range(2):
        assert values(servers, topic, partition) == [b"kept-%d" % number for number in range(3)]
    seen = {record.value for record in records_of(servers, topic)}
    assert b"lost-1" in seen, "readers of everything see what was aborted"


def test_many_records_of_many_transactions(servers, topic):
    create_topic(servers, topic, 3)
    with Producer(servers, transactional_id=topic, batch_size=2000) as producer:
        for number in range(20):
            with producer.transaction() as transaction:
                for place in range(90):
                    producer.send(topic, b"%03d-%03d" % (number, place) + b"x" * 50, partition=place % 3)
                if number % 4 == 3:
                    transaction.abort()
    kept = [number for number in range(20) if number % 4 != 3]
    for partition in range(3):
        expected = [b"%03d-%03d" % (number, place) for number in kept for place in range(partition, 90, 3)]
        assert [value[:7] for value in values(servers, topic, partition)] == expected


def test_sending_outside_of_a_transaction_is_an_error(servers, topic):
    with Producer(servers, transactional_id=topic) as producer:
        with pytest.raises(TransactionAborted, match=r"only inside of `with producer.transaction\(\)"):
            producer.send(topic, b"")
        with producer.transaction():
            producer.send(topic, b"").result(PATIENCE)
        with pytest.raises(TransactionAborted):
            producer.send(topic, b"")
    with (
        Producer(servers) as producer,
        pytest.raises(InvalidOption, match="need a producer with a transactional_id"),
    ):
        producer.transaction()


def test_a_block_without_records_costs_nothing(servers, topic):
    with Producer(servers, transactional_id=topic) as producer:
        for _ in range(3):
            with producer.transaction():
                pass


def test_a_second_producer_fences_the_first(servers, topic):
    create_topic(servers, topic)
    with (
        Producer(servers, transactional_id=topic) as zombie,
        Producer(servers, transactional_id=topic) as heir,
    ):
        with pytest.raises(ProducerFenced, match="has taken over the transactional id"), zombie.transaction():
            zombie.send(topic, b"zombie").result(PATIENCE)
            with heir.transaction():
                heir.send(topic, b"heir")
            zombie.send(topic, b"too late")
        with pytest.raises(ProducerFenced), zombie.transaction():
            pass
        with heir.transaction():
            heir.send(topic, b"again")
    assert values(servers, topic) == [b"heir", b"again"]


def test_a_refused_record_makes_the_transaction_abort_and_the_next_one_works(servers, topic):
    create_topic(servers, topic, 1, {"max.message.bytes": "2000"})
    with Producer(servers, transactional_id=topic) as producer:
        with pytest.raises(TransactionAborted, match="can only be aborted"), producer.transaction():
            producer.send(topic, b"fine").result(PATIENCE)
            with pytest.raises(BrokerError, match="MESSAGE_TOO_LARGE"):
                producer.send(topic, b"x" * 5000).result(PATIENCE)
            with pytest.raises(TransactionAborted):
                producer.send(topic, b"no more")
        with producer.transaction():
            producer.send(topic, b"after")
    assert values(servers, topic) == [b"after"]


def test_a_batch_that_is_too_large_goes_in_parts(servers, topic):
    create_topic(servers, topic, 1, {"max.message.bytes": "2000"})
    expected = [b"%d-" % number + b"x" * 400 for number in range(20)]
    with Producer(servers, transactional_id=topic, linger_ms=200, batch_size=100_000) as producer:
        for half in (expected[:10], expected[10:]):
            with producer.transaction():
                for value in half:
                    producer.send(topic, value)
    assert values(servers, topic) == expected


def test_offsets_are_committed_with_the_transaction_or_not_at_all(servers, topic):
    create_topic(servers, topic)
    place = TopicPartition(topic, 0)
    with Producer(servers, transactional_id=topic) as producer:
        with producer.transaction() as transaction:
            producer.send(topic, b"one")
            transaction.send_offsets({place: 5}, topic)
        with pytest.raises(ZeroDivisionError), producer.transaction() as transaction:
            transaction.send_offsets({place: 9}, topic)
            raise ZeroDivisionError
        offsets = on_cluster(servers, lambda client: committed_offsets(client, topic))
        assert offsets[place].offset == 5
