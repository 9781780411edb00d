"""What readers of committed data and `exactly_once` promise, on a cluster that has transactions."""

import asyncio
import time

import pytest
from tests.client.scenarios.consuming import QUICK, consumer, numbered, read, values_of, wait_until, write
from tests.client.scenarios.reading import create_topic

from distributedlog import AsyncConsumer, exactly_once
from distributedlog.client.errors import InvalidOption, ProducerFenced, TransactionAborted
from distributedlog.client.producer.async_producer import AsyncProducer
from distributedlog.client.producer.producer import Producer

PATIENCE = 60
EXACT = {"enable_auto_commit": False, "isolation_level": "read_committed"}


def test_readers_of_committed_data_see_what_was_committed_and_positions_pass_the_rest(servers, topic):
    create_topic(servers, topic)
    with Producer(servers, transactional_id=topic) as producer:
        for number in range(6):
            with producer.transaction() as transaction:
                for place in range(5):
                    producer.send(topic, b"%d-%d" % (number, place))
                producer.flush()
                if number % 2:
                    transaction.abort()
    kept = [b"%d-%d" % (number, place) for number in (0, 2, 4) for place in range(5)]
    options = {"isolation_level": "read_committed", "max_poll_records": 4}
    with consumer(servers, **options) as reader:
        reader.assign([(topic, 0)])
        assert values_of(read(reader, 15)) == kept
        wait_until(lambda: reader.position((topic, 0)) == 36, reader)
        assert reader.lag() == {(topic, 0): 0}
        reader.seek_to_beginning()
        found = []
        while len(found) < 15:
            found += reader.poll_table(PATIENCE, columns=["value"]).column("value").to_pylist()
        assert found == kept
    with consumer(servers) as reader:
        reader.assign([(topic, 0)])
        assert len(read(reader, 30)) == 30


def test_an_open_transaction_holds_readers_of_committed_data_back(servers, topic):
    create_topic(servers, topic)
    with (
        Producer(servers, transactional_id=topic) as producer,
        consumer(servers, isolation_level="read_committed") as reader,
    ):
        reader.assign([(topic, 0)])
        with producer.transaction():
            producer.send(topic, b"in time").result(PATIENCE)
            assert reader.poll(0.2) == []
            assert reader.end_offsets([(topic, 0)]) == {(topic, 0): 0}
        assert values_of(read(reader, 1)) == [b"in time"]


def output_of(servers, topic, count):
    with consumer(servers, isolation_level="read_committed") as reader:
        reader.assign([(topic, 0)])
        records = read(reader, count)
        assert reader.poll(0.2) == []
        return values_of(records)


def test_each_record_is_processed_once_through_aborts_and_crashes(servers, topic):
    source, target = f"{topic}-in", f"{topic}-out"
    create_topic(servers, source)
    create_topic(servers, target)
    write(servers, source, numbered(100))
    troubles = iter(
        [ZeroDivisionError, None, TransactionAborted, None, TransactionAborted, ZeroDivisionError]
    )
    done = 0
    while done < 100:
        try:
            with (
                consumer(servers, group_id=topic, max_poll_records=12, **EXACT) as reader,
                Producer(servers, transactional_id=topic) as producer,
            ):
                reader.subscribe(source)
                step = exactly_once(reader, producer, timeout_seconds=0.2)
                while done < 100:
                    with step as records:
                        for record in records:
                            producer.send(target, b"<%s>" % record.value)
                        trouble = next(troubles, None) if records else None
                        if trouble is not None:
                            producer.flush()
                            raise trouble
                        done += len(records)
        except ZeroDivisionError:
            pass
    assert output_of(servers, target, 100) == [b"<%s>" % value for value in numbered(100)]


