"""ListGroups: the groups that this broker coordinates, filtered by state and type where asked for."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k16_list_groups import ListGroupsRequest, ListGroupsResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: ListGroupsRequest) -> Any:
    return broker.groups.ask_all(context, request, _refused, _merged)


def _refused(error: ErrorCode) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error)


def _merged(responses: list[ListGroupsResponse]) -> ListGroupsResponse:
    for response in responses:
        if response.error_code:
            return ListGroupsResponse(error_code=response.error_code)
    return ListGroupsResponse(groups=[group for response in responses for group in response.groups])
