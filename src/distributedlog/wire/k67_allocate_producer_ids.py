"""AllocateProducerIds (key 67), version 0, flexible from 0.

A broker gets a block of producer ids from the controller to hand out as its own (KIP-730). The
controller persists the block first, so no id is ever given twice.
"""

from dataclasses import dataclass

from distributedlog.wire.schema import Int16, Int32, Int64


@dataclass(slots=True)
class AllocateProducerIdsRequest:
    broker_id: Int32 = 0
    broker_epoch: Int64 = -1


@dataclass(slots=True)
class AllocateProducerIdsResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id_start: Int64 = 0
    producer_id_len: Int32 = 0
