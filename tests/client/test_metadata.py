"""What a client remembers of its cluster."""

from distributedlog.client.metadata import ClusterMetadata, TopicPartition
from distributedlog.wire.k03_metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def response(*topics, brokers=(1, 2)):
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node, f"host-{node}", 9092) for node in brokers],
        cluster_id="c",
        controller_id=brokers[0],
        topics=list(topics),
    )


def topic(name, *leaders, topic_id=bytes(16)):
    partitions = [
        MetadataResponsePartition(0, index, leader, replica_nodes=[leader], isr_nodes=[leader])
        for index, leader in enumerate(leaders)
    ]
    return MetadataResponseTopic(0, name, topic_id, partitions=partitions[::-1])


def test_partitions_are_in_order_whatever_the_brokers_order():
    metadata = ClusterMetadata().updated(response(topic("t", 1, 2, 1)), is_complete=True)
    assert [partition.index for partition in metadata.topics["t"].partitions] == [0, 1, 2]
    assert [metadata.leader_of(TopicPartition("t", index)) for index in range(4)] == [1, 2, 1, None]


def test_topics_not_asked_for_are_kept_and_those_missing_from_a_complete_answer_forgotten():
    metadata = ClusterMetadata().updated(response(topic("t", 1), topic("u", 1)), is_complete=True)
    partial = metadata.updated(response(topic("u", 2)), is_complete=False)
    assert partial.leader_of(TopicPartition("t", 0)) == 1
    assert partial.leader_of(TopicPartition("u", 0)) == 2
    assert set(metadata.updated(response(topic("u", 2)), is_complete=True).topics) == {"u"}


def test_a_leader_that_is_no_known_broker_is_no_leader():
    metadata = ClusterMetadata().updated(response(topic("t", 3, -1)), is_complete=True)
    assert metadata.leader_of(TopicPartition("t", 0)) is None
    assert metadata.leader_of(TopicPartition("t", 1)) is None
    assert metadata.leader_of(TopicPartition("unknown", 0)) is None


def test_topics_are_found_by_their_ids():
    metadata = ClusterMetadata().updated(
        response(topic("t", 1, topic_id=b"0123456789abcdef")), is_complete=True
    )
    assert metadata.name_of(b"0123456789abcdef") == "t"
    assert metadata.name_of(b"another-id------") is None
