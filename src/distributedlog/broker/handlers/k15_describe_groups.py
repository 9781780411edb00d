"""DescribeGroups: state and members of groups of the classic protocol."""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.wire import ErrorCode
from distributedlog.wire.k15_describe_groups import (
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: Everything, while there is no authoriser: 3 read, 6 delete, 8 describe, 10 and 11 its configuration.
GROUP_OPERATIONS: Final = sum(1 << bit for bit in (3, 6, 8, 10, 11))
ERROR_MESSAGE_VERSION: Final = 6


def handle(broker: "Broker", context: "RequestContext", request: DescribeGroupsRequest) -> Any:
    def refuse(group_id: str, error: ErrorCode) -> DescribedGroup:
        message = error.message if context.version >= ERROR_MESSAGE_VERSION else None
        return DescribedGroup(error, message, group_id)

    def response_of(groups: list[DescribedGroup]) -> DescribeGroupsResponse:
        if request.include_authorized_operations:
            for group in groups:
                if not group.error_code:
                    group.authorized_operations = GROUP_OPERATIONS
        return DescribeGroupsResponse(groups=groups)

    return broker.groups.ask_each(
        context,
        request.groups,
        name_of=lambda group_id: group_id,
        request_of=DescribeGroupsRequest,
        rows_of=lambda response: response.groups,
        refuse=refuse,
        response_of=response_of,
    )
