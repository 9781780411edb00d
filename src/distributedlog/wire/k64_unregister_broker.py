"""UnregisterBroker (key 64), version 0, flexible from 0.

An operator removes a broker that will not come back from the cluster's metadata (KIP-631).
"""

from dataclasses import dataclass

from distributedlog.wire.schema import Int16, Int32


@dataclass(slots=True)
class UnregisterBrokerRequest:
    broker_id: Int32 = 0


@dataclass(slots=True)
class UnregisterBrokerResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = ""
