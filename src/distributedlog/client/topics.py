"""What administrators do to topics; each raises BrokerError when the cluster refuses."""

from collections.abc import Mapping
from typing import Final

from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.errors import check
from distributedlog.wire.k19_create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from distributedlog.wire.k20_delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from distributedlog.wire.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)

BROKERS_DEFAULT: Final = -1


async def create_topic(
    client: ClusterClient,
    name: str,
    *,
    partitions: int = BROKERS_DEFAULT,
    replication_factor: int = BROKERS_DEFAULT,
    configs: Mapping[str, str] | None = None,
    validate_only: bool = False,
) -> CreatableTopicResult:
    """Create one topic. Not retried by itself after a lost connection: the topic may be there already."""
    topic = CreatableTopic(
        name,
        partitions,
        replication_factor,
        configs=[CreatableTopicConfig(key, value) for key, value in (configs or {}).items()],
    )
    request = CreateTopicsRequest([topic], client.settings.request_timeout_ms, validate_only)
    response: CreateTopicsResponse = await client.ask_controller(request)
    result = response.topics[0]
    check(result.error_code, f"create topic {name}", result.error_message)
    return result


async def delete_topic(client: ClusterClient, name: str) -> None:
    """Delete one topic and all that is in it."""
    request = DeleteTopicsRequest([DeleteTopicState(name)], [name], client.settings.request_timeout_ms)
    response: DeleteTopicsResponse = await client.ask_controller(request)
    result = response.responses[0]
    check(result.error_code, f"delete topic {name}", result.error_message)


async def create_partitions(
    client: ClusterClient, name: str, total: int, *, validate_only: bool = False
) -> None:
    """Raise the number of a topic's partitions to `total`."""
    topic = CreatePartitionsTopic(name, total, None)
    request = CreatePartitionsRequest([topic], client.settings.request_timeout_ms, validate_only)
    response: CreatePartitionsResponse = await client.ask_controller(request)
    result = response.results[0]
    check(result.error_code, f"add partitions to topic {name}", result.error_message)
