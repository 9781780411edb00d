"""LeaveGroup (key 13), versions 0 to 5, flexible from 4.

Takes members out of a classic group at once, without waiting for their session to run out.

- 1: the throttle time
- 3: many members, named by member id or by instance id, each with its own error (KIP-345)
- 5: ``reason`` (KIP-800)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, versions


@dataclass(slots=True)
class MemberIdentity:
    member_id: str = ""
    group_instance_id: str | None = None
    reason: Annotated[str | None, versions("5+"), ignorable] = None


@dataclass(slots=True)
class LeaveGroupRequest:
    group_id: str = ""
    member_id: Annotated[str, versions("0-2")] = ""
    members: Annotated[list[MemberIdentity], versions("3+")] = field(default_factory=list)


@dataclass(slots=True)
class MemberResponse:
    member_id: str = ""
    group_instance_id: str | None = ""
    error_code: Int16 = 0


@dataclass(slots=True)
class LeaveGroupResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    error_code: Int16 = 0
    members: Annotated[list[MemberResponse], versions("3+")] = field(default_factory=list)
