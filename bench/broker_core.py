"""The broker without sockets: from the frame of a request to the bytes of its response.

What the operating system takes for the bytes themselves is measured in turns with it and taken off, so the
figures say what the broker adds. Flush policy "os", so that no disk is waited for.
"""

import os
import random
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from crc32c import crc32c

from bench.figure import Figure
from bench.timing import in_turns
from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.context import Client, RequestContext
from distributedlog.broker.fetch_purgatory import FetchPurgatory
from distributedlog.broker.fetch_sessions import FetchSessions
from distributedlog.broker.handlers import k00_produce, k01_fetch
from distributedlog.broker.partitions import PartitionTable
from distributedlog.broker.quotas import Quotas
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.log import FlushPolicy, LogConfig, LogDirectory
from distributedlog.records import encode_batch
from distributedlog.wire import decode_request, encode_request, encode_response, encode_response_pieces
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic

NOW_MS = 1_700_000_000_000
TOPIC, TOPIC_ID = "orders", bytes(range(16))
BATCH_VALUES = [random.Random(1).randbytes(1000) for _ in range(16)]
PRODUCE, FETCH = 0, 1
PRODUCE_US_MAX, FETCH_US_MAX = 40, 60
CLIENT = Client(1, "127.0.0.1", 50000)


def collect(quick: bool = False) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="dlog-bench-") as name:
        root = Path(name)
        return [
            *(produce(root / f"produce-{version}", version, quick) for version in (9, 13)),
            *(fetch_at_the_tail(root / f"fetch-{version}", version, quick) for version in (12, 17)),
            fetch_in_a_session(root / "session", 200, quick),
            wake_up(root / "waiting", 1000, quick),
        ]


class Scheduler:
    """Time stands still, and nothing is ever due but what was asked for soon."""

    def __init__(self) -> None:
        self.soon: list[Callable[[], None]] = []

    def now_ms(self) -> int:
        return NOW_MS

    def call_later(self, delay_ms: float, callback: Callable[[], None]) -> Any:
        return SimpleNamespace(cancel=lambda: None)

    def call_soon(self, callback: Callable[[], None]) -> None:
        self.soon.append(callback)

    def run_in_thread(self, work: Any, done: Any, failed: Any) -> None:
        done(work())

    def run(self) -> None:
        soon, self.soon = self.soon, []
        for callback in soon:
            callback()


@contextmanager
def broker_at(path: Path, partitions: int = 1):
    scheduler = Scheduler()
    directory = LogDirectory(path, clock_ms=scheduler.now_ms)
    table = PartitionTable(directory, scheduler)
    for index in range(partitions):
        table.open(TOPIC, index, TOPIC_ID, LogConfig(), FlushPolicy("os"))
    try:
        broker = SimpleNamespace(
            config=BrokerConfig(),
            image=EMPTY_IMAGE,
            scheduler=scheduler,
            partitions=table,
            fetch_sessions=FetchSessions(1000, random.Random(1)),
            waiting_fetches=FetchPurgatory(scheduler),
        )
        broker.quotas = Quotas(broker)
        yield broker
    finally:
        directory.abandon()


def answer(broker: Any, handler: Any, frame: bytearray) -> Any:
    """The response's message to a request's frame."""
    header, request = decode_request(frame)
    context = RequestContext(CLIENT, header.client_id, header.api_key, header.api_version, NOW_MS)
    return handler.handle(broker, context, request)


def batch() -> bytearray:
    return encode_batch((NOW_MS, None, value, ()) for value in BATCH_VALUES)


def produce(path: Path, version: int, quick: bool) -> Figure:
    data = [PartitionProduceData(0, batch())]
    request = ProduceRequest(None, 1, 1000, [TopicProduceData(TOPIC, TOPIC_ID, data)])
    frame = bytearray(encode_request(PRODUCE, version, 7, "bench", request)[4:])
    start = frame.index(batch()[8:]) - 8
    with broker_at(path) as broker:

        def handle() -> bytes:
            frame[start : start + 8] = bytes(8)  # the append gave the batch in the frame its offset
            return encode_response(PRODUCE, version, 7, answer(broker, k00_produce, frame))

        ours, write = in_turns(handle, bare_append(path / "bare", batch()), quick)
        assert broker.partitions.get(TOPIC, 0).log.log_end_offset > 16
    return added(
        f"produce v{version}, one partition of 16 KB, over write and CRC", ours - write, PRODUCE_US_MAX
    )


