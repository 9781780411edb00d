"""LeaveGroup: members of the classic protocol go at once, one or, from version 3 on, several."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, LeaveGroupResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: LeaveGroupRequest) -> Any:
    def refuse(error: ErrorCode) -> LeaveGroupResponse:
        return LeaveGroupResponse(error_code=error)

    return broker.groups.ask(context, request.group_id, request, refuse)
