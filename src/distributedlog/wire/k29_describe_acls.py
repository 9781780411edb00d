"""DescribeAcls (key 29), versions 1 to 3, flexible from 2.

Lists the access rules that match a filter, grouped by the resource they protect. A null in the
filter matches anything. Pattern types: 1 any, 2 match, 3 literal, 4 prefixed; only 3 and 4 can be
stored, so only these come back.

- 1: prefixed resource patterns (KIP-290); the broker answers before it throttles (KIP-219)
- 3: users as a resource type, for delegation tokens (KIP-373)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, versions


@dataclass(slots=True)
class DescribeAclsRequest:
    resource_type_filter: Int8 = 0
    resource_name_filter: str | None = ""
    pattern_type_filter: Annotated[Int8, versions("1+")] = 3
    principal_filter: str | None = ""
    host_filter: str | None = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@dataclass(slots=True)
class AclDescription:
    principal: str = ""
    host: str = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@dataclass(slots=True)
class DescribeAclsResource:
    resource_type: Int8 = 0
    resource_name: str = ""
    pattern_type: Annotated[Int8, versions("1+")] = 3
    acls: list[AclDescription] = field(default_factory=list)


@dataclass(slots=True)
class DescribeAclsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""
    resources: list[DescribeAclsResource] = field(default_factory=list)
