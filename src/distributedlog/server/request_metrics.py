"""Counters that the connections keep: requests, bytes, times. Plain attributes, for the hot path."""

from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from distributedlog.wire.k01_fetch import FetchResponse

#: Upper ends of the latency histogram's buckets.
LATENCY_BOUNDS_MS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 10_000)
_LATENCY_BOUNDS_NS: Final = tuple(int(bound * 1e6) for bound in LATENCY_BOUNDS_MS)


class Latency:
    """A histogram of times: how many fell into each bucket, the last of which has no upper end."""

    __slots__ = ("count", "counts", "sum_ns")

    def __init__(self) -> None:
        self.counts = [0] * (len(_LATENCY_BOUNDS_NS) + 1)
        self.count = 0
        self.sum_ns = 0

    def observe(self, ns: int) -> None:
        self.counts[bisect_left(_LATENCY_BOUNDS_NS, ns)] += 1
        self.count += 1
        self.sum_ns += ns


class RequestMetrics:
    """One per node; read by whoever wants to show them."""

    def __init__(self) -> None:
        self.bytes_received = 0
        self.bytes_sent = 0
        self.connections_opened = 0
        self.connections_refused = 0
        self.connections_closed_idle = 0
        #: By API key.
        self.latency: defaultdict[int, Latency] = defaultdict(Latency)
        self.request_bytes: defaultdict[int, int] = defaultdict(int)
        #: Bytes of batches sent to consumers, by the topic as the response calls it: its name or its id.
        self.fetched_bytes: defaultdict[str | bytes, int] = defaultdict(int)
        self.event_loop_delay = Latency()
        self.fsync = Latency()

    def count_fetched(self, response: "FetchResponse") -> None:
        """A response goes to a consumer."""
        for topic in response.responses:
            size = sum([len(each.records) for each in topic.partitions if each.records is not None])
            if size:
                self.fetched_bytes[topic.topic or topic.topic_id] += size

    def observe(self, api_key: int, ns: int) -> None:
        """A request was answered."""
        self.latency[api_key].observe(ns)
