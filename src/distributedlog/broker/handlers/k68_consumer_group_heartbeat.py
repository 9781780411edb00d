"""ConsumerGroupHeartbeat: the whole conversation of a member of the consumer protocol (KIP-848)."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: ConsumerGroupHeartbeatRequest) -> Any:
    def refuse(error: ErrorCode) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(error_code=error, error_message=error.message)

    return broker.groups.ask(context, request.group_id, request, refuse)
