"""What consumers of the classic group protocol tell each other through the coordinator.

A member's subscription travels in JoinGroup (`protocols[].metadata`), its assignment in SyncGroup. The
broker passes both on unread; it looks into a subscription only to know which topics a group reads. Both
are versions 0 to 3, never flexible; a newer version is read as version 3, as Kafka's own clients do,
because fields are only ever added at the end.

- subscription 1: the partitions that the member owns now (cooperative rebalancing, KIP-429)
- subscription 2: the generation in which it got them (KIP-792)
- subscription 3: the member's rack (KIP-881)
"""

from dataclasses import dataclass, field
from typing import Annotated, Final

from distributedlog.wire.primitives import Buffer
from distributedlog.wire.schema import Int32, ignorable, versions
from distributedlog.wire.values.versioned import Versioned

CONSUMER_PROTOCOL_TYPE: Final = "consumer"
CONSUMER_PROTOCOL_VERSION: Final = 3


@dataclass(slots=True)
class TopicPartitions:
    topic: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerProtocolSubscription:
    topics: list[str] = field(default_factory=list)
    user_data: bytes | None = None
    owned_partitions: Annotated[list[TopicPartitions], versions("1+"), ignorable] = field(
        default_factory=list
    )
    generation_id: Annotated[Int32, versions("2+"), ignorable] = -1
    rack_id: Annotated[str | None, versions("3+"), ignorable] = None


@dataclass(slots=True)
class ConsumerProtocolAssignment:
    assigned_partitions: list[TopicPartitions] = field(default_factory=list)
    user_data: bytes | None = None


SUBSCRIPTION: Final = Versioned(ConsumerProtocolSubscription, last=3, flexible_from=None)
ASSIGNMENT: Final = Versioned(ConsumerProtocolAssignment, last=3, flexible_from=None)


def encode_subscription(
    subscription: ConsumerProtocolSubscription, version: int = CONSUMER_PROTOCOL_VERSION
) -> bytes:
    """The bytes of `JoinGroupRequest.protocols[].metadata`."""
    return SUBSCRIPTION.encode(subscription, version)


def decode_subscription(data: Buffer) -> ConsumerProtocolSubscription:
    """Read a subscription of any version."""
    subscription: ConsumerProtocolSubscription = SUBSCRIPTION.decode_newer_as_last(data)
    return subscription


def encode_assignment(
    assignment: ConsumerProtocolAssignment, version: int = CONSUMER_PROTOCOL_VERSION
) -> bytes:
    """The bytes of `SyncGroupRequest.assignments[].assignment`."""
    return ASSIGNMENT.encode(assignment, version)


def decode_assignment(data: Buffer) -> ConsumerProtocolAssignment:
    """Read an assignment of any version."""
    assignment: ConsumerProtocolAssignment = ASSIGNMENT.decode_newer_as_last(data)
    return assignment
