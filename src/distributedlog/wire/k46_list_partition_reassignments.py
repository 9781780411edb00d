"""ListPartitionReassignments (key 46), version 0, flexible from 0.

Lists the moves under way (KIP-455): per partition the whole replica set, and which replicas are on
their way in and out. Null ``topics`` ask for all; a partition that is not moving is left out.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class ListPartitionReassignmentsTopic:
    name: str = ""
    partition_indexes: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class ListPartitionReassignmentsRequest:
    timeout_ms: Int32 = 60_000
    topics: list[ListPartitionReassignmentsTopic] | None = None


@dataclass(slots=True)
class OngoingPartitionReassignment:
    partition_index: Int32 = 0
    replicas: list[Int32] = field(default_factory=list)
    adding_replicas: list[Int32] = field(default_factory=list)
    removing_replicas: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class OngoingTopicReassignment:
    name: str = ""
    partitions: list[OngoingPartitionReassignment] = field(default_factory=list)


@dataclass(slots=True)
class ListPartitionReassignmentsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""
    topics: list[OngoingTopicReassignment] = field(default_factory=list)
