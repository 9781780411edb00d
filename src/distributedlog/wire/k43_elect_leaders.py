"""ElectLeaders (key 43), versions 0 to 2, flexible from 2.

Asks the controller to elect the preferred replica of partitions as leader, or, as the last
resort, a replica that is not in sync. Null ``topic_partitions`` mean every partition.

- 1: the election's type, 0 preferred and 1 unclean; an error code for the whole answer (KIP-460)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, versions


@dataclass(slots=True)
class ElectLeadersTopicPartitions:
    topic: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class ElectLeadersRequest:
    election_type: Annotated[Int8, versions("1+")] = 0
    topic_partitions: list[ElectLeadersTopicPartitions] | None = field(default_factory=list)
    timeout_ms: Int32 = 60_000


@dataclass(slots=True)
class PartitionElectionResult:
    partition_id: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""


@dataclass(slots=True)
class ReplicaElectionResult:
    topic: str = ""
    partition_result: list[PartitionElectionResult] = field(default_factory=list)


@dataclass(slots=True)
class ElectLeadersResponse:
    throttle_time_ms: Int32 = 0
    error_code: Annotated[Int16, versions("1+")] = 0
    replica_election_results: list[ReplicaElectionResult] = field(default_factory=list)
