"""A broker that can be killed, processes that write to it, and one reader who writes down what he sees.

    with Fire(tmp_path) as fire:
        fire.create_topic("bank", 3)
        worker = fire.work("transfer", "ours", "alice")
        fire.until_committed(20)
        fire.kill_broker()
        ...
        fire.stop_workers()
        fire.read_to_the_end("bank")
        fire.check()

All clients go through a `FaultProxy`, whose address stays when the broker's changes. What goes wrong by
chance follows from DLOG_SEED.
"""

import itertools
import os
import signal
import subprocess
import sys
import time

from confluent_kafka import Consumer, KafkaError, TopicPartition
from tests.broker_fire.asking import create_topic
from tests.checkers.check import check, report
from tests.checkers.events import Assign, Poll, Send, Sent, StableOffsets
from tests.checkers.jsonlines import Recorder, load, now
from tests.server.processes import Client, dlog_start
from tests.transactions_fire.administration import latest
from tests.transactions_fire.faces import QUICK
from tests.transactions_fire.worker import FENCED

from fault_proxy import DEADLINE_SECONDS, FaultProxy

SEED = int(os.environ.get("DLOG_SEED", "1"))
#: How many times the usual work is done; `make test` does the usual.
LENGTH = int(os.environ.get("DLOG_FIRE_LENGTH", "1"))
SETTINGS = {
    "group.initial.rebalance.delay.ms": 0,
    "group.min.session.timeout.ms": 100,
    "offsets.topic.num.partitions": 2,
    "transaction.state.log.num.partitions": 2,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 100,
}
#: How workers may be: at work, told to end, fenced, killed.
ENDED = (None, 0, FENCED, -signal.SIGKILL)
_EOF = KafkaError._PARTITION_EOF


