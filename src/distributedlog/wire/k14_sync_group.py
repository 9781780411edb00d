"""SyncGroup (key 14), versions 0 to 5, flexible from 4.

Hands the leader's plan to the members of a classic group: the leader sends all assignments, the others
send none, and each gets its own back.

- 1: the throttle time
- 3: static members (KIP-345)
- 5: the protocol's type and name on both sides, to be checked against the group's (KIP-559)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, versions


@dataclass(slots=True)
class SyncGroupRequestAssignment:
    member_id: str = ""
    assignment: bytes = b""


@dataclass(slots=True)
class SyncGroupRequest:
    group_id: str = ""
    generation_id: Int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, versions("3+")] = None
    protocol_type: Annotated[str | None, versions("5+"), ignorable] = None
    protocol_name: Annotated[str | None, versions("5+"), ignorable] = None
    assignments: list[SyncGroupRequestAssignment] = field(default_factory=list)


@dataclass(slots=True)
class SyncGroupResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    error_code: Int16 = 0
    protocol_type: Annotated[str | None, versions("5+"), ignorable] = None
    protocol_name: Annotated[str | None, versions("5+"), ignorable] = None
    assignment: bytes = b""