def test_a_step_that_aborts_again_and_again_is_an_error_in_the_end(servers, topic):
    create_topic(servers, topic)
    write(servers, topic, numbered(3))
    tries = []
    with (
        consumer(servers, group_id=topic, **EXACT) as reader,
        Producer(servers, transactional_id=topic) as producer,
    ):
        reader.subscribe(topic)
        step = exactly_once(reader, producer, timeout_seconds=0.2, aborts_max=2)
        with pytest.raises(TransactionAborted, match="always"):
            while True:
                with step as records:
                    if records:
                        tries.append(values_of(records))
                        raise TransactionAborted("always")
    assert tries == [numbered(3)] * 3


def test_a_zombie_cannot_commit(servers, topic):
    """It was thought dead, another one took its work over, and then it wakes up in the middle of a step."""
    source, target = f"{topic}-in", f"{topic}-out"
    create_topic(servers, source)
    create_topic(servers, target)
    write(servers, source, numbered(10))
    zombies = consumer(servers, group_id=topic, max_poll_interval_ms=500, **EXACT)
    with (
        zombies,
        Producer(servers, transactional_id="a" + topic) as zombie,
        consumer(servers, group_id=topic, **EXACT) as reader,
        Producer(servers, transactional_id="b" + topic) as producer,
    ):
        zombies.subscribe(source)
        step = exactly_once(zombies, zombie, timeout_seconds=0.2)
        deadline = time.monotonic() + PATIENCE
        is_done = False
        while not is_done:
            assert time.monotonic() < deadline
            with step as records:
                if records:
                    zombie.send(target, b"zombie")
                    reader.subscribe(source)
                    heir = exactly_once(reader, producer, timeout_seconds=0.2)
                    done = 0
                    while done < 10:
                        assert time.monotonic() < deadline
                        with heir as again:
                            for record in again:
                                producer.send(target, record.value)
                            done += len(again)
                    is_done = True
    assert output_of(servers, target, 10) == numbered(10)


def test_the_async_clients_do_the_same(servers, topic):
    source, target = f"{topic}-in", f"{topic}-out"
    create_topic(servers, source)
    create_topic(servers, target)
    write(servers, source, numbered(30))

    async def main():
        options = {**QUICK, **EXACT, "auto_offset_reset": "earliest", "max_poll_records": 7}
        async with (
            asyncio.timeout(PATIENCE),
            AsyncConsumer(servers, group_id=topic, **options) as reader,
            AsyncProducer(servers, transactional_id=topic) as producer,
        ):
            await reader.subscribe(source)
            step = exactly_once(reader, producer, timeout_seconds=0.2)
            done, troubles = 0, 2
            while done < 30:
                async with step as records:
                    for record in records:
                        await producer.send(target, record.value)
                    if records and troubles:
                        troubles -= 1
                        raise TransactionAborted("once more")
                    done += len(records)

    asyncio.run(main())
    assert output_of(servers, target, 30) == numbered(30)


@pytest.mark.parametrize(
    ("options", "is_transactional", "said"),
    [
        ({}, True, "enable_auto_commit=False"),
        ({"enable_auto_commit": False}, True, "isolation_level='read_committed'"),
        (EXACT, False, "transactional_id"),
    ],
)
def test_exactly_once_says_what_it_needs(servers, topic, options, is_transactional, said):
    with (
        Producer(servers, transactional_id=topic if is_transactional else None) as producer,
        consumer(servers, group_id=topic, **options) as reader,
        pytest.raises(InvalidOption, match=said),
    ):
        exactly_once(reader, producer)


def test_a_producer_that_was_fenced_is_an_error(servers, topic):
    create_topic(servers, topic)
    write(servers, topic, numbered(3))
    with (
        consumer(servers, group_id=topic, **EXACT) as reader,
        Producer(servers, transactional_id=topic) as producer,
        Producer(servers, transactional_id=topic) as heir,
    ):
        reader.subscribe(topic)
        step = exactly_once(reader, producer, timeout_seconds=0.2)
        with pytest.raises(ProducerFenced):
            while True:
                with step as records:
                    if records:
                        heir.init_transactions()
                        producer.send(f"{topic}-out", b"too late")
