"""CreateAcls (key 30), versions 1 to 3, flexible from 2.

Adds access rules. The results stand in the order of the creations and name nothing else, so a
broker must answer every creation, also a refused one.

- 1: prefixed resource patterns (KIP-290); the broker answers before it throttles (KIP-219)
- 3: users as a resource type, for delegation tokens (KIP-373)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, versions


@dataclass(slots=True)
class AclCreation:
    resource_type: Int8 = 0
    resource_name: str = ""
    resource_pattern_type: Annotated[Int8, versions("1+")] = 3
    principal: str = ""
    host: str = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@dataclass(slots=True)
class CreateAclsRequest:
    creations: list[AclCreation] = field(default_factory=list)


@dataclass(slots=True)
class AclCreationResult:
    error_code: Int16 = 0
    error_message: str | None = ""


@dataclass(slots=True)
class CreateAclsResponse:
    throttle_time_ms: Int32 = 0
    results: list[AclCreationResult] = field(default_factory=list)
