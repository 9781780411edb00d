"""Questions to a running broker, by raw requests: what it has, not what a client library makes of it."""

import time

from tests.server.processes import eventually

from distributedlog.records import encode_batch, iterate_batches, iterate_records
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from distributedlog.wire.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k09_offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from distributedlog.wire.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_FETCH, CREATE_TOPICS = 0, 1, 2, 3, 9, 19
#: Not long ago, or retention would take the records away.
TIMESTAMP = time.time_ns() // 1_000_000
LATEST = -1


def create_topic(client, topic, partitions=1, configs=()):
    settings = [CreatableTopicConfig(name, value) for name, value in dict(configs).items()]
    request = CreateTopicsRequest([CreatableTopic(topic, partitions, -1, [], settings)], timeout_ms=30_000)
    [result] = client.ask(CREATE_TOPICS, 7, request).topics
    assert result.error_code == 0, result


def await_leader(client, topic):
    """Ask, and so create the topic, until it can be used."""

    def ask():
        request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
        [found] = client.ask(METADATA, 9, request).topics
        return found.error_code == 0 and found.partitions

    eventually(ask)


def batch_of(*values, **fields):
    return bytes(encode_batch([(TIMESTAMP, None, value, ()) for value in values], **fields))


def produce(client, topic, batch, partition=0, acks=-1, version=9):
    """The answer for the partition, whatever it is."""
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(partition, batch)])
    response = client.ask(PRODUCE, version, ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[data]))
    [answer] = response.responses[0].partition_responses
    return answer


def end_offset(client, topic, partition):
    request = ListOffsetsRequest(
        topics=[ListOffsetsTopic(topic, [ListOffsetsPartition(partition, -1, LATEST)])]
    )
    [answer] = client.ask(LIST_OFFSETS, 7, request).topics[0].partitions
    assert answer.error_code == 0, answer
    return answer.offset


def fetch(client, topic, partition, offset):
    """The answer of one fetch that does not wait."""
    wanted = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=10_000_000)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=0, max_bytes=50_000_000, topics=[FetchTopic(topic, partitions=[wanted])]
    )
    [answer] = client.ask(FETCH, 11, request).responses[0].partitions
    return answer


def batches_of(client, topic, partition):
    """The headers of all batches up to the end that the broker names."""
    return [header for header, _ in _walk(client, topic, partition)]


def whole_records_of(client, topic, partition):
    """All records up to the end that the broker names."""
    return [record for _, records in _walk(client, topic, partition) for record in records]


def records_of(client, topic, partition):
    """The same as (offset, value)."""
    return [(record.offset, record.value) for record in whole_records_of(client, topic, partition)]


def _walk(client, topic, partition):
    end, offset = end_offset(client, topic, partition), 0
    while offset < end:
        answer = fetch(client, topic, partition, offset)
        assert answer.error_code == 0, answer
        data = bytes(answer.records)
        batches = list(iterate_batches(data))
        assert batches, f"nothing at {offset} of {topic}-{partition}, which ends at {end}"
        for position, header in batches:
            yield header, list(iterate_records(data[position : position + header.size]))
        offset = batches[-1][1].next_offset


def committed(client, group, topic, partition):
    request = OffsetFetchRequest(group_id=group, topics=[OffsetFetchRequestTopic(topic, [partition])])
    response = client.ask(OFFSET_FETCH, 5, request)
    assert response.error_code == 0, response
    [answer] = response.topics[0].partitions
    assert answer.error_code == 0, answer
    return answer.committed_offset
