"""JoinGroup: into a group of the classic protocol. The answer waits until its rebalance is complete."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: JoinGroupRequest) -> Any:
    def refuse(error: ErrorCode) -> JoinGroupResponse:
        return JoinGroupResponse(error_code=error, member_id=request.member_id)

    return broker.groups.ask(context, request.group_id, request, refuse)
