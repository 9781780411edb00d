"""Committed data over the borders of many small segments: after rolls, kills, deletions and compaction.

What a reader of committed data gets is always computed from what the producers were told.
"""

import itertools
from collections import Counter
from random import Random

import pytest
from tests.broker_fire.asking import create_topic, records_of
from tests.clients.transactional import TRANSACTIONAL
from tests.server.processes import Client, dlog_start, eventually
from tests.transactions_fire.administration import committed_records, latest
from tests.transactions_fire.raw_producer import V1, V2, RawProducer, find_coordinator, patiently

from distributedlog.wire.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)

DELETE_RECORDS = 21
SMALL = {"segment.bytes": "1500", "index.interval.bytes": "300"}
SETTINGS = {
    "log.flush": "os",
    "transaction.state.log.num.partitions": 1,
    "offsets.topic.num.partitions": 1,
    "log.cleaner.backoff.ms": 50,
}
TURNS = 150
KEYS = 12


def started(path):
    words = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    return dlog_start("--listen", "127.0.0.1:0", *words, cwd=path)


class Ledger:
    """Producers who write into one partition in turns; ``committed`` has key and value by offset."""

    def __init__(self, client, topic, seed=1):
        self.client, self.topic = client, topic
        self.chance = Random(seed)
        self.committed = {}
        self.start = 0
        self.numbers = itertools.count()
        self.producers = [
            RawProducer(client, f"{topic}-{number}", generation)
            for number, generation in enumerate((V2, V2, V1))
        ]
        self.open = {}
        for producer in self.producers:
            find_coordinator(client, producer.transactional_id)
            assert patiently(producer.init) == 0

    def write(self, producer):
        """A record in its open transaction, which begins with the first."""
        if producer.transactional_id not in self.open:
            self.open[producer.transactional_id] = {}
            if not producer.generation.is_v2:
                assert patiently(lambda: max(producer.add((self.topic, 0)).values())) == 0
        number = next(self.numbers)
        key, value = b"key-%d" % self.chance.randrange(KEYS), b"value-%d" % number
        code, offset = patiently(lambda: producer.produce(self.topic, 0, value, key=key))
        assert code == 0
        self.open[producer.transactional_id][offset] = key, value

    def end(self, producer, *, committed):
        assert patiently(lambda: producer.end(committed=committed)) == 0
        records = self.open.pop(producer.transactional_id)
        if committed:
            self.committed |= records

    def run(self, turns=TURNS):
        """The last producer stays in the transaction that it has."""
        for _ in range(turns):
            producer = self.chance.choice(self.producers)
            self.write(producer)
            if producer is not self.producers[-1] and self.chance.random() < 0.3:
                self.end(producer, committed=self.chance.random() < 0.6)

    def end_all(self, *, committed=True):
        for producer in self.producers:
            if producer.transactional_id in self.open:
                self.end(producer, committed=committed)

    @property
    def stable(self):
        """Where the first open transaction begins."""
        return min(itertools.chain.from_iterable(self.open.values()), default=None)

    def check(self):
        """A reader of committed data gets what was committed before the first open transaction."""
        found, stable, end = committed_records(self.client, self.topic, 0, self.start)
        assert stable == (end if self.stable is None else self.stable)
        assert latest(self.client, self.topic, 0, is_read_committed=True) == stable
        expected = [
            (offset, value) for offset, (_, value) in sorted(self.committed.items()) if offset < stable
        ]
        assert found == expected
        return found


@pytest.fixture
def data(tmp_path):
    return tmp_path / "dlog-data"


def files(data, topic, suffix):
    return sorted((data / f"{topic}-0").glob(f"*{suffix}"))


