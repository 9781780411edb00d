"""PushTelemetry (key 72), version 0, flexible from 0.

A client hands over its metrics, as OpenTelemetry's serialised form compressed by the codec named
(KIP-714). ``terminating`` marks the last push, which may come before its time.
"""

from dataclasses import dataclass

from distributedlog.wire.schema import ZERO_UUID, Int8, Int16, Int32, Uuid


@dataclass(slots=True)
class PushTelemetryRequest:
    client_instance_id: Uuid = ZERO_UUID
    subscription_id: Int32 = 0
    terminating: bool = False
    compression_type: Int8 = 0
    metrics: bytes = b""


@dataclass(slots=True)
class PushTelemetryResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
