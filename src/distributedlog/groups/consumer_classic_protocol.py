"""Between the partitions of a consumer group and the bytes that classic consumers understand."""

from collections.abc import Iterable

from distributedlog.groups.assignment import Assignment, OwnedPartitions
from distributedlog.groups.topics import TopicsImage
from distributedlog.wire.errors import ProtocolError
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupTopicPartitions
from distributedlog.wire.values import encode_assignment
from distributedlog.wire.values.consumer_protocol import (
    CONSUMER_PROTOCOL_VERSION,
    ConsumerProtocolAssignment,
    TopicPartitions,
)
from distributedlog.wire.values.versioned import read_prefix


def encode_member_assignment(
    assignment: Assignment | OwnedPartitions, subscription: bytes, image: TopicsImage
) -> bytes:
    """What a classic member gets in SyncGroup, in the version of the subscription that it sent."""
    topics = [
        TopicPartitions(topic.name, sorted(partitions))
        for topic, partitions in ((image.by_id(topic_id), held) for topic_id, held in assignment.items())
        if topic is not None
    ]
    return encode_assignment(ConsumerProtocolAssignment(topics), _version_of(subscription))


def _version_of(subscription: bytes) -> int:
    """What cannot be read gets the first version, which every later one begins with."""
    try:
        return max(min(read_prefix(subscription), CONSUMER_PROTOCOL_VERSION), 0)
    except ProtocolError:
        return 0


def decode_owned_topics(
    topics: Iterable[TopicPartitions], epoch: int, image: TopicsImage
) -> dict[bytes, dict[int, int]]:
    """Partitions by topic id; those of topics that are gone drop out."""
    owned: dict[bytes, dict[int, int]] = {}
    for entry in topics:
        topic = image.named(entry.topic)
        if topic is not None and entry.partitions:
            owned.setdefault(topic.topic_id, {}).update(dict.fromkeys(entry.partitions, epoch))
    return owned


def reported_topics(
    topics: Iterable[TopicPartitions], image: TopicsImage
) -> list[ConsumerGroupTopicPartitions]:
    """What a classic member says that it owns, as a member of the new protocol would say it."""
    reported: list[ConsumerGroupTopicPartitions] = []
    for entry in topics:
        topic = image.named(entry.topic)
        if topic is not None:
            reported.append(ConsumerGroupTopicPartitions(topic.topic_id, entry.partitions))
    return reported