@pytest.mark.parametrize("what_is_lost", ["nothing", "snapshots and offset indexes"])
def test_over_segments_kills_and_deletions(tmp_path, data, what_is_lost):
    topic = "ledger"
    with started(tmp_path) as process:
        port = process.wait_ready().port
        with Client(port) as client:
            create_topic(client, topic, configs=SMALL)
            ledger = Ledger(client, topic)
            ledger.run()
            ledger.check()
            ledger.end(ledger.producers[-1], committed=True)
            assert len(ledger.check()) > 20
            ledger.run()
            assert len(files(data, topic, ".log")) > 10
            assert sum(path.stat().st_size > 0 for path in files(data, topic, ".txnindex")) > 3
            ledger.check()
        process.popen.kill()
        process.popen.wait()
    if what_is_lost != "nothing":
        for suffix in (".snapshot", ".index", ".timeindex"):
            for path in files(data, topic, suffix):
                path.unlink()
        for path in files(data, topic, ".txnindex"):
            path.write_bytes(path.read_bytes()[:-3])
    with started(tmp_path) as process:
        port = process.wait_ready().port
        with Client(port) as client:
            go_on_with(ledger, client)
            ledger.check()
            ledger.run(20)
            delete_before(client, ledger, ledger.stable // 2)
            ledger.check()
            ledger.end_all(committed=what_is_lost == "nothing")
            found = ledger.check()
            for reader in TRANSACTIONAL.values():
                values = reader.read_committed(f"127.0.0.1:{port}", topic, offset=found[0][0])
                assert values == [value for _, value in found]


def go_on_with(ledger, client):
    """The broker was killed, its producers were not."""
    ledger.client = client
    for producer in ledger.producers:
        producer.client = client
        find_coordinator(client, producer.transactional_id)


def delete_before(client, ledger, offset):
    topics = [DeleteRecordsTopic(ledger.topic, [DeleteRecordsPartition(0, offset)])]
    [answer] = (
        client.ask(DELETE_RECORDS, 2, DeleteRecordsRequest(topics, timeout_ms=30_000)).topics[0].partitions
    )
    assert (answer.error_code, answer.low_watermark) == (0, offset)
    ledger.start = offset
    ledger.committed = {place: record for place, record in ledger.committed.items() if place >= offset}


def test_over_compaction(tmp_path, data):
    """Of each key the last committed record stays; what was aborted never comes up, and nothing is stable
    that is open."""
    topic = "compacted"
    configs = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
    configs |= {"delete.retention.ms": "0"}
    with started(tmp_path) as process:
        with Client(process.wait_ready().port) as client:
            create_topic(client, topic, configs=configs)
            ledger = Ledger(client, topic)
            ledger.run()
            ledger.end(ledger.producers[-1], committed=False)
            ledger.run(60)
            written = len(ledger.committed)
            # Whole segments are compacted: those before the newest that end before what is open.
            borders = [int(path.stem) for path in files(data, topic, ".log")]
            horizon = max(border for border in borders if border <= ledger.stable)
            eventually(lambda: is_compacted(client, ledger, horizon))
            check_compacted(client, ledger)
            assert len(committed_records(client, topic, 0)[0]) < written // 2
        process.popen.kill()
        process.popen.wait()
    with started(tmp_path) as process, Client(process.wait_ready().port) as client:
        go_on_with(ledger, client)
        check_compacted(client, ledger)
        ledger.end_all()
        check_compacted(client, ledger)


def is_compacted(client, ledger, horizon):
    """Below the horizon no key is there twice among what was committed."""
    found = [offset for offset, _ in committed_records(client, ledger.topic, 0)[0] if offset < horizon]
    keys = Counter(ledger.committed[offset][0] for offset in found)
    return max(keys.values(), default=0) <= 1


def check_compacted(client, ledger):
    found, stable, _ = committed_records(client, ledger.topic, 0)
    for offset, value in found:
        assert ledger.committed[offset][1] == value
    last = {key: value for offset, (key, value) in sorted(ledger.committed.items()) if offset < stable}
    seen = {ledger.committed[offset][0]: value for offset, value in found}
    assert seen == last
    everything = {value for _, value in records_of(client, ledger.topic, 0)}
    open_values = {value for records in ledger.open.values() for _, value in records.values()}
    assert open_values <= everything
