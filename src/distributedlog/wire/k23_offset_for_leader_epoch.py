"""OffsetForLeaderEpoch (key 23), versions 2 to 4, flexible from 4.

Tells where a leader epoch ended, so that a follower or a consumer finds out from where its log and the
leader's differ. The answer is for the largest epoch known that is not above the one asked for.

- 2: ``current_leader_epoch`` fences stale readers (KIP-320); the throttle time
- 3: ``replica_id``; its default -2 is the debugging reader, who may see beyond the high watermark
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class OffsetForLeaderPartition:
    partition: Int32 = 0
    current_leader_epoch: Annotated[Int32, versions("2+"), ignorable] = -1
    leader_epoch: Int32 = 0


@dataclass(slots=True)
class OffsetForLeaderTopic:
    topic: str = ""
    partitions: list[OffsetForLeaderPartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetForLeaderEpochRequest:
    replica_id: Annotated[Int32, versions("3+"), ignorable] = -2
    topics: list[OffsetForLeaderTopic] = field(default_factory=list)


@dataclass(slots=True)
class EpochEndOffset:
    error_code: Int16 = 0
    partition: Int32 = 0
    leader_epoch: Annotated[Int32, versions("1+"), ignorable] = -1
    end_offset: Int64 = -1


@dataclass(slots=True)
class OffsetForLeaderTopicResult:
    topic: str = ""
    partitions: list[EpochEndOffset] = field(default_factory=list)


@dataclass(slots=True)
class OffsetForLeaderEpochResponse:
    throttle_time_ms: Annotated[Int32, versions("2+"), ignorable] = 0
    topics: list[OffsetForLeaderTopicResult] = field(default_factory=list)
