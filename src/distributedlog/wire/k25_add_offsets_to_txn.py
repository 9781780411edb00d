"""AddOffsetsToTxn (key 25), versions 0 to 4, flexible from 3.

Makes a group's offsets part of a transaction: the partition of ``__consumer_offsets`` that holds the
group joins it. TxnOffsetCommit then sends the offsets themselves.

- 2: the error PRODUCER_FENCED
- 4: the error TRANSACTION_ABORTABLE (KIP-890)
"""

from dataclasses import dataclass

from distributedlog.wire.schema import Int16, Int32, Int64


@dataclass(slots=True)
class AddOffsetsToTxnRequest:
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    group_id: str = ""


@dataclass(slots=True)
class AddOffsetsToTxnResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