def bare_append(path: Path, data: bytearray) -> Callable[[], None]:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def append() -> None:
        crc32c(data)
        os.write(fd, data)

    return append


def fetch_request(offset: int, partitions: range, **fields: int) -> FetchRequest:
    wanted = [FetchPartition(index, -1, offset, partition_max_bytes=1 << 20) for index in partitions]
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=[FetchTopic(TOPIC, TOPIC_ID, wanted)], **fields)


def fetch_at_the_tail(path: Path, version: int, quick: bool) -> Figure:
    """The last batch of a log of 64 MB, sent by sendfile: the region is not read here."""
    with broker_at(path) as broker:
        log = fill(broker, 4000)
        frame = bytearray(
            encode_request(FETCH, version, 7, "bench", fetch_request(log.log_end_offset - 16, range(1)))[4:]
        )
        ours, _ = in_turns(
            lambda: encode_response_pieces(FETCH, version, 7, answer(broker, k01_fetch, frame)), int, quick
        )
    return added(f"fetch v{version}, one partition at the tail", ours, FETCH_US_MAX)


def fetch_in_a_session(path: Path, partitions: int, quick: bool) -> Figure:
    """A session of many partitions, one of which has something new."""
    with broker_at(path, partitions) as broker:
        fill(broker, 10)
        request = fetch_request(160, range(1), session_epoch=0)
        request.max_wait_ms = 0
        request.topics[0].partitions += fetch_request(0, range(1, partitions)).topics[0].partitions
        session_id = answer(broker, k01_fetch, frame_of(request)).session_id
        session = broker.fetch_sessions.get(session_id)
        again = FetchRequest(max_wait_ms=0, min_bytes=1, session_id=session_id, session_epoch=1)
        frame = frame_of(again)

        def fetch() -> None:
            session.epoch = 1
            encode_response_pieces(FETCH, 17, 7, answer(broker, k01_fetch, frame))

        ours, _ = in_turns(fetch, int, quick)
    return added(f"fetch v17, a session of {partitions} idle partitions", ours, None)


def wake_up(path: Path, waiters: int, quick: bool) -> Figure:
    """What an append pays for each consumer that waits on its partition for more than has come."""
    with broker_at(path) as broker:
        partition = broker.partitions.get(TOPIC, 0)
        request = fetch_request(0, range(1))
        request.min_bytes = request.max_bytes = 2**31 - 1
        broker.config = SimpleNamespace(fetch_max_bytes=2**31 - 1)
        request.topics[0].partitions[0].partition_max_bytes = 1 << 20
        for _ in range(waiters):
            answer(broker, k01_fetch, frame_of(request))
        data = batch()

        def append() -> None:
            data[:8] = bytes(8)
            partition.append(data, now_ms=NOW_MS)

        ours, bare = in_turns(append, bare_append(path / "bare", data), quick)
        assert len(partition.watchers) == waiters
    return added(f"an append that {waiters} waiting fetches watch, each", (ours - bare) / waiters, None)


def fill(broker: Any, batches: int) -> Any:
    partition = broker.partitions.get(TOPIC, 0)
    data = batch()
    for _ in range(batches):
        partition.append(data, now_ms=NOW_MS)
        data[:8] = bytes(8)
    return partition.log


def frame_of(request: FetchRequest) -> bytearray:
    return bytearray(encode_request(FETCH, 17, 7, "bench", request)[4:])


def added(name: str, seconds: float, bar_us: float | None) -> Figure:
    return Figure(name, seconds * 1e6, "µs", bar=bar_us, higher_is_better=False)
