"""CreateTopics (key 19), versions 2 to 7, flexible from 5.

Creates topics, or with ``validate_only`` tells whether it would. Placement is either counted
(partitions and replication factor) or spelled out in ``assignments``, with -1 in both counts.

- 2: the throttle time
- 4: -1 in a count means the broker's default (KIP-464)
- 5: the counts and configuration that the topic got (KIP-525)
- 6: the error THROTTLING_QUOTA_EXCEEDED (KIP-599)
- 7: the new topic's id
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int8, Int16, Int32, Uuid, ignorable, tagged, versions


@dataclass(slots=True)
class CreatableReplicaAssignment:
    partition_index: Int32 = 0
    broker_ids: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class CreatableTopicConfig:
    name: str = ""
    value: str | None = ""


@dataclass(slots=True)
class CreatableTopic:
    name: str = ""
    num_partitions: Int32 = 0
    replication_factor: Int16 = 0
    assignments: list[CreatableReplicaAssignment] = field(default_factory=list)
    configs: list[CreatableTopicConfig] = field(default_factory=list)


@dataclass(slots=True)
class CreateTopicsRequest:
    topics: list[CreatableTopic] = field(default_factory=list)
    timeout_ms: Int32 = 60_000
    validate_only: Annotated[bool, versions("1+")] = False


@dataclass(slots=True)
class CreatableTopicResultConfig:
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: Annotated[Int8, ignorable] = -1
    is_sensitive: bool = False


@dataclass(slots=True)
class CreatableTopicResult:
    name: str = ""
    topic_id: Annotated[Uuid, versions("7+"), ignorable] = ZERO_UUID
    error_code: Int16 = 0
    error_message: Annotated[str | None, versions("1+"), ignorable] = ""
    topic_config_error_code: Annotated[Int16, tagged(0, "5+"), ignorable] = 0
    num_partitions: Annotated[Int32, versions("5+"), ignorable] = -1
    replication_factor: Annotated[Int16, versions("5+"), ignorable] = -1
    configs: Annotated[list[CreatableTopicResultConfig] | None, versions("5+"), ignorable] = field(
        default_factory=list
    )


@dataclass(slots=True)
class CreateTopicsResponse:
    throttle_time_ms: Annotated[Int32, versions("2+"), ignorable] = 0
    topics: list[CreatableTopicResult] = field(default_factory=list)
