"""FindCoordinator: which broker coordinates a group or a transactional id.

The first client that looks for a group's coordinator has ``__consumer_offsets`` made, and waits for it; so
with transactions and ``__transaction_state``.
"""

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.pending import Pending
from distributedlog.wire import ErrorCode
from distributedlog.wire.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


class CoordinatorType(IntEnum):
    GROUP = 0
    TRANSACTION = 1


MANY_KEYS_VERSION: Final = 4

_NO_NODE: Final = -1


def handle(broker: "Broker", context: "RequestContext", request: FindCoordinatorRequest) -> Any:
    match request.key_type:
        case CoordinatorType.GROUP:
            prepare = broker.groups.prepare
        case CoordinatorType.TRANSACTION:
            prepare = broker.transactions.prepare
        case _:
            # Of share groups we know nothing.
            return _response(broker, context, request, ErrorCode.INVALID_REQUEST)
    pending = Pending()
    prepare(lambda error: pending.complete(_response(broker, context, request, error)))
    return pending


def _response(
    broker: "Broker", context: "RequestContext", request: FindCoordinatorRequest, error: ErrorCode
) -> FindCoordinatorResponse:
    advertised = broker.advertised_to(context.client)
    if advertised is None and error is ErrorCode.NONE:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    found = Coordinator("", _NO_NODE, "", _NO_NODE, error, error.message)
    if advertised is not None and error is ErrorCode.NONE:
        _, host, port = advertised
        found = Coordinator("", broker.node_id, host, port, error, None)
    if context.version < MANY_KEYS_VERSION:
        return FindCoordinatorResponse(
            0, found.error_code, found.error_message, found.node_id, found.host, found.port
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key, found.node_id, found.host, found.port, found.error_code, found.error_message)
            for key in request.coordinator_keys
        ]
    )
