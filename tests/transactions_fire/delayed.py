"""A producer of raw requests behind a proxy that keeps some of them back, and the history of what it did.

A request that is kept back costs the producer its connection, and it asks again by another one, as clients
do; the first copy arrives whenever the test lets it (KAFKA-17754).
"""

import contextlib

from tests.checkers.check import check
from tests.checkers.events import Abort, Aborted, Assign, Begin, Commit, Committed, NotSent, Poll, Send, Sent
from tests.checkers.jsonlines import Recorder, now
from tests.server.processes import Client
from tests.transactions_fire.administration import committed_records
from tests.transactions_fire.raw_producer import RawProducer, find_coordinator, patiently

from distributedlog.wire import ErrorCode


class ConnectionCut(Exception):
    """And what became of the request is not known."""


class StubbornClient:
    """Asks again by another connection when it lost the first one."""

    def __init__(self, port):
        self._port = port
        self._client = Client(port)

    def ask(self, api_key, version, message, *, is_stubborn=True):
        try:
            return self._client.ask(api_key, version, message)
        except (AssertionError, OSError):
            self.close()
            self._client = Client(self._port)
            if not is_stubborn:
                raise ConnectionCut from None
            return self._client.ask(api_key, version, message)

    def close(self):
        self._client.__exit__()


class Teller:
    """One transactional producer, and one reader, who write down what they do."""

    def __init__(self, proxy, topic, generation, timeout_ms=60_000):
        self.proxy = proxy
        self.topic = topic
        self.recorder = Recorder("teller")
        self.client = StubbornClient(proxy.port)
        self.producer = RawProducer(self.client, topic, generation, timeout_ms)
        find_coordinator(self.client, topic)
        assert patiently(self.producer.init) == 0
        self.transaction = None
        self._number = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def begin(self):
        self._number += 1
        self.transaction = f"{self.topic}/{self._number}"
        self.recorder.record(Begin, self.transaction, self.topic)

    def add(self, *partitions):
        """AddPartitionsToTxn, where the generation has to; the first error."""
        if self.producer.generation.is_v2:
            return "NONE"
        places = [(self.topic, partition) for partition in partitions]
        return _worst(patiently(lambda: max(self.producer.add(*places).values())))

    def send(self, value, partition=0):
        place = f"{self.topic}-{partition}"
        self.recorder.record(Send, place, value, self.transaction)
        code, offset = patiently(lambda: self.producer.produce(self.topic, partition, value.encode()))
        if code:
            self.recorder.record(NotSent, place, value)
        else:
            self.recorder.record(Sent, place, value, offset)
        return _worst(code)

    def send_and_give_up(self, value, partition=0):
        """The connection is cut, and the record is never sent again."""
        self.recorder.record(Send, f"{self.topic}-{partition}", value, self.transaction)
        stubborn, self.producer.client = self.client, _Once(self.client)
        with contextlib.suppress(ConnectionCut):
            self.producer.produce(self.topic, partition, value.encode())
        self.producer.client = stubborn

    def commit(self):
        return self._end(Commit, Committed, committed=True)

    def abort(self):
        return self._end(Abort, Aborted, committed=False)

    def _end(self, asked, answered, *, committed):
        self.recorder.record(asked, self.transaction)
        code = patiently(lambda: self.producer.end(committed=committed))
        if not code:
            self.recorder.record(answered, self.transaction)
        return _worst(code)

    def hold(self, api_key):
        """The next request of this API is kept back: call what is returned to let it arrive."""
        self.proxy.to_hold[api_key] += 1
        place = len(self.proxy.held)
        return lambda: self.proxy.release(self.proxy.held[place])

    def read(self, partitions=1):
        """What a reader of committed data gets, by partition, and whether anything is open."""
        since, found, is_stable = now(), {}, True
        for partition in range(partitions):
            records, stable, end = committed_records(self.client, self.topic, partition)
            found[f"{self.topic}-{partition}"] = [(offset, value.decode()) for offset, value in records]
            is_stable = is_stable and stable == end
        self.recorder.record(Assign, dict.fromkeys(found, 0), time=since)
        self.recorder.record(Poll, since, found)
        return ["".join(value for _, value in records) for records in found.values()], is_stable

    def anomalies(self):
        return {finding.anomaly for finding in check(self.recorder.events)}


class _Once:
    """The same client for a producer that does not ask again."""

    def __init__(self, client):
        self._client = client

    def ask(self, api_key, version, message):
        return self._client.ask(api_key, version, message, is_stubborn=False)


def _worst(code):
    return ErrorCode(code).name
