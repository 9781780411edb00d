"""AlterReplicaLogDirs (key 34), versions 1 to 2, flexible from 2.

Moves replicas to another data directory of the broker that receives the request. The answer says
that the move was taken on; DescribeLogDirs (key 35) tells how far it got.

- 1: the broker answers before it throttles (KIP-219)
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class AlterReplicaLogDirTopic:
    name: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class AlterReplicaLogDir:
    path: str = ""
    topics: list[AlterReplicaLogDirTopic] = field(default_factory=list)


@dataclass(slots=True)
class AlterReplicaLogDirsRequest:
    dirs: list[AlterReplicaLogDir] = field(default_factory=list)


@dataclass(slots=True)
class AlterReplicaLogDirPartitionResult:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@dataclass(slots=True)
class AlterReplicaLogDirTopicResult:
    topic_name: str = ""
    partitions: list[AlterReplicaLogDirPartitionResult] = field(default_factory=list)


@dataclass(slots=True)
class AlterReplicaLogDirsResponse:
    throttle_time_ms: Int32 = 0
    results: list[AlterReplicaLogDirTopicResult] = field(default_factory=list)
