"""DescribeGroups (key 15), versions 0 to 6, flexible from 5.

Shows the state and the members of classic groups. Metadata and assignments are filled in while a group
is stable, and empty otherwise.

- 1: the throttle time
- 3: authorized operations, where asked for; the lowest int32 stands for "not asked"
- 4: static members (KIP-345)
- 6: an unknown group is an error, GROUP_ID_NOT_FOUND with a message, no longer a dead group (KIP-1043)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, versions


@dataclass(slots=True)
class DescribeGroupsRequest:
    groups: list[str] = field(default_factory=list)
    include_authorized_operations: Annotated[bool, versions("3+")] = False


@dataclass(slots=True)
class DescribedGroupMember:
    member_id: str = ""
    group_instance_id: Annotated[str | None, versions("4+"), ignorable] = None
    client_id: str = ""
    client_host: str = ""
    member_metadata: bytes = b""
    member_assignment: bytes = b""


@dataclass(slots=True)
class DescribedGroup:
    error_code: Int16 = 0
    error_message: Annotated[str | None, versions("6+")] = None
    group_id: str = ""
    group_state: str = ""
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = field(default_factory=list)
    authorized_operations: Annotated[Int32, versions("3+")] = -(2**31)


@dataclass(slots=True)
class DescribeGroupsResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    groups: list[DescribedGroup] = field(default_factory=list)
