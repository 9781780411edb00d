"""IncrementalAlterConfigs (key 44), versions 0 to 1, flexible from 1.

Changes single entries of a resource's configuration and leaves the others alone (KIP-339).
Operations: 0 set, 1 delete (back to the default), 2 append and 3 subtract, the last two for
entries that are lists. A resource's changes are applied together or not at all.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import Int8, Int16, Int32


@dataclass(slots=True)
class IncrementalAlterableConfig:
    name: str = ""
    config_operation: Int8 = 0
    value: str | None = ""


@dataclass(slots=True)
class IncrementalAlterConfigsResource:
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: list[IncrementalAlterableConfig] = field(default_factory=list)


@dataclass(slots=True)
class IncrementalAlterConfigsRequest:
    resources: list[IncrementalAlterConfigsResource] = field(default_factory=list)
    validate_only: bool = False


@dataclass(slots=True)
class IncrementalAlterConfigsResourceResponse:
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""


@dataclass(slots=True)
class IncrementalAlterConfigsResponse:
    throttle_time_ms: Int32 = 0
    responses: list[IncrementalAlterConfigsResourceResponse] = field(default_factory=list)
