"""The records of the classic group protocol in ``__consumer_offsets``: offsets and group metadata.

- offset commit value 1: expiry; 3: leader epoch, and expiry no longer; 4: flexible, topic id
- group metadata value 1: rebalance timeout; 2: time of the current state; 3: static members;
  4: flexible
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import (
    ZERO_UUID,
    Int32,
    Int64,
    Uuid,
    ignorable,
    nullable,
    tagged,
    versions,
)


@dataclass(slots=True)
class OffsetCommitKey:
    group: str = ""
    topic: str = ""
    partition: Int32 = 0


@dataclass(slots=True)
class OffsetCommitValue:
    offset: Int64 = 0
    leader_epoch: Annotated[Int32, versions("3+"), ignorable] = -1
    metadata: str = ""
    commit_timestamp: Int64 = 0
    expire_timestamp: Annotated[Int64, versions("1"), ignorable] = -1
    topic_id: Annotated[Uuid, tagged(0, "4+"), ignorable] = ZERO_UUID


@dataclass(slots=True)
class GroupMetadataKey:
    group: str = ""


@dataclass(slots=True)
class MemberMetadata:
    member_id: str = ""
    group_instance_id: Annotated[str | None, versions("3+"), nullable("3+"), ignorable] = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout: Annotated[Int32, versions("1+"), ignorable] = -1
    session_timeout: Int32 = 0
    subscription: bytes = b""
    assignment: bytes = b""


@dataclass(slots=True)
class GroupMetadataValue:
    protocol_type: str = ""
    generation: Int32 = 0
    protocol: str | None = ""
    leader: str | None = ""
    current_state_timestamp: Annotated[Int64, versions("2+"), ignorable] = -1
    members: list[MemberMetadata] = field(default_factory=list)
