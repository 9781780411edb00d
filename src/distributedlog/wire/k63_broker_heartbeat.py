"""BrokerHeartbeat (key 63), versions 0 to 2, flexible from 0.

A broker tells the controller that it lives, how far it has read the metadata, and what it wants: to
stay fenced, or to shut down once its leaderships have moved. The answer allows it (KIP-631).

- 1: the data directories that have failed (KIP-858)
- 2: the data directories that take no new partitions; null while it is still
  finding out (KIP-1066)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, Uuid, tagged


@dataclass(slots=True)
class BrokerHeartbeatRequest:
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    current_metadata_offset: Int64 = 0
    want_fence: bool = False
    want_shut_down: bool = False
    offline_log_dirs: Annotated[list[Uuid], tagged(0, "1+")] = field(default_factory=list)
    cordoned_log_dirs: Annotated[list[Uuid] | None, tagged(1, "2+")] = None


@dataclass(slots=True)
class BrokerHeartbeatResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    is_caught_up: bool = False
    is_fenced: bool = True
    should_shut_down: bool = False
