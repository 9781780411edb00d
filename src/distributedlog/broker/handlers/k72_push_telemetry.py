"""PushTelemetry: nobody wants it, so nothing is kept of it."""

from typing import TYPE_CHECKING

from distributedlog.broker.handlers.k71_get_telemetry_subscriptions import (
    EMPTY_SUBSCRIPTION,
    TELEMETRY_BYTES_MAX,
)
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k72_push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from distributedlog.wire.schema import ZERO_UUID

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(
    broker: "Broker", context: "RequestContext", request: PushTelemetryRequest
) -> PushTelemetryResponse:
    error = ErrorCode.NONE
    if bytes(request.client_instance_id) == ZERO_UUID:
        error = ErrorCode.INVALID_REQUEST
    elif request.subscription_id != EMPTY_SUBSCRIPTION:
        error = ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    elif len(request.metrics) > TELEMETRY_BYTES_MAX:
        error = ErrorCode.TELEMETRY_TOO_LARGE
    return PushTelemetryResponse(error_code=int(error))
