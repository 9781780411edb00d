"""ListOffsets (key 2), versions 1 to 11, flexible from 6.

Finds the offset of a moment in time, or of one of the places that negative timestamps stand for:
-1 latest, -2 earliest, -3 the record with the largest timestamp, -4 earliest on local disk,
-5 latest in tiered storage, -6 earliest that still waits for its upload.

- 2: ``isolation_level``; with read_committed, latest is the last stable offset
- 4: leader epochs on both sides (KIP-320)
- 5: the error OFFSET_NOT_AVAILABLE of a leader that is not yet sure of its high watermark
- 7: timestamp -3 (KIP-734)
- 8: timestamp -4 (KIP-405)
- 9: timestamp -5 (KIP-1005)
- 10: ``timeout_ms`` for look-ups in remote storage (KIP-1075)
- 11: timestamp -6 (KIP-1023)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class ListOffsetsPartition:
    partition_index: Int32 = 0
    current_leader_epoch: Annotated[Int32, versions("4+"), ignorable] = -1
    timestamp: Int64 = 0


@dataclass(slots=True)
class ListOffsetsTopic:
    name: str = ""
    partitions: list[ListOffsetsPartition] = field(default_factory=list)


@dataclass(slots=True)
class ListOffsetsRequest:
    replica_id: Int32 = 0
    isolation_level: Annotated[Int8, versions("2+")] = 0
    topics: list[ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: Annotated[Int32, versions("10+"), ignorable] = 0


@dataclass(slots=True)
class ListOffsetsPartitionResponse:
    partition_index: Int32 = 0
    error_code: Int16 = 0
    timestamp: Annotated[Int64, versions("1+")] = -1
    offset: Annotated[Int64, versions("1+")] = -1
    leader_epoch: Annotated[Int32, versions("4+")] = -1


@dataclass(slots=True)
class ListOffsetsTopicResponse:
    name: str = ""
    partitions: list[ListOffsetsPartitionResponse] = field(default_factory=list)


@dataclass(slots=True)
class ListOffsetsResponse:
    throttle_time_ms: Annotated[Int32, versions("2+"), ignorable] = 0
    topics: list[ListOffsetsTopicResponse] = field(default_factory=list)
