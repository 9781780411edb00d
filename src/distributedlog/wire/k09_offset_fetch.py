"""OffsetFetch (key 9), versions 1 to 10, flexible from 6.

Returns the positions that groups have committed; -1 where there is none. A null list of topics asks
for everything the group has.

- 2: the null list, and an error for the whole group
- 5: the leader epoch beside the offset (KIP-320)
- 7: ``require_stable`` refuses offsets that an open transaction may still change (KIP-447)
- 8: many groups in one request: from here on everything stands in ``groups``
- 9: the member's id and epoch, checked under the new group protocol (KIP-848)
- 10: topics by id in place of their names
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Int64, Uuid, ignorable, nullable, versions


@dataclass(slots=True)
class OffsetFetchRequestTopic:
    name: str = ""
    partition_indexes: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class OffsetFetchRequestGroupTopic:
    name: Annotated[str, versions("8-9"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("10+"), ignorable] = ZERO_UUID
    partition_indexes: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class OffsetFetchRequestGroup:
    group_id: str = ""
    member_id: Annotated[str | None, versions("9+"), ignorable] = None
    member_epoch: Annotated[Int32, versions("9+"), ignorable] = -1
    topics: list[OffsetFetchRequestGroupTopic] | None = field(default_factory=list)


@dataclass(slots=True)
class OffsetFetchRequest:
    group_id: Annotated[str, versions("0-7")] = ""
    topics: Annotated[list[OffsetFetchRequestTopic] | None, versions("0-7"), nullable("2-7")] = field(
        default_factory=list
    )
    groups: Annotated[list[OffsetFetchRequestGroup], versions("8+")] = field(default_factory=list)
    require_stable: Annotated[bool, versions("7+")] = False


@dataclass(slots=True)
class OffsetFetchResponsePartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, versions("5-7"), ignorable] = -1
    metadata: str | None = ""
    error_code: Int16 = 0


@dataclass(slots=True)
class OffsetFetchResponseTopic:
    name: str = ""
    partitions: list[OffsetFetchResponsePartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetFetchResponseGroupPartition:
    partition_index: Int32 = 0
    committed_offset: Int64 = 0
    committed_leader_epoch: Annotated[Int32, ignorable] = -1
    metadata: str | None = ""
    error_code: Int16 = 0


@dataclass(slots=True)
class OffsetFetchResponseGroupTopic:
    name: Annotated[str, versions("8-9"), ignorable] = ""
    topic_id: Annotated[Uuid, versions("10+"), ignorable] = ZERO_UUID
    partitions: list[OffsetFetchResponseGroupPartition] = field(default_factory=list)


@dataclass(slots=True)
class OffsetFetchResponseGroup:
    group_id: str = ""
    topics: list[OffsetFetchResponseGroupTopic] = field(default_factory=list)
    error_code: Int16 = 0


@dataclass(slots=True)
class OffsetFetchResponse:
    throttle_time_ms: Annotated[Int32, versions("3+"), ignorable] = 0
    topics: Annotated[list[OffsetFetchResponseTopic], versions("0-7")] = field(default_factory=list)
    error_code: Annotated[Int16, versions("2-7"), ignorable] = 0
    groups: Annotated[list[OffsetFetchResponseGroup], versions("8+")] = field(default_factory=list)