class Fire:
    """Everything of one run; see the module."""

    def __init__(self, path, *, settings=(), **faults):
        self.path = path
        self.proxy = FaultProxy(seed=SEED, **faults)
        self.settings = {**SETTINGS, **dict(settings)}
        self.workers = []
        self.histories = []
        self.partitions = []
        self.recorder = Recorder("reader")
        self.plain = Recorder("plain")
        self._names = itertools.count()
        self._reader = None

    def __enter__(self):
        self.proxy.__enter__()
        self.start_broker()
        return self

    def __exit__(self, *_):
        for worker in self.workers:
            if worker.poll() is None:
                worker.send_signal(signal.SIGCONT)
                worker.kill()
            worker.wait()
        if self._reader is not None:
            self._reader.close()
        self._broker.__exit__(None, None, None)
        self.proxy.__exit__()

    # the broker

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.proxy.port}"

    def start_broker(self):
        settings = {**self.settings, "advertised.listeners": self.bootstrap}
        words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
        self._broker = dlog_start("--listen", "127.0.0.1:0", *words, cwd=self.path)
        self.broker = self._broker.__enter__().wait_ready()
        self.proxy.target_port = self.broker.port

    def kill_broker(self):
        self.broker.popen.kill()
        assert self.broker.popen.wait() == -signal.SIGKILL
        self._broker.__exit__(None, None, None)

    def client(self):
        """Raw requests, not through the proxy."""
        return Client(self.broker.port)

    def create_topic(self, topic, partitions):
        with self.client() as client:
            create_topic(client, topic, partitions)
        self.partitions += [(topic, index) for index in range(partitions)]

    # who writes

    def work(self, role, library, transactional_id, *, is_replaced=False):
        """A process that writes; one that is replaced has a successor when it finds itself fenced."""
        path = self.path / f"history-{next(self._names)}.jsonl"
        path.touch()
        self.histories.append(path)
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.transactions_fire.worker", role, self.bootstrap, library,
             transactional_id, f"{SEED + len(self.histories)}", path]
        )  # fmt: skip
        worker.history, worker.is_replaced = path, is_replaced
        self.workers.append(worker)
        return worker

    def _replace_fenced(self):
        for place, worker in enumerate(self.workers):
            if worker.is_replaced and worker.poll() == FENCED:
                successor = self.workers[place] = subprocess.Popen(worker.args)
                successor.history, successor.is_replaced = worker.history, True

    def stop_workers(self):
        """Let each finish its transaction; those that are fenced have ended by themselves."""
        running = [worker for worker in self.workers if worker.poll() is None]
        for worker in self.workers:
            worker.is_replaced = False
        for worker in running:
            worker.terminate()
        for worker in running:
            self.until(lambda worker=worker: worker.poll() is not None)
            assert worker.returncode in (0, FENCED), worker.returncode

    def fill(self, topic, partition, values):
        """Plain records, written one request after the other."""
        from distributedlog.client.producer.producer import Producer

        place = f"{topic}-{partition}"
        with Producer(self.bootstrap, linger_ms=0) as producer:
            for value in values:
                self.plain.record(Send, place, value)
                metadata = producer.send(topic, value.encode(), partition=partition).result(DEADLINE_SECONDS)
                self.plain.record(Sent, place, value, metadata.offset)

    def counts(self, topic):
        """How many plain records were written to each partition."""
        sent = [event.partition for event in self.plain.events if isinstance(event, Sent)]
        return [sent.count(f"{name}-{index}") for name, index in self.partitions if name == topic]

    # what happens

    def committed(self, *workers):
        """How many commits were acknowledged to these workers, or to all."""
        paths = [worker.history for worker in workers] or self.histories
        return sum(path.read_bytes().count(b'"Committed"') for path in paths)

    def until_committed(self, count, *workers):
        """Wait for so many more commits."""
        wanted = self.committed(*workers) + count
        self.until(lambda: self.committed(*workers) >= wanted)

    def until(self, condition):
        """Read meanwhile."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            assert time.monotonic() < deadline, f"it did not come true; waiting: {self.proxy.unanswered()}"
            assert all(worker.poll() in ENDED for worker in self.workers), "a worker failed"
            self._replace_fenced()
            self.read()

    # who reads

    def _new_reader(self, process, starts):
        settings = {"bootstrap.servers": self.bootstrap, "group.id": "nobody", "enable.auto.commit": False}
        settings |= {"isolation.level": "read_committed", "enable.partition.eof": True}
        reader = Consumer({**settings, "auto.offset.reset": "error", "fetch.wait.max.ms": 20, **QUICK})
        reader.assign([TopicPartition(*place, offset) for place, offset in starts.items()])
        positions = {f"{topic}-{index}": offset for (topic, index), offset in starts.items()}
        self.recorder.process = process
        self.recorder.record(Assign, positions)
        return reader

    def read(self):
        """One poll of the reader who is there from the beginning."""
        if self._reader is None:
            self._reader = self._new_reader("reader", dict.fromkeys(self.partitions, 0))
        return self._poll(self._reader, "reader", 0.05)

    def _poll(self, reader, process, seconds):
        """The ends of partitions that were reached."""
        since, ends, records = now(), {}, {}
        for message in reader.consume(500, seconds):
            error = message.error()
            if error is None:
                found = records.setdefault(f"{message.topic()}-{message.partition()}", [])
                found.append((message.offset(), message.value().decode()))
            elif error.code() == _EOF:
                ends[message.topic(), message.partition()] = message.offset()
            else:
                assert error.retriable() or error.code() == KafkaError._ALL_BROKERS_DOWN, error
        if records:
            self.recorder.process = process
            self.recorder.record(Poll, since, records)
        return ends

    def read_to_the_end(self):
        """No transaction is open any more: the reader comes to the end, and another one reads it all."""
        with self.client() as client:
            self.until(lambda: all(self._is_stable(client, *place) for place in self.partitions))
            ends = {place: latest(client, *place) for place in self.partitions}
        self.recorder.process = "reader"
        since = now()
        self.recorder.record(
            StableOffsets, since, {f"{topic}-{index}": end for (topic, index), end in ends.items()}
        )
        second = self._new_reader("second reader", dict.fromkeys(self.partitions, 0))
        for reader, process in ((self._reader, "reader"), (second, "second reader")):
            missing = dict(ends)
            deadline = time.monotonic() + DEADLINE_SECONDS
            if process == "reader":  # it is told of each end only once
                reader.assign(reader.position([TopicPartition(*place) for place in ends]))
            while missing:
                assert time.monotonic() < deadline, f"the end of {list(missing)} was not reached"
                for place, end in self._poll(reader, process, 0.05).items():
                    if end >= missing.get(place, end):
                        missing.pop(place, None)
        second.close()

    def _is_stable(self, client, topic, partition):
        return latest(client, topic, partition, is_read_committed=True) == latest(client, topic, partition)

    # what it was

    def history(self):
        events = [*load(*self.histories), *self.recorder.events, *self.plain.events]
        return sorted(events, key=lambda event: event.time)

    def findings(self):
        return check(self.history())

    def check(self):
        """Nothing is wrong with what was written down."""
        findings = self.findings()
        assert not findings, f"DLOG_SEED={SEED}, {self.path}:\n{report(findings)}"

    def visible(self, topic):
        """All values of a topic that the second reader saw, in the order of each partition."""
        return [
            value
            for event in self.recorder.events
            if isinstance(event, Poll) and event.process == "second reader"
            for place, records in event.records.items()
            if place.rpartition("-")[0] == topic
            for _, value in records
        ]
