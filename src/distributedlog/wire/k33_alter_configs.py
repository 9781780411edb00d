"""AlterConfigs (key 33), versions 0 to 2, flexible from 2.

Replaces the whole configuration of a resource: an entry that the request leaves out falls back to
its default. IncrementalAlterConfigs (key 44) came to spare clients this surprise.

- 1: the broker answers before it throttles (KIP-219)
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int8, Int16, Int32


@dataclass(slots=True)
class AlterableConfig:
    name: str = ""
    value: str | None = ""


@dataclass(slots=True)
class AlterConfigsResource:
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: list[AlterableConfig] = field(default_factory=list)


@dataclass(slots=True)
class AlterConfigsRequest:
    resources: list[AlterConfigsResource] = field(default_factory=list)
    validate_only: bool = False


@dataclass(slots=True)
class AlterConfigsResourceResponse:
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""


@dataclass(slots=True)
class AlterConfigsResponse:
    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = field(default_factory=list)
