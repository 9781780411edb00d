"""GetTelemetrySubscriptions: nobody has subscribed to a client's metrics."""

from typing import TYPE_CHECKING, Final

from distributedlog.broker.topic_rules import new_uuid
from distributedlog.wire.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from distributedlog.wire.schema import ZERO_UUID

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: Whoever has it subscribes to nothing.
EMPTY_SUBSCRIPTION: Final = 0
PUSH_INTERVAL_MS: Final = 5 * 60 * 1000
TELEMETRY_BYTES_MAX: Final = 1024**2
#: zstd, lz4, gzip, snappy: in the order in which they are liked.
COMPRESSION_TYPES: Final = (4, 3, 1, 2)


def handle(
    broker: "Broker", context: "RequestContext", request: GetTelemetrySubscriptionsRequest
) -> GetTelemetrySubscriptionsResponse:
    instance_id = bytes(request.client_instance_id)
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=instance_id if instance_id != ZERO_UUID else new_uuid(broker.chance),
        subscription_id=EMPTY_SUBSCRIPTION,
        accepted_compression_types=list(COMPRESSION_TYPES),
        push_interval_ms=PUSH_INTERVAL_MS,
        telemetry_max_bytes=TELEMETRY_BYTES_MAX,
        delta_temporality=True,
    )
