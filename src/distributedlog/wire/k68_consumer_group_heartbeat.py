"""ConsumerGroupHeartbeat (key 68), versions 0 to 1, flexible from 0.

The whole life of a member in the new consumer protocol (KIP-848): join with epoch 0, live, leave with
epoch -1 (a static member that will come back: -2). The coordinator assigns. A null field, or a
rebalance timeout of -1, means "as I said before", and a null assignment "as I told you before".

- 1: subscription by regular expression; the member chooses its own id (KIP-1082)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Uuid, versions


@dataclass(slots=True)
class ConsumerGroupTopicPartitions:
    topic_id: Uuid = ZERO_UUID
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupHeartbeatRequest:
    group_id: str = ""
    member_id: str = ""
    member_epoch: Int32 = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: Int32 = -1
    subscribed_topic_names: list[str] | None = None
    subscribed_topic_regex: Annotated[str | None, versions("1+")] = None
    server_assignor: str | None = None
    topic_partitions: list[ConsumerGroupTopicPartitions] | None = None


@dataclass(slots=True)
class ConsumerGroupAssignment:
    topic_partitions: list[ConsumerGroupTopicPartitions] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupHeartbeatResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: Int32 = 0
    heartbeat_interval_ms: Int32 = 0
    assignment: ConsumerGroupAssignment | None = None
