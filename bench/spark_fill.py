"""A topic of ten million records in seconds: batches encoded from Arrow, sent pipelined.

A batch has the size that a Java producer makes by default. Values are hex digits, of a thousand kinds, which
a codec halves about as it does text.
"""

import random
import time
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from distributedlog.client import ClientSettings, parse_bootstrap
from distributedlog.client.blocking_connection import BlockingConnection
from distributedlog.records import Compression, iterate_batches
from distributedlog.records.columns import encode_from_arrow
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest

VALUE_BYTES = 100
KINDS = 1000
BATCH_BYTES = 16 * 1024
IN_FLIGHT_MAX = 32
PARTITIONS = 2
CHUNK_ROWS = 100_000


def create(connection: BlockingConnection, topic: str, **configs: str) -> bytes:
    """A new topic of two partitions, and its id."""
    settings = [CreatableTopicConfig(name.replace("_", "."), value) for name, value in configs.items()]
    wanted = CreatableTopic(topic, PARTITIONS, 1, configs=settings)
    created = connection.ask(CreateTopicsRequest([wanted], 30_000)).topics[0]
    if created.error_code:
        raise RuntimeError(f"topic {topic} was not created: {created.error_message}")
    found: Any = connection.ask(MetadataRequest([MetadataRequestTopic(name=topic)]))
    topic_id: bytes = found.topics[0].topic_id
    return topic_id


def fill(
    bootstrap: str, topic: str, records: int, compression: Compression, **configs: str
) -> tuple[int, int]:
    """The timestamps of the first and the last record, a millisecond apart in each partition."""
    connection = BlockingConnection.open(parse_bootstrap(bootstrap)[0], ClientSettings())
    topic_id = create(connection, topic, **configs)
    kinds = random.Random(1)
    values = pa.array([kinds.randbytes(VALUE_BYTES // 2).hex().encode() for _ in range(KINDS)], pa.binary())
    each = records // PARTITIONS
    first_ms = int(time.time() * 1000) - each
    chooser = np.random.default_rng(1)
    for start in range(0, each, CHUNK_ROWS):
        rows = min(CHUNK_ROWS, each - start)
        times = pa.array(np.arange(first_ms + start, first_ms + start + rows), pa.int64())
        chunk = pa.record_batch(
            {
                "value": values.take(pa.array(chooser.integers(0, KINDS, rows))),
                "timestamp": times.cast(pa.timestamp("ms", tz="UTC")),
            }
        )
        data = bytes(encode_from_arrow(chunk, batch_size_max=BATCH_BYTES, compression=compression))
        borders = [position for position, _ in iterate_batches(data)] + [len(data)]
        for begin, end in pairwise(borders):
            for partition in range(PARTITIONS):
                _send(connection, topic, topic_id, partition, data[begin:end])
    while connection.in_flight:
        _check(connection.receive())
    connection.close()
    return first_ms, first_ms + each - 1


def _send(connection: BlockingConnection, topic: str, topic_id: bytes, partition: int, batch: bytes) -> None:
    counted_from_0 = memoryview(bytes(8) + batch[8:])  # as a producer's batches are
    data = [TopicProduceData(topic, topic_id, [PartitionProduceData(partition, counted_from_0)])]
    if connection.in_flight >= IN_FLIGHT_MAX:
        _check(connection.receive())
    connection.send(ProduceRequest(acks=1, timeout_ms=30_000, topic_data=data))


def _check(response: Any) -> None:
    code = response.responses[0].partition_responses[0].error_code
    if code:
        raise RuntimeError(f"a batch was refused with error {code}")
