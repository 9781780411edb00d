"""DescribeConfigs (key 32), versions 1 to 4, flexible from 4.

Tells the configuration of topics, brokers, broker loggers, client metrics and groups, each entry
with the source its value comes from. Null ``configuration_keys`` ask for all entries; a
sensitive entry is answered with a null value.

- 1: where a value comes from, and the synonyms it overrides (KIP-226)
- 2: the broker answers before it throttles (KIP-219)
- 3: the type and the documentation of an entry (KIP-569)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, ignorable, versions


@dataclass(slots=True)
class DescribeConfigsResource:
    resource_type: Int8 = 0
    resource_name: str = ""
    configuration_keys: list[str] | None = field(default_factory=list)


@dataclass(slots=True)
class DescribeConfigsRequest:
    resources: list[DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: Annotated[bool, versions("1+")] = False
    include_documentation: Annotated[bool, versions("3+")] = False


@dataclass(slots=True)
class DescribeConfigsSynonym:
    name: str = ""
    value: str | None = ""
    source: Int8 = 0


@dataclass(slots=True)
class DescribeConfigsResourceResult:
    name: str = ""
    value: str | None = ""
    read_only: bool = False
    config_source: Annotated[Int8, versions("1+"), ignorable] = -1
    is_sensitive: bool = False
    synonyms: Annotated[list[DescribeConfigsSynonym], versions("1+"), ignorable] = field(default_factory=list)
    config_type: Annotated[Int8, versions("3+"), ignorable] = 0
    documentation: Annotated[str | None, versions("3+"), ignorable] = ""


@dataclass(slots=True)
class DescribeConfigsResult:
    error_code: Int16 = 0
    error_message: str | None = ""
    resource_type: Int8 = 0
    resource_name: str = ""
    configs: list[DescribeConfigsResourceResult] = field(default_factory=list)


@dataclass(slots=True)
class DescribeConfigsResponse:
    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult] = field(default_factory=list)
