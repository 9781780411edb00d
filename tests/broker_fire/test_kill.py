"""The broker is killed with SIGKILL under load, again and again on one directory: while it recovers, while it
answers, and when it has records whose producer does not know it.

What it acknowledged is there once, at the offset that it told; the consumer that was running goes on without
a rebalance and misses nothing; commits that were acknowledged are where the group begins again.

DLOG_SEED sets when it is killed.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from random import Random

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from tests.broker_fire.asking import committed, create_topic, end_offset, records_of
from tests.server.processes import Client, dlog_start

from fault_proxy import DEADLINE_SECONDS, PRODUCE, FaultProxy
from readiness import is_readable

SEED = int(os.environ.get("DLOG_SEED", "1"))
KILLS = 20
PARTITIONS = 3
TOPIC, GROUP = "orders", "readers"
#: So many records are on their way at once.
WAITING_MAX = 500
QUICK_RECONNECT = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "log_level": 0}


class Load:
    """A producer and a consumer at work, with what they were told."""

    def __init__(self, port):
        bootstrap = {"bootstrap.servers": f"127.0.0.1:{port}", **QUICK_RECONNECT}
        self.producer = Producer(
            {
                **bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 0,
                "batch.size": 4000,
                "retry.backoff.ms": 10,
                "retry.backoff.max.ms": 50,
            }
        )
        self.settings_of_group = {
            **bootstrap,
            "group.id": GROUP,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
            "fetch.wait.max.ms": 50,
            "retry.backoff.ms": 10,
            "retry.backoff.max.ms": 50,
        }
        self.consumer = Consumer({**self.settings_of_group, "on_commit": self._on_commit})
        self.consumer.subscribe([TOPIC], on_assign=self._on_assign)
        self.next_number = 0
        self.told = {}  # number: (partition, offset)
        self.consumed = {partition: [] for partition in range(PARTITIONS)}  # (offset, value)
        self.committed = {}  # partition: the largest offset of which a commit was acknowledged
        self.is_committing = False
        self.assignments = []

    def _on_assign(self, _, partitions):
        self.assignments.append(partitions)

    def _on_commit(self, error, partitions):
        self.is_committing = False
        for each in partitions:
            if error is None and each.error is None and each.offset >= 0:
                self.committed[each.partition] = max(self.committed.get(each.partition, 0), each.offset)

    def _on_delivery(self, number):
        def delivered(error, message):
            assert error is None, (number, error)
            assert number not in self.told
            self.told[number] = (message.partition(), message.offset())

        return delivered

    def turn(self):
        """Send and receive some."""
        for _ in range(min(WAITING_MAX - (self.next_number - len(self.told)), 50)):
            number = self.next_number
            partition = number % PARTITIONS
            self.producer.produce(
                TOPIC, b"%d" % number, partition=partition, on_delivery=self._on_delivery(number)
            )
            self.next_number += 1
        self.producer.poll(0)
        self.receive()

    def receive(self):
        for message in self.consumer.consume(500, 0.01):
            error = message.error()
            assert error is None or error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN, error
            if error is None:
                self.consumed[message.partition()].append((message.offset(), message.value()))
        # One at a time: librdkafka sends a commit that met a dead broker again, even after a later one.
        # Without assignment or with nothing new there is nothing to commit.
        if not self.is_committing:
            with contextlib.suppress(KafkaException):
                self.consumer.commit(asynchronous=True)
                self.is_committing = True

    def until(self, condition):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, "it did not come true in time"
            self.turn()


def ends_of(client):
    return [end_offset(client, TOPIC, partition) for partition in range(PARTITIONS)]


def check_what_survived(client, load):
    """What was promised before the kill, asked for after it."""
    ends = ends_of(client)
    for partition, offset in load.told.values():
        assert offset < ends[partition]
    for partition, offset in load.committed.items():
        assert committed(client, GROUP, TOPIC, partition) >= offset


def start_load(client, port):
    create_topic(client, TOPIC, PARTITIONS)
    load = Load(port)
    load.until(lambda: all(load.consumed.values()))
    return load


def send_more(load, count):
    wanted = len(load.told) + count
    load.until(lambda: len(load.told) >= wanted)


def send_what_is_not_answered(load, proxy):
    """Let the broker have records of which the producer does not know that: it will send them again."""
    before = proxy.withheld[PRODUCE]
    proxy.silent_from = PRODUCE
    load.until(lambda: proxy.withheld[PRODUCE] > before)
    proxy.silent_from = None


def verify(path):
    return subprocess.run(
        [sys.executable, "-m", "distributedlog.cli.main", "log", "verify", path],
        capture_output=True,
        text=True,
    )


def test_what_was_acknowledged_survives_twenty_kills(tmp_path):
    random = Random(SEED)
    load = None
    with FaultProxy() as proxy:
        arguments = [
            *("--listen", "127.0.0.1:0", "--set", f"advertised.listeners=127.0.0.1:{proxy.port}"),
            *("--set", "group.initial.rebalance.delay.ms=0", "--set", "offsets.topic.num.partitions=4"),
        ]
        for kill in range(KILLS):
            with dlog_start(*arguments, cwd=tmp_path) as process:
                if kill % 6 == 5:
                    # Somewhere in the recovery, or shortly before or after it.
                    is_readable(process.popen.stdout, random.uniform(0.1, 0.3))
                else:
                    proxy.target_port = process.wait_ready().port
                    with Client(process.port) as client:
                        load = load or start_load(client, proxy.port)
                        check_what_survived(client, load)
                        send_more(load, random.choice((1, 50, 300, 1000)))
                        if kill % 3 == 1:
                            send_what_is_not_answered(load, proxy)
                process.popen.kill()
                assert process.popen.wait() == -signal.SIGKILL
        with dlog_start(*arguments, cwd=tmp_path) as process:
            proxy.target_port = process.wait_ready().port
            with Client(process.port) as client:
                check_what_survived(client, load)
                assert load.producer.flush(DEADLINE_SECONDS) == 0
                check_records(client, load)
                check_consumer(client, load)
            process.popen.send_signal(signal.SIGTERM)
            code, _, stderr = process.end()
            assert code == 0, stderr
            assert "Traceback" not in stderr
    done = verify(tmp_path / "dlog-data")
    assert done.returncode == 0, done.stdout


def check_records(client, load):
    """Every record is there once, in order, at the offset that was told; and nothing else is."""
    assert len(load.told) == load.next_number
    for partition in range(PARTITIONS):
        numbers = range(partition, load.next_number, PARTITIONS)
        found = records_of(client, TOPIC, partition)
        assert [int(value) for _, value in found] == list(numbers)
        assert [(partition, offset) for offset, _ in found] == [load.told[number] for number in numbers]


def check_consumer(client, load):
    ends = ends_of(client)
    deadline = time.monotonic() + DEADLINE_SECONDS
    while [len(load.consumed[partition]) for partition in range(PARTITIONS)] < ends:
        assert time.monotonic() < deadline, "the consumer did not come to the end"
        load.receive()
    for partition in range(PARTITIONS):
        assert load.consumed[partition] == records_of(client, TOPIC, partition)
    assert len(load.assignments) == 1, "there was a rebalance"

    # Who comes next begins where the group's commits are.
    load.consumer.commit(
        offsets=[TopicPartition(TOPIC, partition, ends[partition] // 2) for partition in range(PARTITIONS)],
        asynchronous=False,
    )
    load.consumer.close()
    successor = Consumer(load.settings_of_group)
    successor.subscribe([TOPIC])
    first = {}
    while len(first) < PARTITIONS:
        assert time.monotonic() < deadline, "the successor did not get all partitions"
        for message in successor.consume(500, 0.1):
            assert message.error() is None
            first.setdefault(message.partition(), message.offset())
    successor.close()
    assert first == {partition: ends[partition] // 2 for partition in range(PARTITIONS)}
