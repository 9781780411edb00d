"""Consumers over a network that cuts, delays and goes silent, and with brokers that come and go."""

import asyncio
import contextlib
import os
import random
import threading
import time

import pytest
from tests.client.scenarios.consuming import consumer, numbered, read, wait_until, write
from tests.client.scenarios.reading import create_topic
from tests.client.test_producing_through_faults import disturbed_broker, port_of

from distributedlog import AsyncConsumer, Producer, exactly_once
from distributedlog.client.errors import ClientError, ClusterUnreachable, ForkedClient, UnsupportedByBroker
from fault_proxy import ALL_FAULTS, DEADLINE_SECONDS, Fault, FaultProxy

FETCH, METADATA, OFFSET_COMMIT, JOIN_GROUP, HEARTBEAT, SYNC_GROUP, END_TXN = 1, 3, 8, 11, 12, 14, 26
CONSUMER_APIS = (FETCH, 2, OFFSET_COMMIT, 9, 10, JOIN_GROUP, HEARTBEAT, SYNC_GROUP, 68)
QUICK = {"request_timeout_ms": 300, "default_api_timeout_ms": 5_000}


def faulty_consumer(proxy, **options):
    return consumer(f"127.0.0.1:{proxy.port}", **{**QUICK, **options})


def threads_of_consumers():
    return [thread for thread in threading.enumerate() if thread.name == "distributedlog-consumer"]


def disturb(proxy, faults=ALL_FAULTS, share=0.2):
    """From now on, and for what consumers ask."""
    proxy._api_keys, proxy._faults, proxy._share = frozenset(CONSUMER_APIS), tuple(faults), share


@pytest.mark.parametrize("protocol", ["classic", "consumer", None])
def test_everything_arrives_and_nothing_twice(topic, protocol):
    with disturbed_broker(topic, 11, share=0, faults_max=40) as (proxy, _):
        for _ in range(3):
            write(f"127.0.0.1:{proxy.port}", topic, numbered(10))
        sent = 30
        disturb(proxy, [fault for fault in ALL_FAULTS if fault is not Fault.SILENCE])
        options = {"max_partition_fetch_bytes": 100, "prefetch_bytes": 100, "max_poll_records": 1}
        if protocol is not None:
            options |= {"group_id": topic, "group_protocol": protocol, "enable_auto_commit": False}
        with faulty_consumer(proxy, **options) as reader:
            reader.subscribe(topic)
            found = read(reader, sent)
            places = [(record.partition, record.offset) for record in found]
            assert len(set(places)) == sent, "one member alone sees nothing twice"
            for partition in range(3):
                offsets = [offset for place, offset in places if place == partition]
                assert offsets == list(range(len(offsets)))
            if protocol is not None:
                wait_until(lambda: _committed(reader) == sent, reader)
        assert proxy.met


def _committed(reader):
    try:
        reader.commit()
        return sum(each.offset for each in reader.committed().values())
    except ClientError:
        return -1


def test_a_broker_that_goes_away_and_comes_back(topic):
    with disturbed_broker(topic, 1, share=0) as (proxy, broker):
        servers = f"127.0.0.1:{proxy.port}"
        with faulty_consumer(proxy, group_id=topic) as reader:
            reader.subscribe(topic)
            for turn in range(3):
                write(servers, topic, numbered(20, turn * 20))
                records = read(reader, 20)
                assert sorted(record.value for record in records) == numbered(20, turn * 20)
                reader.commit()
                broker.stop()
                assert reader.poll(0.1) == []
                broker.start()
                proxy.target_port = port_of(broker)


def test_closing_while_the_broker_is_gone_ends_and_leaves_nothing(topic):
    with disturbed_broker(topic, 1, share=0) as (proxy, broker):
        write(f"127.0.0.1:{proxy.port}", topic, numbered(5))
        reader = faulty_consumer(proxy, group_id=topic)
        reader.subscribe(topic)
        read(reader, 5)
        broker.stop()
        reader.close(timeout_seconds=0.2)
        assert not threads_of_consumers()


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_closing_in_the_middle_of_anything(topic, protocol):
    chance = random.Random(7)
    with disturbed_broker(topic, 3, share=0, faults_max=10_000) as (proxy, _):
        write(f"127.0.0.1:{proxy.port}", topic, numbered(5))
        with faulty_consumer(
            proxy, group_id=topic, group_protocol=protocol
        ) as reader:  # the broker opens files
            reader.subscribe(topic)
            read(reader, 5)
        descriptors = len(os.listdir("/proc/self/fd"))
        disturb(proxy, share=0.3)
        for _ in range(8):
            reader = faulty_consumer(proxy, group_id=topic, group_protocol=protocol)
            reader.subscribe(topic)
            with contextlib.suppress(ClientError):
                reader.poll(chance.random() / 10)
            reader.close(timeout_seconds=chance.random() / 10)
        assert not threads_of_consumers()
        deadline = time.monotonic() + DEADLINE_SECONDS
        while len(os.listdir("/proc/self/fd")) > descriptors:  # the proxy's ends close when it notices
            assert time.monotonic() < deadline
            threading.Event().wait(0.01)


