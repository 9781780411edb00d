"""The embedded broker, as a test uses it."""

import asyncio
import os
import socket
import threading

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from distributedlog.client import ClusterClient
from distributedlog.server.settings import SettingsError
from distributedlog.testing import EmbeddedBroker

SECONDS_MAX = 30


def produce(broker, topic, *values):
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(SECONDS_MAX) == 0


def consume(broker, topic, count):
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe([topic])
    messages = consumer.consume(count, SECONDS_MAX)
    consumer.close()
    return [message.value() for message in messages]


def test_what_is_produced_is_consumed():
    with EmbeddedBroker() as broker:
        produce(broker, "t", b"1", b"2")
        assert consume(broker, "t", 2) == [b"1", b"2"]


def test_several_at_once_know_nothing_of_each_other():
    with EmbeddedBroker() as first, EmbeddedBroker() as second:
        assert first.bootstrap_servers != second.bootstrap_servers
        assert first.directory != second.directory
        produce(first, "only-in-the-first", b"x")
        topics = AdminClient({"bootstrap.servers": second.bootstrap_servers}).list_topics(timeout=SECONDS_MAX)
        assert "only-in-the-first" not in topics.topics


def test_nothing_is_left_behind():
    threads = set(threading.enumerate())
    with EmbeddedBroker() as broker:
        produce(broker, "t", b"x")
        directory, (host, port) = broker.directory, broker.bootstrap_servers.split(":")
        assert os.path.isdir(directory)
    assert not os.path.exists(directory)
    assert set(threading.enumerate()) == threads
    with socket.socket() as probe:
        assert probe.connect_ex((host, int(port))) != 0


def test_nothing_is_left_behind_by_a_test_that_fails():
    directories = []

    def failing_test():
        with EmbeddedBroker() as broker:
            directories.append(broker.directory)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        failing_test()
    assert not os.path.exists(directories[0])


def test_a_restart_keeps_address_and_data():
    with EmbeddedBroker() as broker:
        produce(broker, "t", b"before")
        address = broker.bootstrap_servers
        broker.restart()
        assert broker.bootstrap_servers == address
        produce(broker, "t", b"after")
        assert consume(broker, "t", 2) == [b"before", b"after"]


def test_a_directory_of_ones_own_outlives_the_broker(tmp_path):
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert broker.directory == str(tmp_path)
        produce(broker, "t", b"x")
    with EmbeddedBroker(directory=tmp_path) as broker:
        assert consume(broker, "t", 1) == [b"x"]


def test_settings_have_kafkas_names():
    with EmbeddedBroker({"auto.create.topics.enable": "false", "num.partitions": "3"}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        assert admin.list_topics("made-by-asking", timeout=SECONDS_MAX).topics["made-by-asking"].error
    with pytest.raises(SettingsError, match=r"did you mean 'num\.partitions'"):
        EmbeddedBroker({"num.partition": "3"}).start()


def test_the_test_settings_can_be_overridden():
    with EmbeddedBroker({"log.flush": "ack", "offsets.topic.num.partitions": "2"}) as broker:
        produce(broker, "t", b"x")
        assert consume(broker, "t", 1) == [b"x"]
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        assert len(admin.list_topics(timeout=SECONDS_MAX).topics["__consumer_offsets"].partitions) == 2


def test_metrics_are_served_where_they_are_wanted():
    with EmbeddedBroker() as broker:
        assert broker.metrics_address is None
    with EmbeddedBroker({"metrics.listener": "127.0.0.1:0"}) as broker:
        host, port = broker.metrics_address.split(":")
        with socket.create_connection((host, int(port)), SECONDS_MAX) as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")


def test_a_port_that_is_taken_is_an_error_of_the_caller():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        broker = EmbeddedBroker()
        broker._listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(Exception, match=r"cannot listen|in use"):
            broker.start()
    with broker:  # and nothing of the failed start is in the way of the next
        produce(broker, "t", b"x")


def test_misuse_is_explained():
    broker = EmbeddedBroker()
    with pytest.raises(RuntimeError, match="not running"):
        _ = broker.bootstrap_servers
    with broker, pytest.raises(RuntimeError, match="running already"):
        broker.start()
    broker.close()  # twice does no harm


def test_in_the_event_loop_of_the_test():
    async def main():
        async with EmbeddedBroker() as broker, ClusterClient(broker.bootstrap_servers) as client:
            new = set(threading.enumerate()) - threads
            assert "distributedlog-broker" not in {thread.name for thread in new}
            assert await client.all_topics() == []
            return broker.directory

    threads = set(threading.enumerate())
    assert not os.path.exists(asyncio.run(main()))
    assert set(threading.enumerate()) == threads


def test_a_start_in_the_loop_that_fails_leaves_nothing():
    async def main():
        broker = EmbeddedBroker()
        broker._listen = "256.0.0.1:1"
        with pytest.raises(Exception, match=r"256\.0\.0\.1"):
            await broker.__aenter__()
        assert broker._temporary is None

    asyncio.run(main())
