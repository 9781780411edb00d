"""AlterPartitionReassignments (key 45), versions 0 to 1, flexible from 0.

Starts, replaces or cancels the move of partitions to other brokers (KIP-455). Null ``replicas``
cancel the move that is under way.

- 1: the caller may forbid a change of the replication factor
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, versions


@dataclass(slots=True)
class ReassignablePartition:
    partition_index: Int32 = 0
    replicas: list[Int32] | None = None


@dataclass(slots=True)
class ReassignableTopic:
    name: str = ""
    partitions: list[ReassignablePartition] = field(default_factory=list)


@dataclass(slots=True)
class AlterPartitionReassignmentsRequest:
    timeout_ms: Int32 = 60_000
    allow_replication_factor_change: Annotated[bool, versions("1+")] = True
    topics: list[ReassignableTopic] = field(default_factory=list)


@dataclass(slots=True)
class ReassignablePartitionResponse:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""


@dataclass(slots=True)
class ReassignableTopicResponse:
    name: str = ""
    partitions: list[ReassignablePartitionResponse] = field(default_factory=list)


@dataclass(slots=True)
class AlterPartitionReassignmentsResponse:
    throttle_time_ms: Int32 = 0
    allow_replication_factor_change: Annotated[bool, versions("1+"), ignorable] = True
    error_code: Int16 = 0
    error_message: str | None = ""
    responses: list[ReassignableTopicResponse] = field(default_factory=list)