def test_closing_from_another_thread_ends_a_poll(broker, topic):
    create_topic(broker.bootstrap_servers, topic)
    reader = consumer(broker.bootstrap_servers)
    reader.assign([(topic, 0)])
    closer = threading.Timer(0.1, reader.close)
    closer.start()
    with pytest.raises(ClientError, match="the consumer is closed"):
        reader.poll(None)
    closer.join()


def test_async_consumers_leave_no_task(broker, topic):
    async def main():
        before = asyncio.all_tasks()
        for protocol in ("classic", "consumer"):
            options = {"group_id": topic, "group_protocol": protocol}
            async with AsyncConsumer(broker.bootstrap_servers, **options) as reader:
                await reader.subscribe(topic)
                await reader.poll(0.05)
        assert asyncio.all_tasks() == before

    asyncio.run(main())


def test_use_after_a_fork_says_so(broker, topic):
    create_topic(broker.bootstrap_servers, topic)
    with consumer(broker.bootstrap_servers) as reader:
        reader.assign([(topic, 0)])
        reader.poll(0)
        child = os.fork()
        if child == 0:
            told = 0
            for call in (
                reader.poll,
                reader.commit,
                lambda: reader.seek((topic, 0), 1),
                lambda: next(reader),
            ):
                try:
                    call()
                except ForkedClient:
                    told += 1
            os._exit(told)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4
        assert reader.poll(0) == []


def test_a_cluster_that_is_not_there(topic):
    with FaultProxy() as proxy, faulty_consumer(proxy) as reader:
        reader.subscribe(topic)
        assert reader.poll(0.1) == [], "it may come yet"
        with pytest.raises(ClusterUnreachable):
            reader.partitions_for(topic)


def test_a_broker_that_wants_another_protocol(broker, topic):
    options = {"security_protocol": "SASL_PLAINTEXT", "sasl_username": "u", "sasl_password": "p"}
    with consumer(broker.bootstrap_servers, **options) as reader:
        reader.subscribe(topic)
        with pytest.raises(UnsupportedByBroker, match="does not serve sasl_handshake"):
            reader.poll(DEADLINE_SECONDS)


def test_silence_is_no_answer(topic):
    """A connection that stays open and says nothing more is given up for another one."""
    with disturbed_broker(topic, 5, share=0, faults_max=3) as (proxy, _):
        write(f"127.0.0.1:{proxy.port}", topic, numbered(5))
        disturb(proxy, [Fault.SILENCE], share=1.0)
        with faulty_consumer(proxy) as reader:
            reader.subscribe(topic)
            read(reader, 5)
        assert proxy.met == [Fault.SILENCE] * 3


def test_a_step_whose_commit_got_no_answer_is_not_done_again(topic):
    """The transaction was committed, only nobody was told: the next producer goes on behind it."""
    with disturbed_broker(topic, 1, share=0) as (proxy, broker):
        direct, target = broker.bootstrap_servers, f"{topic}-out"
        create_topic(direct, target)
        write(direct, topic, numbered(10), partition=0)
        options = {"transactional_id": topic, **QUICK, "default_api_timeout_ms": 1_000}
        with faulty_consumer(
            proxy, group_id=topic, enable_auto_commit=False, isolation_level="read_committed"
        ) as reader:
            reader.subscribe(topic)
            with Producer(f"127.0.0.1:{proxy.port}", **options) as unlucky:
                step = exactly_once(reader, unlucky)
                with pytest.raises(ClientError):
                    run_step(step, unlucky, target, before_end=lambda: setattr(proxy, "silent_from", END_TXN))
                proxy.silent_from = None
            write(direct, topic, numbered(5, 10), partition=0)
            with Producer(f"127.0.0.1:{proxy.port}", transactional_id=topic) as heir:
                step, done = exactly_once(reader, heir), 0
                deadline = time.monotonic() + DEADLINE_SECONDS
                while done < 5:
                    assert time.monotonic() < deadline
                    done += run_step(step, heir, target)
        with consumer(direct, isolation_level="read_committed") as judge:
            judge.assign([(target, 0)])
            assert [record.value for record in read(judge, 15)] == numbered(15)
            assert judge.poll(0.2) == []


def run_step(step, producer, target, before_end=None):
    """Steps until one has records; how many."""
    while True:
        with step as records:
            for record in records:
                producer.send(target, record.value)
            if records and before_end is not None:
                producer.flush()
                before_end()
        if records:
            return len(records)
