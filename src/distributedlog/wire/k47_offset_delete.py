"""OffsetDelete (key 47), version 0, never flexible.

Deletes a group's committed offsets of some partitions (KIP-496). While the group consumes a
topic, its partitions are refused with GROUP_SUBSCRIBED_TO_TOPIC. In the response, unlike
elsewhere, the error code comes before the throttle time.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class OffsetDeleteRequestPartition:
    partition_index: Int32 = 0


@dataclass(slots=True)
class OffsetDeleteRequestTopic:
    name: str = ""
    partitions: list[OffsetDeleteRequestPartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetDeleteRequest:
    group_id: str = ""
    topics: list[OffsetDeleteRequestTopic] = field(default_factory=list)


@dataclass(slots=True)
class OffsetDeleteResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@dataclass(slots=True)
class OffsetDeleteResponseTopic:
    name: str = ""
    partitions: list[OffsetDeleteResponsePartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetDeleteResponse:
    error_code: Int16 = 0
    throttle_time_ms: Int32 = 0
    topics: list[OffsetDeleteResponseTopic] = field(default_factory=list)
