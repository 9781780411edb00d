"""One error as the answer to a whole request, in the shape of its API.

Where the response has an error code of its own that says it; else every part that the request names gets the
code. APIs that have neither are answered by closing the connection: None.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from distributedlog.broker.context import RequestContext
from distributedlog.wire.apis import APIS
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.schema import ZERO_UUID

_TOP_LEVEL: Final = frozenset({1, 9, 10, 11, 12, 13, 14, 16, 18, 22, 35, 42, 47, 48, 60, 68, 71, 72})
#: Versions from which on the error code is at the top, where that is not all of them.
_TOP_LEVEL_SINCE: Final = {1: 7, 3: 13, 35: 3}


def error_response(context: RequestContext, request: Any, error: ErrorCode) -> Any:
    """The response of the request's API that says nothing but this error; None when there is none."""
    api = APIS[context.api_key]
    module = import_module(api.module)
    response = api.message_class("Response")()
    code, message = int(error), error.message
    nested = _NESTED.get(api.key)
    if nested is not None:
        nested(module, context.version, request, response, code, message)
    elif api.key not in _TOP_LEVEL:
        return None
    if hasattr(response, "error_code"):
        if context.version < _TOP_LEVEL_SINCE.get(api.key, 0) and nested is None:
            return None
        response.error_code = code
    if hasattr(response, "error_message"):
        response.error_message = message
    return response


Fill = Callable[[Any, int, Any, Any, int, str], None]


def _metadata(module: Any, version: int, request: Any, response: Any, code: int, _: str) -> None:
    for topic in request.topics or ():
        name = topic.name if topic.name is not None or version >= 12 else ""
        response.topics.append(module.MetadataResponseTopic(code, name, topic.topic_id))


def _create_topics(module: Any, _: int, request: Any, response: Any, code: int, message: str) -> None:
    for topic in request.topics:
        response.topics.append(
            module.CreatableTopicResult(topic.name, error_code=code, error_message=message, configs=[])
        )


def _delete_topics(module: Any, version: int, request: Any, response: Any, code: int, message: str) -> None:
    named = (
        [(state.name, state.topic_id) for state in request.topics]
        if version >= 6
        else [(name, ZERO_UUID) for name in request.topic_names]
    )
    response.responses = [module.DeletableTopicResult(*one, code, message) for one in named]


def _create_partitions(module: Any, _: int, request: Any, response: Any, code: int, message: str) -> None:
    response.results = [module.CreatePartitionsTopicResult(one.name, code, message) for one in request.topics]


def _describe_configs(module: Any, _: int, request: Any, response: Any, code: int, message: str) -> None:
    response.results = [
        module.DescribeConfigsResult(code, message, one.resource_type, one.resource_name)
        for one in request.resources
    ]


def _alter_configs(module: Any, _: int, request: Any, response: Any, code: int, message: str) -> None:
    response.responses = [
        module.AlterConfigsResourceResponse(code, message, one.resource_type, one.resource_name)
        for one in request.resources
    ]


def _incremental_alter_configs(
    module: Any, _: int, request: Any, response: Any, code: int, message: str
) -> None:
    response.responses = [
        module.IncrementalAlterConfigsResourceResponse(code, message, one.resource_type, one.resource_name)
        for one in request.resources
    ]


def _alter_client_quotas(module: Any, _: int, request: Any, response: Any, code: int, message: str) -> None:
    response.entries = [
        module.QuotaAlterationResult(code, message, entry.entity) for entry in request.entries
    ]


def _delete_records(module: Any, _: int, request: Any, response: Any, code: int, __: str) -> None:
    response.topics = [
        module.DeleteRecordsTopicResult(
            topic.name,
            [module.DeleteRecordsPartitionResult(one.partition_index, -1, code) for one in topic.partitions],
        )
        for topic in request.topics
    ]


def _describe_topic_partitions(module: Any, _: int, request: Any, response: Any, code: int, __: str) -> None:
    response.topics = [module.DescribedTopic(code, topic.name) for topic in request.topics]


def _describe_groups(module: Any, _: int, request: Any, response: Any, code: int, __: str) -> None:
    response.groups = [module.DescribedGroup(error_code=code, group_id=name) for name in request.groups]


def _consumer_group_describe(module: Any, _: int, request: Any, response: Any, code: int, __: str) -> None:
    response.groups = [
        module.DescribedConsumerGroup(error_code=code, group_id=name) for name in request.group_ids
    ]


def _find_coordinator(
    module: Any, version: int, request: Any, response: Any, code: int, message: str
) -> None:
    if version >= 4:
        response.coordinators = [
            module.Coordinator(key, -1, "", -1, code, message) for key in request.coordinator_keys
        ]


#: Those whose error stands in the parts.
_NESTED: Final[dict[int, Fill]] = {
    3: _metadata,
    10: _find_coordinator,
    15: _describe_groups,
    19: _create_topics,
    20: _delete_topics,
    21: _delete_records,
    32: _describe_configs,
    33: _alter_configs,
    37: _create_partitions,
    44: _incremental_alter_configs,
    49: _alter_client_quotas,
    69: _consumer_group_describe,
    75: _describe_topic_partitions,
}
