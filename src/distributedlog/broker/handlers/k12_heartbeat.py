"""Heartbeat: a member of the classic protocol is alive, and hears whether it has to join again.

While the groups are being loaded it is told that all is well: its session begins anew when they are.
"""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k12_heartbeat import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: HeartbeatRequest) -> Any:
    def refuse(error: ErrorCode) -> HeartbeatResponse:
        is_loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return HeartbeatResponse(error_code=ErrorCode.NONE if is_loading else error)

    return broker.groups.ask(context, request.group_id, request, refuse)
