"""The codec of the wire: what a broker pays per request and per response."""

import timeit
from collections.abc import Callable
from functools import partial

from bench.figure import Figure
from distributedlog.wire import (
    APIS,
    decode_request,
    encode_request,
    encode_response,
    encode_response_pieces,
)
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from distributedlog.wire.k01_fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from distributedlog.wire.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

MICROSECONDS = 1e6
MILLISECONDS = 1e3
PRODUCE, FETCH, METADATA = 0, 1, 3


def collect(quick: bool = False) -> list[Figure]:
    """All figures of the codec; ``quick`` only shows that they can be measured."""
    figures = []
    for version in (9, 10, 11, 12):
        frame = produce_request_frame(version)
        decode = APIS[PRODUCE].request(version).decode
        body = encode_body(PRODUCE, version, produce_request())
        figures.append(microseconds(f"Produce v{version} request decode", partial(decode, body), 6.0, quick))
        figures.append(
            microseconds(
                f"Produce v{version} request decode, whole frame",
                partial(decode_request, frame),
                None,
                quick,
            )
        )
    answer = produce_response()
    for version in (9, 12):
        figures.append(
            microseconds(
                f"Produce v{version} response encode, whole frame",
                partial(encode_response, PRODUCE, version, 7, answer),
                4.0,
                quick,
            )
        )
    metadata = metadata_response()
    encode_metadata = APIS[METADATA].response(12).encode
    seconds = seconds_per_call(partial(encode_metadata, metadata), quick)
    figures.append(
        Figure(
            "Metadata v12 encode, 1,000 partitions",
            seconds * MILLISECONDS,
            "ms",
            bar=2.0,
            higher_is_better=False,
        )
    )
    for version in (12, 17):
        frame = fetch_request_frame(version)
        fetched = fetch_response()
        figures.append(
            microseconds(
                f"Fetch v{version} request decode, whole frame",
                partial(decode_request, frame),
                None,
                quick,
            )
        )
        figures.append(
            microseconds(
                f"Fetch v{version} response encode in pieces",
                partial(encode_response_pieces, FETCH, version, 7, fetched),
                None,
                quick,
            )
        )
    return figures


def seconds_per_call(function: Callable[[], object], quick: bool) -> float:
    """The fastest of several rounds: noise only ever adds."""
    timer = timeit.Timer(function)
    if quick:
        return timer.timeit(10) / 10
    calls, _ = timer.autorange()
    calls = max(1, calls // 4)
    return min(timer.repeat(repeat=9, number=calls)) / calls


def microseconds(name: str, function: Callable[[], object], bar: float | None, quick: bool) -> Figure:
    """One figure in microseconds a call."""
    value = seconds_per_call(function, quick) * MICROSECONDS
    return Figure(name, value, "µs", bar=bar, higher_is_better=False)


def encode_body(api_key: int, version: int, message: object) -> bytes:
    """A request without its frame."""
    return APIS[api_key].request(version).encode(message)


def produce_request() -> ProduceRequest:
    """One batch of 16 KB for one partition."""
    partition = PartitionProduceData(index=3, records=bytes(16_384))
    return ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name="orders", partition_data=[partition])]
    )


def produce_request_frame(version: int) -> bytes:
    """The request as it comes out of a connection."""
    return encode_request(PRODUCE, version, 7, "producer-1", produce_request())[4:]


def produce_response() -> ProduceResponse:
    """The answer to it."""
    partition = PartitionProduceResponse(index=3, base_offset=123_456, log_start_offset=0)
    return ProduceResponse(responses=[TopicProduceResponse(name="orders", partition_responses=[partition])])


def metadata_response() -> MetadataResponse:
    """Three brokers, ten topics of a hundred partitions, three replicas each."""
    brokers = [
        MetadataResponseBroker(node_id=number, host=f"broker-{number}", port=9092) for number in range(3)
    ]
    topics = [
        MetadataResponseTopic(
            name=f"topic-{number}",
            topic_id=bytes([number]) * 16,
            partitions=[
                MetadataResponsePartition(
                    partition_index=index,
                    leader_id=index % 3,
                    leader_epoch=5,
                    replica_nodes=[0, 1, 2],
                    isr_nodes=[0, 1, 2],
                )
                for index in range(100)
            ],
        )
        for number in range(10)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="a-cluster", controller_id=0, topics=topics)


def fetch_request_frame(version: int) -> bytes:
    """A consumer at the end of one partition."""
    partition = FetchPartition(partition=3, fetch_offset=123_456, partition_max_bytes=1_048_576)
    named = FetchTopic(topic="orders", partitions=[partition])
    by_id = FetchTopic(topic_id=bytes(range(16)), partitions=[partition])
    request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[named if version < 13 else by_id])
    return encode_request(FETCH, version, 7, "consumer-1", request)[4:]


def fetch_response() -> FetchResponse:
    """The answer with 16 KB of records."""
    partition = PartitionData(partition_index=3, high_watermark=123_556, records=bytes(16_384))
    topic = FetchableTopicResponse(topic="orders", topic_id=bytes(range(16)), partitions=[partition])
    return FetchResponse(responses=[topic])
