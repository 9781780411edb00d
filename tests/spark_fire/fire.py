"""A long run of one exactly-once query in which things are killed, at moments that a seed chooses.

The moments are places in the sink's protocol, which a proxy between the query and the broker sees go by: so
before, during and after the commit are met as often as the schedule says, and not as often as luck has it.
"""

import contextlib
import os
import queue
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.checkers.events import Assign, Begin, Commit, Committed, Poll, Send

from distributedlog.client.producer.partitioners import by_murmur2
from fault_proxy import Fault, FaultProxy

QUERY = Path(__file__).with_name("query.py")
DEADLINE_SECONDS = 120
PARTITIONS = 3
ROWS_PER_BATCH = 60

METADATA, PRODUCE, INIT_PRODUCER_ID, ADD_PARTITIONS = 3, 0, 22, 24
ADD_OFFSETS, END_TRANSACTION, TXN_OFFSET_COMMIT, OFFSET_FETCH = 25, 26, 28, 9

VICTIMS = ("driver", "worker", "broker", "zombie", "worker", "broker")


@dataclass(frozen=True)
class Moment:
    """When a request of this API comes by; then it or its answer is lost, or neither, some time later."""

    name: str
    api_key: int
    fault: Fault | None
    delay_seconds: float = 0.0


MOMENTS = (
    Moment("a task asks for partitions", METADATA, None),
    Moment("before the transaction", ADD_PARTITIONS, Fault.LOSE_REQUEST),
    Moment("while data is written", PRODUCE, Fault.LOSE_REQUEST),
    Moment("when data was written", PRODUCE, Fault.LOSE_RESPONSE),
    Moment("before the record", ADD_OFFSETS, Fault.LOSE_RESPONSE),
    Moment("when the record was written", TXN_OFFSET_COMMIT, Fault.LOSE_RESPONSE),
    Moment("before the commit", END_TRANSACTION, Fault.LOSE_REQUEST),
    Moment("when the commit was done and not answered", END_TRANSACTION, Fault.LOSE_RESPONSE),
    Moment("about when the commit was answered", END_TRANSACTION, None, 0.005),
    Moment("after the commit", END_TRANSACTION, None, 0.05),
)


def schedule(seed, kills):
    """Pairs of moment and victim: every victim in turn, the moments shuffled and each equally often."""
    chance = random.Random(seed)
    moments = []
    while len(moments) < kills:
        moments += chance.sample(MOMENTS, len(MOMENTS))
    return [(moments[number], VICTIMS[number % len(VICTIMS)]) for number in range(kills)]


class WatchingProxy(FaultProxy):
    """Strikes once, when the request that it waits for comes by."""

    def __init__(self):
        super().__init__()
        self._plan = None
        self.has_struck = threading.Event()

    def strike_at(self, moment, strike):
        self.has_struck.clear()
        self._plan = moment, strike

    def choose(self, api_key):
        if self._plan is None or api_key != self._plan[0].api_key:
            return None
        (moment, strike), self._plan = self._plan, None
        if moment.delay_seconds:
            self._loop.call_later(moment.delay_seconds, self._strike, strike)
        elif moment.fault is Fault.LOSE_RESPONSE:
            self._loop.call_later(0.02, self._strike, strike)  # the request has to arrive
        else:
            self._strike(strike)
        return moment.fault

    def _strike(self, strike):
        strike()
        self.has_struck.set()


