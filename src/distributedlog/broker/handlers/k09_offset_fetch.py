"""OffsetFetch: the committed positions of one group or, from version 8 on, of many."""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.wire import ErrorCode
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

GROUP_ERROR_VERSION: Final = 2
MANY_GROUPS_VERSION: Final = 8
_NO_OFFSET: Final = -1


def handle(broker: "Broker", context: "RequestContext", request: OffsetFetchRequest) -> Any:
    if context.version < MANY_GROUPS_VERSION:
        return broker.groups.ask(
            context, request.group_id, request, lambda error: _refused(request, context.version, error)
        )
    return broker.groups.ask_each(
        context,
        request.groups,
        name_of=lambda group: group.group_id,
        request_of=lambda groups: OffsetFetchRequest(groups=groups, require_stable=request.require_stable),
        rows_of=lambda response: response.groups,
        refuse=_refused_group,
        response_of=lambda groups: OffsetFetchResponse(groups=groups),
    )


def _refused_group(group: OffsetFetchRequestGroup, error: ErrorCode) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group.group_id, error_code=error)


def _refused(request: OffsetFetchRequest, version: int, error: ErrorCode) -> OffsetFetchResponse:
    """The oldest version has room for an error at the partitions only."""
    if version >= GROUP_ERROR_VERSION:
        return OffsetFetchResponse(error_code=error)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                topic.name,
                [
                    OffsetFetchResponsePartition(index, _NO_OFFSET, _NO_OFFSET, "", error)
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )
