"""DescribeConfigs: every known entry of topics, brokers and groups, with where its value comes from."""

from typing import TYPE_CHECKING

from distributedlog.broker.config_entries import (
    ConfigEntry,
    all_brokers_entries,
    broker_entries,
    group_entries,
    topic_entries,
)
from distributedlog.broker.dynamic_config import ALL_BROKERS
from distributedlog.cluster.image import ResourceType
from distributedlog.cluster.refused import Refused
from distributedlog.cluster.topic_names import check_name
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k32_describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    results = []
    for resource in request.resources:
        result = DescribeConfigsResult(0, None, resource.resource_type, resource.resource_name)
        try:
            entries = _entries(broker, resource)
        except Refused as refusal:
            result.error_code, result.error_message = refusal.code, refusal.message
        else:
            keys = resource.configuration_keys
            wanted = None if keys is None else frozenset(keys)
            result.configs = [
                _result(entry, request) for entry in entries if wanted is None or entry.name in wanted
            ]
        results.append(result)
    return DescribeConfigsResponse(results=results)


def _entries(broker: "Broker", resource: DescribeConfigsResource) -> list[ConfigEntry]:
    name = resource.resource_name
    match resource.resource_type:
        case ResourceType.TOPIC:
            check_name(name)
            topic = broker.image.topics_by_name.get(name)
            if topic is None:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return topic_entries(broker, topic.configs)
        case ResourceType.BROKER:
            if name == ALL_BROKERS:
                return all_brokers_entries(broker)
            if name != str(broker.node_id):
                raise Refused(ErrorCode.INVALID_REQUEST, f"there is no broker {name[:50]!r}")
            return broker_entries(broker)
        case ResourceType.GROUP:
            if not name:
                raise Refused(ErrorCode.INVALID_REQUEST, "a group's name cannot be empty")
            return group_entries(broker, name)
        case other:
            raise Refused(ErrorCode.INVALID_REQUEST, f"resources of type {other} have no configuration here")


def _result(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        entry.name,
        entry.value,
        entry.is_read_only,
        int(entry.source),
        False,
        [DescribeConfigsSynonym(one.name, one.value, int(one.source)) for one in synonyms],
        int(entry.key.type),
        entry.key.documentation if request.include_documentation else None,
    )
