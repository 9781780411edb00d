"""DeleteAcls (key 31), versions 1 to 3, flexible from 2.

Deletes every access rule that one of the filters matches, and tells which they were. The results
stand in the order of the filters. A null in a filter matches anything.

- 1: prefixed resource patterns (KIP-290); the broker answers before it throttles (KIP-219)
- 3: users as a resource type, for delegation tokens (KIP-373)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, versions


@dataclass(slots=True)
class DeleteAclsFilter:
    resource_type_filter: Int8 = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: Annotated[Int8, versions("1+")] = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@dataclass(slots=True)
class DeleteAclsRequest:
    filters: list[DeleteAclsFilter] = field(default_factory=list)


@dataclass(slots=True)
class DeleteAclsMatchingAcl:
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""
    pattern_type: Annotated[Int8, versions("1+")] = 3
    principal: str = ""
    host: str = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@dataclass(slots=True)
class DeleteAclsFilterResult:
    error_code: Int16 = 0
    error_message: str | None = ""
    matching_acls: list[DeleteAclsMatchingAcl] = field(default_factory=list)


@dataclass(slots=True)
class DeleteAclsResponse:
    throttle_time_ms: Int32 = 0
    filter_results: list[DeleteAclsFilterResult] = field(default_factory=list)
