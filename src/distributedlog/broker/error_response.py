"""One error as the answer to a whole request, in the shape of its API and version.

Where the response has an error code of its own that says it; else every part that the request names gets the
code. Where neither is possible there is no such answer: None, and the connection is to be closed.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, NamedTuple

from distributedlog.broker.context import RequestContext
from distributedlog.wire.apis import APIS
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.schema import ZERO_UUID


class _Asked(NamedTuple):
    """What the parts of a response are made from: ``api`` is the module with their classes."""

    api: Any
    version: int
    request: Any
    code: int
    message: str


def error_response(context: RequestContext, request: Any, error: ErrorCode) -> Any:
    """The response of the request's API that says nothing but this error; None when there is none."""
    api = APIS[context.api_key]
    response = api.message_class("Response")()
    there = {field.name for field in api.response(context.version).layout.present}
    is_told = False
    attribute, make_parts = _PARTS.get(api.key, ("", None))
    if make_parts is not None and attribute in there:
        asked = _Asked(import_module(api.module), context.version, request, int(error), error.message)
        parts = make_parts(asked)
        setattr(response, attribute, parts)
        is_told = bool(parts)
    if "error_code" in there:
        response.error_code = int(error)
        is_told = True
    if "error_message" in there:
        response.error_message = error.message
    return response if is_told else None


def _metadata(asked: _Asked) -> list[Any]:
    return [
        asked.api.MetadataResponseTopic(
            asked.code, topic.name if asked.version >= 12 else topic.name or "", topic.topic_id
        )
        for topic in asked.request.topics or ()
    ]


def _offset_fetch(asked: _Asked) -> list[Any]:
    return [
        asked.api.OffsetFetchResponseGroup(group.group_id, error_code=asked.code)
        for group in asked.request.groups
    ]


def _find_coordinator(asked: _Asked) -> list[Any]:
    keys = asked.request.coordinator_keys
    return [asked.api.Coordinator(key, -1, "", -1, asked.code, asked.message) for key in keys]


def _describe_groups(asked: _Asked) -> list[Any]:
    return [asked.api.DescribedGroup(error_code=asked.code, group_id=name) for name in asked.request.groups]


def _delete_groups(asked: _Asked) -> list[Any]:
    return [asked.api.DeletableGroupResult(name, asked.code) for name in asked.request.groups_names]


def _consumer_group_describe(asked: _Asked) -> list[Any]:
    return [
        asked.api.DescribedConsumerGroup(error_code=asked.code, group_id=name)
        for name in asked.request.group_ids
    ]


def _create_topics(asked: _Asked) -> list[Any]:
    return [
        asked.api.CreatableTopicResult(
            topic.name, error_code=asked.code, error_message=asked.message, configs=[]
        )
        for topic in asked.request.topics
    ]


def _delete_topics(asked: _Asked) -> list[Any]:
    request = asked.request
    if asked.version >= 6:
        named = [(state.name, state.topic_id) for state in request.topics]
    else:
        named = [(name, ZERO_UUID) for name in request.topic_names]
    return [asked.api.DeletableTopicResult(*one, asked.code, asked.message) for one in named]


def _delete_records(asked: _Asked) -> list[Any]:
    return [
        asked.api.DeleteRecordsTopicResult(
            topic.name,
            [
                asked.api.DeleteRecordsPartitionResult(one.partition_index, -1, asked.code)
                for one in topic.partitions
            ],
        )
        for topic in asked.request.topics
    ]


def _create_partitions(asked: _Asked) -> list[Any]:
    return [
        asked.api.CreatePartitionsTopicResult(topic.name, asked.code, asked.message)
        for topic in asked.request.topics
    ]


def _add_partitions_to_txn(asked: _Asked) -> list[Any]:
    """Up to version 3; the versions after it have an error of the whole."""
    return [
        asked.api.AddPartitionsToTxnTopicResult(
            topic.name,
            [asked.api.AddPartitionsToTxnPartitionResult(index, asked.code) for index in topic.partitions],
        )
        for topic in asked.request.v3_and_below_topics
    ]


def _write_txn_markers(asked: _Asked) -> list[Any]:
    api = asked.api
    return [
        api.WritableTxnMarkerResult(
            marker.producer_id,
            [
                api.WritableTxnMarkerTopicResult(
                    topic.name,
                    [
                        api.WritableTxnMarkerPartitionResult(index, asked.code)
                        for index in topic.partition_indexes
                    ],
                )
                for topic in marker.topics
            ],
        )
        for marker in asked.request.markers
    ]


def _txn_offset_commit(asked: _Asked) -> list[Any]:
    api = asked.api
    return [
        api.TxnOffsetCommitResponseTopic(
            topic.name,
            [
                api.TxnOffsetCommitResponsePartition(one.partition_index, asked.code)
                for one in topic.partitions
            ],
        )
        for topic in asked.request.topics
    ]


def _describe_transactions(asked: _Asked) -> list[Any]:
    return [asked.api.DescribedTransaction(asked.code, name) for name in asked.request.transactional_ids]


def _describe_topic_partitions(asked: _Asked) -> list[Any]:
    return [asked.api.DescribedTopic(asked.code, topic.name) for topic in asked.request.topics]


def _alter_client_quotas(asked: _Asked) -> list[Any]:
    return [
        asked.api.QuotaAlterationResult(asked.code, asked.message, entry.entity)
        for entry in asked.request.entries
    ]


def _of_resources(result_class: str) -> Callable[[_Asked], list[Any]]:
    def parts(asked: _Asked) -> list[Any]:
        result = getattr(asked.api, result_class)
        return [
            result(asked.code, asked.message, resource.resource_type, resource.resource_name)
            for resource in asked.request.resources
        ]

    return parts


#: Where the error stands in the parts: the field that holds them, and how they are made.
_PARTS: Final[dict[int, tuple[str, Callable[[_Asked], list[Any]]]]] = {
    3: ("topics", _metadata),
    9: ("groups", _offset_fetch),
    10: ("coordinators", _find_coordinator),
    15: ("groups", _describe_groups),
    19: ("topics", _create_topics),
    20: ("responses", _delete_topics),
    21: ("topics", _delete_records),
    24: ("results_by_topic_v3_and_below", _add_partitions_to_txn),
    27: ("markers", _write_txn_markers),
    28: ("topics", _txn_offset_commit),
    32: ("results", _of_resources("DescribeConfigsResult")),
    33: ("responses", _of_resources("AlterConfigsResourceResponse")),
    37: ("results", _create_partitions),
    42: ("results", _delete_groups),
    44: ("responses", _of_resources("IncrementalAlterConfigsResourceResponse")),
    49: ("entries", _alter_client_quotas),
    65: ("transaction_states", _describe_transactions),
    69: ("groups", _consumer_group_describe),
    75: ("topics", _describe_topic_partitions),
}
