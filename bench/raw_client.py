"""A client of one socket that waits for every answer, so that nothing but the broker is measured."""

import socket
import struct
from typing import Any

from distributedlog.records import encode_batch
from distributedlog.wire import decode_response, encode_request
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k19_create_topics import CreatableTopic, CreateTopicsRequest

PRODUCE, METADATA, CREATE_TOPICS = 0, 3, 19
PRODUCE_VERSION, METADATA_VERSION, CREATE_TOPICS_VERSION = 9, 9, 5
TIMEOUT_MS = 60_000
#: UNKNOWN_TOPIC_OR_PARTITION and NOT_LEADER_OR_FOLLOWER: a client asks again.
NOT_YET = (3, 6)
_SIZE = struct.Struct(">i")


class RawClient:
    """One connection to one broker."""

    def __init__(self, bootstrap: str) -> None:
        host, _, port = bootstrap.partition(":")
        self.socket = socket.create_connection((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, api_key: int, version: int, message: Any) -> Any:
        self.socket.sendall(encode_request(api_key, version, 1, "bench", message))
        return decode_response(api_key, version, self.receive())[1]

    def receive(self) -> bytes:
        """The next response without its size."""
        size = _SIZE.unpack(self._receive_exactly(_SIZE.size))[0]
        return self._receive_exactly(size)

    def _receive_exactly(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            piece = self.socket.recv(size - len(received))
            if not piece:
                raise ConnectionError("the broker closed the connection")
            received += piece
        return received

    def create_topics(self, partitions_by_name: dict[str, int]) -> None:
        topics = [CreatableTopic(name, count, 1) for name, count in partitions_by_name.items()]
        request = CreateTopicsRequest(topics, timeout_ms=TIMEOUT_MS)
        for topic in self.ask(CREATE_TOPICS, CREATE_TOPICS_VERSION, request).topics:
            if topic.error_code:
                raise RuntimeError(f"{topic.name} was not created: {topic}")
        self.wait_for_leaders(list(partitions_by_name))

    def wait_for_leaders(self, names: list[str], *, may_create: bool = False) -> None:
        request = MetadataRequest(
            [MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=may_create
        )
        while any(
            topic.error_code or any(partition.error_code for partition in topic.partitions)
            for topic in self.ask(METADATA, METADATA_VERSION, request).topics
        ):
            pass

    def produce(self, topic: str, partition: int = 0, *, acks: int = -1) -> None:
        """One record, acknowledged."""
        if error_code := self._error_of(topic, partition, acks):
            raise RuntimeError(f"{topic}-{partition} did not take the record: error {error_code}")

    def is_taken(self, topic: str) -> bool:
        """Whether the broker takes a record; it may say that it does not yet."""
        error_code = self._error_of(topic, 0, -1)
        if error_code not in {0, *NOT_YET}:
            raise RuntimeError(f"{topic}-0 did not take the record: error {error_code}")
        return error_code == 0

    def _error_of(self, topic: str, partition: int, acks: int) -> int:
        response = self.ask(PRODUCE, PRODUCE_VERSION, one_record(topic, partition, acks=acks))
        error_code: int = response.responses[0].partition_responses[0].error_code
        return error_code

    def close(self) -> None:
        self.socket.close()


def one_record(topic: str, partition: int = 0, *, acks: int = -1, size: int = 100) -> ProduceRequest:
    batch = bytes(encode_batch([(1_700_000_000_000, None, bytes(size), ())]))
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])
    return ProduceRequest(acks=acks, timeout_ms=TIMEOUT_MS, topic_data=[data])
