"""DeleteGroups: groups without members go, and their offsets with them."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire.k42_delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: DeleteGroupsRequest) -> Any:
    return broker.groups.ask_each(
        context,
        request.groups_names,
        name_of=lambda group_id: group_id,
        request_of=DeleteGroupsRequest,
        rows_of=lambda response: response.results,
        refuse=DeletableGroupResult,
        response_of=lambda results: DeleteGroupsResponse(results=results),
    )
