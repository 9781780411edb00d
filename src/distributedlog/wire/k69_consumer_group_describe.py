"""ConsumerGroupDescribe (key 69), versions 0 to 1, flexible from 0.

Tells the state of groups that use the new consumer protocol, with what each member has and what it is
to have (KIP-848). A classic group is answered with GROUP_ID_NOT_FOUND; DescribeGroups (key 15) is for
those.

- 1: whether a member speaks the classic (0) or the new protocol (1), -1 unknown (KIP-1099)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int8, Int16, Int32, Uuid, ignorable, versions


@dataclass(slots=True)
class ConsumerGroupDescribeRequest:
    group_ids: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False


@dataclass(slots=True)
class MemberTopicPartitions:
    topic_id: Uuid = ZERO_UUID
    topic_name: str = ""
    partitions: list[Int32] = field(default_factory=list)


@dataclass(slots=True)
class MemberAssignment:
    topic_partitions: list[MemberTopicPartitions] = field(default_factory=list)


@dataclass(slots=True)
class ConsumerGroupMember:
    member_id: str = ""
    instance_id: str | None = None
    rack_id: str | None = None
    member_epoch: Int32 = 0
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: list[str] = field(default_factory=list)
    subscribed_topic_regex: str | None = None
    assignment: MemberAssignment = field(default_factory=MemberAssignment)
    target_assignment: MemberAssignment = field(default_factory=MemberAssignment)
    member_type: Annotated[Int8, versions("1+"), ignorable] = -1


@dataclass(slots=True)
class DescribedConsumerGroup:
    error_code: Int16 = 0
    error_message: str | None = None
    group_id: str = ""
    group_state: str = ""
    group_epoch: Int32 = 0
    assignment_epoch: Int32 = 0
    assignor_name: str = ""
    members: list[ConsumerGroupMember] = field(default_factory=list)
    authorized_operations: Int32 = -0x80000000


@dataclass(slots=True)
class ConsumerGroupDescribeResponse:
    throttle_time_ms: Int32 = 0
    groups: list[DescribedConsumerGroup] = field(default_factory=list)
