"""SyncGroup: the leader's plan in, each member's part of it out. The answer waits for the leader.

While the groups are being loaded a member is told to join again, as Kafka did before 4: what it says now,
COORDINATOR_LOAD_IN_PROGRESS, is to Java's client an error that ends it.
"""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k14_sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: SyncGroupRequest) -> Any:
    def refuse(error: ErrorCode) -> SyncGroupResponse:
        is_loading = error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS if is_loading else error)

    return broker.groups.ask(context, request.group_id, request, refuse)
