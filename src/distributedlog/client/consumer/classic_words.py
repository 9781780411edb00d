"""[pure] What classic members say to each other: subscriptions and assignments, as all clients write them.

What a member owns stands in two places: in the subscription itself since its version 1 (KIP-429), and, for
the eager ``sticky`` assignor, in the user data, in a format that Kafka's Java client introduced:

    previous assignment: array of (topic: string, partitions: array of int32); generation: int32

The user data of ``cooperative-sticky`` is the generation alone, which is in the subscription too since
version 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from struct import error as struct_error
from typing import TYPE_CHECKING, Final

from distributedlog.client.consumer.subscriber import Subscriber
from distributedlog.client.errors import UnexpectedResponse
from distributedlog.client.metadata import TopicPartition
from distributedlog.wire import ProtocolError
from distributedlog.wire.values import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartitions,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

if TYPE_CHECKING:
    from distributedlog.wire.k11_join_group import JoinGroupResponseMember

STICKY: Final = "sticky"
COOPERATIVE_STICKY: Final = "cooperative-sticky"
_INT32: Final = Struct(">i")
_INT16: Final = Struct(">h")
_EMPTY_ARRAY_SIZE_MIN: Final = 4


def subscription_bytes(
    assignor: str,
    topics: Iterable[str],
    owned: Iterable[TopicPartition],
    had: Iterable[TopicPartition],
    generation: int,
    rack: str = "",
) -> bytes:
    """What a member says of itself under one assignor's name; eager ones `had` more than is `owned` now."""
    gathered = _by_topic(owned)
    user_data = None
    if assignor == STICKY:
        user_data = _sticky_user_data(_by_topic(had), generation)
    elif assignor == COOPERATIVE_STICKY:
        user_data = _INT32.pack(generation)
    subscription = ConsumerProtocolSubscription(sorted(topics), user_data, gathered, generation, rack or None)
    return encode_subscription(subscription)


def subscriber_of(member: JoinGroupResponseMember, assignor: str) -> Subscriber:
    """A member as the leader sees it; UnexpectedResponse when its words make no sense."""
    try:
        said = decode_subscription(member.metadata)
    except ProtocolError as error:
        raise UnexpectedResponse(
            f"the subscription of member {member.member_id} cannot be read: {error}"
        ) from None
    owned = [
        TopicPartition(topic.topic, index) for topic in said.owned_partitions for index in topic.partitions
    ]
    generation = said.generation_id
    if assignor == STICKY and said.user_data:
        owned, generation = _read_sticky(said.user_data)
    elif assignor == COOPERATIVE_STICKY and generation < 0 and said.user_data:
        generation = _INT32.unpack_from(said.user_data)[0] if len(said.user_data) >= _INT32.size else -1
    return Subscriber(
        member.member_id, frozenset(said.topics), member.group_instance_id, tuple(owned), generation
    )


def assignment_bytes(partitions: Iterable[TopicPartition]) -> bytes:
    return encode_assignment(ConsumerProtocolAssignment(_by_topic(partitions)))


def read_assignment(data: bytes, group_id: str) -> frozenset[TopicPartition]:
    if not data:
        return frozenset()
    try:
        topics = decode_assignment(data).assigned_partitions
    except ProtocolError as error:
        raise UnexpectedResponse(f"the assignment of group {group_id} cannot be read: {error}") from None
    return frozenset(TopicPartition(topic.topic, index) for topic in topics for index in topic.partitions)


def _by_topic(partitions: Iterable[TopicPartition]) -> list[TopicPartitions]:
    topics: dict[str, TopicPartitions] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, TopicPartitions(topic)).partitions.append(index)
    return list(topics.values())


def _sticky_user_data(topics: list[TopicPartitions], generation: int) -> bytes:
    pieces = [_INT32.pack(len(topics))]
    for topic in topics:
        name = topic.topic.encode()
        pieces += (_INT16.pack(len(name)), name, _INT32.pack(len(topic.partitions)))
        pieces += map(_INT32.pack, topic.partitions)
    pieces.append(_INT32.pack(generation))
    return b"".join(pieces)


def _read_sticky(data: bytes) -> tuple[list[TopicPartition], int]:
    """Of either version; the first one had no generation. Nonsense counts as having had nothing."""
    found: list[TopicPartition] = []
    try:
        (count,), position = _INT32.unpack_from(data), _INT32.size
        for _ in range(min(count, len(data))):
            (length,) = _INT16.unpack_from(data, position)
            position += _INT16.size
            topic = data[position : position + length].decode()
            position += length
            (partitions,) = _INT32.unpack_from(data, position)
            position += _INT32.size
            for _ in range(min(partitions, len(data))):
                found.append(TopicPartition(topic, _INT32.unpack_from(data, position)[0]))
                position += _INT32.size
        generation = _INT32.unpack_from(data, position)[0] if len(data) - position >= _INT32.size else -1
    except (struct_error, UnicodeDecodeError):
        return [], -1
    return found, generation