class Driver:
    """The query's process group: Python, Java and Python workers."""

    def __init__(self, bootstrap, checkpoint, topic, log):
        self._log = open(log, "ab")  # noqa: SIM115  (as long as the process)
        self.lines = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, QUERY, bootstrap, checkpoint, topic, str(ROWS_PER_BATCH)],
            stdout=subprocess.PIPE,
            stderr=self._log,
            start_new_session=True,
            text=True,
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._log.write(line.encode())
            self._log.flush()
            self.lines.put(line)

    @property
    def has_ended(self):
        return self._process.poll() is not None

    def signal(self, number):
        """To Python, Java, and the workers, which are in groups of their own."""
        for process in [self._process.pid, *descendants(self._process.pid)]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, number)

    def kill_workers(self):
        """All Python processes that Spark has forked for tasks and commits."""
        for process in descendants(self._process.pid):
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{process}/cmdline").read_bytes()
                parent = _parent(process)
                if b"pyspark.daemon" in command and b"pyspark.daemon" in _command(parent):
                    os.kill(process, signal.SIGKILL)

    def close(self):
        self.signal(signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()
        self._log.close()


def descendants(process):
    """All children of a process, and theirs, the ones first that were found first."""
    children = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(_parent(int(entry.name)), []).append(int(entry.name))
    found, at = [process], 0
    while at < len(found):
        found += children.get(found[at], [])
        at += 1
    return found[1:]


def _parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def _command(process):
    return Path(f"/proc/{process}/cmdline").read_bytes()


class Fire:
    """`broker` has ``start`` and ``kill``, and tells its ``port``; it must advertise the proxy's port."""

    def __init__(self, broker, proxy, directory, topic):
        self.broker = broker
        self.proxy = proxy
        self.bootstrap = f"127.0.0.1:{proxy.port}"
        self.checkpoint = directory / "checkpoint"
        self.log = directory / "driver.log"
        self.topic = topic
        self.driver = None
        self.done = []

    def run(self, seed, kills):
        self.start_driver()
        for moment, victim in schedule(seed, kills):
            self.await_batches(2)
            self._strike(moment, victim)
            self.done.append(f"{victim}: {moment.name}")
        self.await_batches(2)
        self.driver.close()

    def close(self):
        if self.driver is not None:
            self.driver.close()

    def start_driver(self):
        self.driver = Driver(self.bootstrap, str(self.checkpoint), self.topic, self.log)

    def _strike(self, moment, victim):
        driver = self.driver
        strikes = {
            "driver": lambda: driver.signal(signal.SIGKILL),
            "worker": driver.kill_workers,
            "broker": self.broker.kill,
            "zombie": lambda: driver.signal(signal.SIGSTOP),
        }
        self.proxy.strike_at(moment, strikes[victim])
        assert self.proxy.has_struck.wait(DEADLINE_SECONDS), f"{moment.name} did not come\n{self.tail()}"
        if victim == "driver":
            driver.close()
            self.start_driver()
        elif victim == "broker":
            self.broker.start()
            self.proxy.target_port = self.broker.port
        elif victim == "zombie":
            self.start_driver()
            self.await_batches(1)
            driver.signal(signal.SIGCONT)  # it believes that no time has passed
            self.await_batches(3, or_one_has_ended=driver)
            driver.close()
            if self.driver.has_ended:  # Spark and the sink stop one of the two, whichever comes second
                self.driver.close()
                self.start_driver()

    def finished(self):
        """The last batch that Spark holds for finished."""
        commits = self.checkpoint / "commits"
        if not commits.is_dir():
            return -1
        return max((int(entry.name) for entry in commits.iterdir() if entry.name.isdigit()), default=-1)

    def await_batches(self, more, or_one_has_ended=None):
        """Wait until so many more batches are finished, or one of two drivers has given up."""
        wanted, deadline = self.finished() + more, time.monotonic() + DEADLINE_SECONDS
        while self.finished() < wanted:
            assert time.monotonic() < deadline, f"no batch was finished in time\n{self.tail()}"
            if or_one_has_ended is not None and (or_one_has_ended.has_ended or self.driver.has_ended):
                return
            threading.Event().wait(0.02)

    def tail(self):
        return self.log.read_text(errors="replace")[-6000:] if self.log.exists() else ""

    def history(self):
        """What was to be written, and what a reader of committed data gets after it all."""
        finished = self.finished()
        query_id = _query_id(self.checkpoint)
        self._end_transactions(f"distributedlog-spark-{query_id}")
        events, now = [], 0
        for batch in range(finished + 2):  # the batch after the last may have been committed or not
            name = f"batch-{batch}"
            events.append(Begin(now, "query", name, "query"))
            for number in range(batch * ROWS_PER_BATCH, (batch + 1) * ROWS_PER_BATCH):
                key = str(number)
                partition = f"{self.topic}-{by_murmur2('', key.encode(), PARTITIONS)}"
                events.append(Send(now + 1, "query", partition, key, name))
            events.append(Commit(now + 2, "query", name))
            if batch <= finished:
                events.append(Committed(now + 3, "query", name))
            now += 4
        return [*events, *self._readings(now)]

    def _end_transactions(self, transactional_id):
        """What the last driver has left open is aborted, so that readers get to the end."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.bootstrap, "transactional.id": transactional_id})
        producer.init_transactions(60)

    def _readings(self, now):
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        consumer = Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": "reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
            }
        )
        consumer.assign([TopicPartition(self.topic, index, OFFSET_BEGINNING) for index in range(PARTITIONS)])
        yield Assign(now, "reader", {f"{self.topic}-{index}": 0 for index in range(PARTITIONS)})
        ended, deadline = set(), time.monotonic() + DEADLINE_SECONDS
        while len(ended) < PARTITIONS:
            assert time.monotonic() < deadline, "the topic could not be read to its end"
            records = {}
            for message in consumer.consume(10_000, timeout=1):
                place = f"{self.topic}-{message.partition()}"
                if message.error() is None:
                    records.setdefault(place, []).append((message.offset(), message.value().decode()))
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(place)
            if records:
                now += 1
                yield Poll(now, "reader", now, records)
        consumer.close()


def _query_id(checkpoint):
    import json

    return json.loads((checkpoint / "metadata").read_text())["id"]


@contextlib.contextmanager
def burning(broker_on, topic="numbers"):
    """A `Fire` with everything it needs; `broker_on` makes a started broker that advertises a port."""
    with tempfile.TemporaryDirectory(prefix="spark-fire-") as name, WatchingProxy() as proxy:
        directory = Path(name)
        broker = broker_on(directory, proxy.port)
        try:
            broker.start()
            proxy.target_port = broker.port
            fire = Fire(broker, proxy, directory, topic)
            try:
                yield fire
            finally:
                fire.close()
        finally:
            broker.kill()
