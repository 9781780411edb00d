"""OffsetCommit (key 8), versions 2 to 10, flexible from 8.

Keeps a group's positions. The group's coordinator answers it; a generation of -1 with an empty member
id commits from outside of any membership.

- 2: ``retention_time_ms``
- 5: retention is the broker's business again
- 6: the leader epoch of the last record consumed (KIP-320)
- 7: static members (KIP-345)
- 9: open to members of the new group protocol, whose epoch stands in the generation's place (KIP-848)
- 10: topics by id in place of their names
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Int64, Uuid, ignorable, versions


@dataclass(slots=True)
class OffsetCommitRequestPartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, versions("6+"), ignorable] = -1
    committed_metadata: str | None = ""


@dataclass(slots=True)
class OffsetCommitRequestTopic:
    name: Annotated[str, versions("0-9"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("10+"), ignorable] = ZERO_UUID
    partitions: list[OffsetCommitRequestPartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetCommitRequest:
    group_id: str = ""
    generation_id_or_member_epoch: Annotated[Int32, versions("1+"), ignorable] = -1
    member_id: Annotated[str, versions("1+"), ignorable] = ""
    group_instance_id: Annotated[str | None, versions("7+")] = None
    retention_time_ms: Annotated[Int64, versions("2-4"), ignorable] = -1
    topics: list[OffsetCommitRequestTopic] = field(default_factory=list)


@dataclass(slots=True)
class OffsetCommitResponsePartition:
    partition_index: Int32 = 0
    error_code: Int16 = 0


@dataclass(slots=True)
class OffsetCommitResponseTopic:
    name: Annotated[str, versions("0-9"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("10+"), ignorable] = ZERO_UUID
    partitions: list[OffsetCommitResponsePartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetCommitResponse:
    throttle_time_ms: Annotated[Int32, versions("3+"), ignorable] = 0
    topics: list[OffsetCommitResponseTopic] = field(default_factory=list)
