"""JoinGroup (key 11), versions 0 to 9, flexible from 6.

Enters a classic group, or comes back to it for a rebalance. The answer waits until all members are
there; the leader alone gets the list of them and decides who reads what.

- 1: ``rebalance_timeout_ms``; without it the session's timeout counts
- 2: the throttle time
- 4: a newcomer is given a member id with MEMBER_ID_REQUIRED and joins a second time (KIP-394)
- 5: static members (KIP-345)
- 7: ``protocol_type`` comes back, and both names may be null (KIP-559)
- 8: ``reason`` (KIP-800)
- 9: ``skip_assignment`` for a static leader that came back (KIP-814)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, nullable, versions


@dataclass(slots=True)
class JoinGroupRequestProtocol:
    name: str = ""
    metadata: bytes = b""


@dataclass(slots=True)
class JoinGroupRequest:
    group_id: str = ""
    session_timeout_ms: Int32 = 0
    rebalance_timeout_ms: Annotated[Int32, versions("1+"), ignorable] = -1
    member_id: str = ""
    group_instance_id: Annotated[str | None, versions("5+")] = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequestProtocol] = field(default_factory=list)
    reason: Annotated[str | None, versions("8+"), ignorable] = None


@dataclass(slots=True)
class JoinGroupResponseMember:
    member_id: str = ""
    group_instance_id: Annotated[str | None, versions("5+"), ignorable] = None
    metadata: bytes = b""


@dataclass(slots=True)
class JoinGroupResponse:
    throttle_time_ms: Annotated[Int32, versions("2+"), ignorable] = 0
    error_code: Int16 = 0
    generation_id: Int32 = -1
    protocol_type: Annotated[str | None, versions("7+"), ignorable] = None
    protocol_name: Annotated[str | None, nullable("7+")] = ""
    leader: str = ""
    skip_assignment: Annotated[bool, versions("9+")] = False
    member_id: str = ""
    members: list[JoinGroupResponseMember] = field(default_factory=list)
