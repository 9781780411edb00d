"""CreatePartitions (key 37), versions 0 to 3, flexible from 2.

Raises the partition count of topics; ``count`` is the new total. Assignments, where given, place
the new partitions only, one entry each; null lets the controller choose.

- 1: the broker answers before it throttles (KIP-219)
- 3: may answer THROTTLING_QUOTA_EXCEEDED (KIP-599)
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class CreatePartitionsAssignment:
    broker_ids: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class CreatePartitionsTopic:
    name: str = ""
    count: Int32 = 0
    assignments: list[CreatePartitionsAssignment] | None = field(default_factory=list)


@dataclass(slots=True)
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: Int32 = 0
    validate_only: bool = False


@dataclass(slots=True)
class CreatePartitionsTopicResult:
    name: str = ""
    error_code: Int16 = 0
    error_message: str | None = None


@dataclass(slots=True)
class CreatePartitionsResponse:
    throttle_time_ms: Int32 = 0
    results: list[CreatePartitionsTopicResult] = field(default_factory=list)
