"""The records of the consumer group protocol of KIP-848 in ``__consumer_offsets``.

Keys are never flexible, values always are; all are version 0 and grow by tagged fields.
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int8, Int32, Int64, Uuid, ignorable, tagged


@dataclass(slots=True)
class ConsumerGroupMetadataKey:
    group_id: str = ""


@dataclass(slots=True)
class ConsumerGroupMetadataValue:
    epoch: Int32 = 0
    metadata_hash: Annotated[Int64, tagged(0, "0+")] = 0


@dataclass(slots=True)
class ConsumerGroupPartitionMetadataKey:
    group_id: str = ""


@dataclass(slots=True)
class PartitionMetadata:
    partition: Int32 = 0
    racks: list[str] = field(default_factory=list)


@dataclass(slots=True)
class TopicMetadata:
    topic_id: Uuid = ZERO_UUID
    topic_name: str = ""
    num_partitions: Int32 = 0
    partition_metadata: list[PartitionMetadata] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupPartitionMetadataValue:
    """Written up to Kafka 4.0; since then the hash in the group's own record takes its place."""

    topics: list[TopicMetadata] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupMemberMetadataKey:
    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True)
class ClassicProtocol:
    name: str = ""
    metadata: bytes = b""


@dataclass(slots=True)
class ClassicMemberMetadata:
    session_timeout_ms: Int32 = 0
    supported_protocols: list[ClassicProtocol] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupMemberMetadataValue:
    instance_id: str | None = ""
    rack_id: str | None = ""
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    subscribed_topic_regex: str | None = ""
    rebalance_timeout_ms: Int32 = -1
    server_assignor: str | None = ""
    #: Kafka's default is an empty struct, so that a member of the new protocol has a null written out.
    classic_member_metadata: Annotated[ClassicMemberMetadata | None, tagged(0, "0+")] = field(
        default_factory=ClassicMemberMetadata
    )


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: str = ""


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMetadataValue:
    assignment_epoch: Int32 = 0
    assignment_timestamp: Annotated[Int64, tagged(0, "0+"), ignorable] = 0


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True)
class TargetTopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupTargetAssignmentMemberValue:
    topic_partitions: list[TargetTopicPartitions] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupCurrentMemberAssignmentKey:
    group_id: str = ""
    member_id: str = ""


@dataclass(slots=True)
class CurrentTopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = field(default_factory=list)
    assignment_epochs: Annotated[list[Int32] | None, tagged(0, "0+")] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupCurrentMemberAssignmentValue:
    member_epoch: Int32 = 0
    previous_member_epoch: Int32 = 0
    state: Int8 = 0
    assigned_partitions: list[CurrentTopicPartitions] = field(default_factory=list)
    partitions_pending_revocation: list[CurrentTopicPartitions] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupRegularExpressionKey:
    group_id: str = ""
    regular_expression: str = ""


@dataclass(slots=True)
class ConsumerGroupRegularExpressionValue:
    topics: list[str] = field(default_factory=list)
    version: Int64 = 0
    timestamp: Int64 = 0
