"""OffsetDelete: positions of topics that the group does not read go (KIP-496)."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k47_offset_delete import OffsetDeleteRequest, OffsetDeleteResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: OffsetDeleteRequest) -> Any:
    def refuse(error: ErrorCode) -> OffsetDeleteResponse:
        return OffsetDeleteResponse(error_code=error)

    return broker.groups.ask(context, request.group_id, request, refuse)
