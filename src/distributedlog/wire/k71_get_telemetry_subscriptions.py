"""GetTelemetrySubscriptions (key 71), version 0, flexible from 0.

A client asks which of its own metrics the cluster wants, how often and how compressed (KIP-714). The
first request carries a zero id and is answered with one to keep.
"""

from dataclasses import dataclass, field

from distributedlog.wire.schema import ZERO_UUID, Int8, Int16, Int32, Uuid


@dataclass(slots=True)
class GetTelemetrySubscriptionsRequest:
    client_instance_id: Uuid = ZERO_UUID


@dataclass(slots=True)
class GetTelemetrySubscriptionsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    accepted_compression_types: list[Int8] = field(default_factory=list)
    push_interval_ms: Int32 = 0
    telemetry_max_bytes: Int32 = 0
    delta_temporality: bool = False
    requested_metrics: list[str] = field(default_factory=list)
