"""Heartbeat (key 12), versions 0 to 4, flexible from 4.

Keeps a member of a classic group alive. REBALANCE_IN_PROGRESS in the answer calls it back to
JoinGroup.

- 1: the throttle time
- 3: static members (KIP-345)
"""

from dataclasses import dataclass
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, ignorable, versions


@dataclass(slots=True)
class HeartbeatRequest:
    group_id: str = ""
    generation_id: Int32 = 0
    member_id: str = ""
    group_instance_id: Annotated[str | None, versions("3+")] = None


@dataclass(slots=True)
class HeartbeatResponse:
    throttle_time_ms: Annotated[Int32, versions("1+"), ignorable] = 0
    error_code: Int16 = 0
