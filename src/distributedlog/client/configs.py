"""Reading and changing the configuration of topics, brokers and groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import check
from distributedlog.wire.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from distributedlog.wire.k44_incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class ConfigSource(IntEnum):
    """Where a value comes from; the lower, the more particular. 7 and 8 came with later APIs."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    CLIENT_METRICS_CONFIG = 7
    GROUP_CONFIG = 8


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """``value`` is None for DELETE."""

    name: str
    operation: ConfigOperation
    value: str | None = None


async def describe_config(
    client: ClusterClient, kind: ResourceType, name: str, *, keys: Sequence[str] | None = None
) -> list[DescribeConfigsResourceResult]:
    """The entries of one resource in the order of their names; all of them with `keys` None."""
    resource = DescribeConfigsResource(kind, name, None if keys is None else list(keys))

    async def attempt() -> list[DescribeConfigsResourceResult]:
        request = DescribeConfigsRequest([resource], include_synonyms=True)
        node = _node_of(kind, name)
        response: DescribeConfigsResponse = (
            await client.ask_any(request) if node is None else await client.ask_node(node, request)
        )
        result = response.results[0]
        check(result.error_code, f"describe the configuration of {_what(kind, name)}", result.error_message)
        return sorted(result.configs, key=lambda entry: entry.name)

    return await client.retrying(attempt)


async def alter_config(
    client: ClusterClient,
    kind: ResourceType,
    name: str,
    changes: Sequence[ConfigChange],
    *,
    validate_only: bool = False,
) -> None:
    """Change some entries of one resource, all or none, and leave the others alone."""
    resource = IncrementalAlterConfigsResource(
        kind,
        name,
        [IncrementalAlterableConfig(change.name, change.operation, change.value) for change in changes],
    )
    request = IncrementalAlterConfigsRequest([resource], validate_only)
    node = _node_of(kind, name)
    response: IncrementalAlterConfigsResponse = (
        await client.ask_controller(request) if node is None else await client.ask_node(node, request)
    )
    result = response.responses[0]
    check(result.error_code, f"change the configuration of {_what(kind, name)}", result.error_message)


def _node_of(kind: ResourceType, name: str) -> int | None:
    """A single broker's configuration is that broker's own to tell and to change."""
    return int(name) if kind in {ResourceType.BROKER, ResourceType.BROKER_LOGGER} and name else None


def _what(kind: ResourceType, name: str) -> str:
    return f"{kind.name.lower().replace('_', ' ')} {name or '(all)'}"
