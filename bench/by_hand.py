"""Messages by hand: the least that anyone could do for exactly the messages that `wire` measures.

One ``struct`` call for each run of fixed bytes, and the same dataclasses. Nothing is checked, every
length, null and empty array is taken for granted, so nothing but a benchmark can use this.
"""

from struct import Struct

from distributedlog.wire import APIS
from distributedlog.wire.headers import RequestHeader
from distributedlog.wire.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from distributedlog.wire.k03_metadata import MetadataResponse

ONE = 2
"""The compact length of an array of one element; an empty one has 1."""

_REQUEST_HEADER = Struct(">hhih10sx")
_PRODUCE_REQUEST = Struct(">xhixx6sxi3x")
_PRODUCE_RESPONSE = Struct(">iixBB6sBihqqqBBBBiB")
_FETCH_REQUEST_12 = Struct(">iiiibiixx6sxiiqiqixxxxx")
_FETCH_REQUEST_17 = Struct(">iiibiix16sxiiqiqixxxxx")
_FETCH_RESPONSE_HEAD_12 = Struct(">iixihiBB6sBihqqqBi3s")
_FETCH_RESPONSE_HEAD_17 = Struct(">iixihiB16sBihqqqBi3s")
_METADATA_PARTITION = Struct(">hiiiB3iB3iBB")
_METADATA_TOPIC_HEAD = Struct(">hB7s16s?B")
_METADATA_TOPIC_TAIL = Struct(">iB")
_METADATA_HEAD = Struct(">iB")
_METADATA_BROKER = Struct(">iB8siBB")
_METADATA_CLUSTER = Struct(">B9siB")


def request_header(frame: bytes) -> RequestHeader:
    key, version, correlation_id, _, client_id = _REQUEST_HEADER.unpack_from(frame)
    return RequestHeader(key, version, correlation_id, client_id.decode(), _REQUEST_HEADER.size, APIS[key])


def produce_request(body: bytes, position: int = 0) -> ProduceRequest:
    """Versions 9 to 12."""
    acks, timeout_ms, name, index = _PRODUCE_REQUEST.unpack_from(body, position)
    start = position + _PRODUCE_REQUEST.size
    partition = PartitionProduceData(index, memoryview(body)[start:-3])
    return ProduceRequest(None, acks, timeout_ms, [TopicProduceData(name.decode(), bytes(16), [partition])])


def produce_request_frame(frame: bytes) -> tuple[RequestHeader, ProduceRequest]:
    return request_header(frame), produce_request(frame, _REQUEST_HEADER.size)


def produce_response_frame(correlation_id: int, message: ProduceResponse) -> bytes:
    """Versions 9 to 12."""
    topic = message.responses[0]
    partition = topic.partition_responses[0]
    name = topic.name.encode()
    return _PRODUCE_RESPONSE.pack(
        _PRODUCE_RESPONSE.size - 4,
        correlation_id,
        ONE,
        len(name) + 1,
        name,
        ONE,
        partition.index,
        partition.error_code,
        partition.base_offset,
        partition.log_append_time_ms,
        partition.log_start_offset,
        1,
        0,
        0,
        0,
        message.throttle_time_ms,
        0,
    )


def metadata_response(message: MetadataResponse) -> bytes:
    """Version 12."""
    parts = [_METADATA_HEAD.pack(message.throttle_time_ms, len(message.brokers) + 1)]
    for broker in message.brokers:
        parts.append(_METADATA_BROKER.pack(broker.node_id, 9, broker.host.encode(), broker.port, 0, 0))
    parts.append(
        _METADATA_CLUSTER.pack(
            10, message.cluster_id.encode(), message.controller_id, len(message.topics) + 1
        )
    )
    pack = _METADATA_PARTITION.pack
    for topic in message.topics:
        parts.append(
            _METADATA_TOPIC_HEAD.pack(
                topic.error_code,
                8,
                topic.name.encode(),
                topic.topic_id,
                topic.is_internal,
                len(topic.partitions) + 1,
            )
        )
        parts += [
            pack(
                partition.error_code,
                partition.partition_index,
                partition.leader_id,
                partition.leader_epoch,
                4,
                *partition.replica_nodes,
                4,
                *partition.isr_nodes,
                1,
                0,
            )
            for partition in topic.partitions
        ]
        parts.append(_METADATA_TOPIC_TAIL.pack(topic.topic_authorized_operations, 0))
    parts.append(b"\0")
    return b"".join(parts)


def fetch_request_frame_12(frame: bytes) -> tuple[RequestHeader, FetchRequest]:
    fields = _FETCH_REQUEST_12.unpack_from(frame, _REQUEST_HEADER.size)
    topic = FetchTopic(fields[7].decode(), bytes(16), [FetchPartition(*fields[8:])])
    return request_header(frame), FetchRequest(
        replica_id=fields[0],
        max_wait_ms=fields[1],
        min_bytes=fields[2],
        max_bytes=fields[3],
        isolation_level=fields[4],
        session_id=fields[5],
        session_epoch=fields[6],
        topics=[topic],
    )


def fetch_request_frame_17(frame: bytes) -> tuple[RequestHeader, FetchRequest]:
    fields = _FETCH_REQUEST_17.unpack_from(frame, _REQUEST_HEADER.size)
    topic = FetchTopic("", fields[6], [FetchPartition(*fields[7:])])
    return request_header(frame), FetchRequest(
        max_wait_ms=fields[0],
        min_bytes=fields[1],
        max_bytes=fields[2],
        isolation_level=fields[3],
        session_id=fields[4],
        session_epoch=fields[5],
        topics=[topic],
    )


def fetch_response_pieces_12(correlation_id: int, message: FetchResponse) -> list[bytes]:
    name = message.responses[0].topic.encode()
    return _fetch_response_pieces(_FETCH_RESPONSE_HEAD_12, correlation_id, message, (len(name) + 1, name))


def fetch_response_pieces_17(correlation_id: int, message: FetchResponse) -> list[bytes]:
    topic_id = message.responses[0].topic_id
    return _fetch_response_pieces(_FETCH_RESPONSE_HEAD_17, correlation_id, message, (topic_id,))


def _fetch_response_pieces(
    head: Struct, correlation_id: int, message: FetchResponse, topic: tuple[object, ...]
) -> list[bytes]:
    partition = message.responses[0].partitions[0]
    records = partition.records
    size = len(records) + 1
    return [
        head.pack(
            head.size - 4 + len(records) + 3,
            correlation_id,
            message.throttle_time_ms,
            message.error_code,
            message.session_id,
            ONE,
            *topic,
            ONE,
            partition.partition_index,
            partition.error_code,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log_start_offset,
            1,
            partition.preferred_read_replica,
            bytes((size & 127 | 128, size >> 7 & 127 | 128, size >> 14)),
        ),
        records,
        bytes(3),
    ]
