"""DeleteGroups (key 42), versions 0 to 2, flexible from 2.

Deletes groups and their committed offsets. It goes to the groups' coordinator, and a group that
still has members is refused with NON_EMPTY_GROUP.

- 1: the broker answers before it throttles (KIP-219)
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class DeleteGroupsRequest:
    groups_names: list[str] = field(default_factory=list)


@dataclass(slots=True)
class DeletableGroupResult:
    group_id: str = ""
    error_code: Int16 = 0


@dataclass(slots=True)
class DeleteGroupsResponse:
    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult] = field(default_factory=list)
