"""The codec of the wire: what a broker pays per request and per response."""

from functools import partial

from bench import by_hand
from bench.figure import Figure
from bench.timing import duration
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

PRODUCE, FETCH, METADATA = 0, 1, 3
CORRELATION_ID = 7
DECODING_BY_HAND = "one struct.unpack_from and the same dataclasses, nothing checked"
ENCODING_BY_HAND = "one struct.pack of the same attributes"
FETCH_BY_HAND = {
    12: (by_hand.fetch_request_frame_12, by_hand.fetch_response_pieces_12),
    17: (by_hand.fetch_request_frame_17, by_hand.fetch_response_pieces_17),
}


def collect(quick: bool = False) -> list[Figure]:
    """All figures of the codec; ``quick`` only shows that they can be measured."""
    return [
        *(figure for version in (9, 10, 11, 12) for figure in produce_requests(version, quick)),
        *(produce_responses(version, quick) for version in (9, 12)),
        metadata_responses(quick),
        *(figure for version in FETCH_BY_HAND for figure in fetches(version, quick)),
    ]


def produce_requests(version: int, quick: bool) -> list[Figure]:
    body = encode_body(PRODUCE, version, produce_request())
    frame = produce_request_frame(version)
    return [
        duration(
            f"Produce v{version} request decode",
            partial(APIS[PRODUCE].request(version).decode, body),
            "µs",
            partial(by_hand.produce_request, body),
            DECODING_BY_HAND,
            quick,
            bar=6.0,
        ),
        duration(
            f"Produce v{version} request decode, whole frame",
            partial(decode_request, frame),
            "µs",
            partial(by_hand.produce_request_frame, frame),
            DECODING_BY_HAND,
            quick,
        ),
    ]


def produce_responses(version: int, quick: bool) -> Figure:
    answer = produce_response()
    return duration(
        f"Produce v{version} response encode, whole frame",
        partial(encode_response, PRODUCE, version, CORRELATION_ID, answer),
        "µs",
        partial(by_hand.produce_response_frame, CORRELATION_ID, answer),
        ENCODING_BY_HAND,
        quick,
        bar=4.0,
    )


def metadata_responses(quick: bool) -> Figure:
    metadata = metadata_response()
    return duration(
        "Metadata v12 encode, 1,000 partitions",
        partial(APIS[METADATA].response(12).encode, metadata),
        "ms",
        partial(by_hand.metadata_response, metadata),
        "one struct.pack of the same attributes a partition, and one join",
        quick,
        bar=2.0,
    )


def fetches(version: int, quick: bool) -> list[Figure]:
    decode_by_hand, encode_by_hand = FETCH_BY_HAND[version]
    frame = fetch_request_frame(version)
    fetched = fetch_response()
    return [
        duration(
            f"Fetch v{version} request decode, whole frame",
            partial(decode_request, frame),
            "µs",
            partial(decode_by_hand, frame),
            DECODING_BY_HAND,
            quick,
        ),
        duration(
            f"Fetch v{version} response encode in pieces",
            partial(encode_response_pieces, FETCH, version, CORRELATION_ID, fetched),
            "µs",
            partial(encode_by_hand, CORRELATION_ID, fetched),
            ENCODING_BY_HAND,
            quick,
        ),
    ]


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
    return encode_request(PRODUCE, version, CORRELATION_ID, "producer-1", produce_request())[4:]


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
    return encode_request(FETCH, version, CORRELATION_ID, "consumer-1", request)[4:]


def fetch_response() -> FetchResponse:
    """The answer with 16 KB of records."""
    partition = PartitionData(partition_index=3, high_watermark=123_556, records=bytes(16_384))
    topic = FetchableTopicResponse(topic="orders", topic_id=bytes(range(16)), partitions=[partition])
    return FetchResponse(responses=[topic])
