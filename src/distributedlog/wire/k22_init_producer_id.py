"""InitProducerId (key 22), versions 0 to 6, flexible from 2.

Gives a producer its id and epoch. With a transactional id it also fences the producer that held it
before and ends the transaction which that one left open; with null the producer is merely idempotent.

- 3: a producer may name the id and epoch it has, to have its epoch raised (KIP-360)
- 4: the error PRODUCER_FENCED
- 5: the error TRANSACTION_ABORTABLE (KIP-890)
- 6: two-phase commit: a prepared transaction may be kept, and is then named in the response (KIP-939)
"""

from dataclasses import dataclass
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class InitProducerIdRequest:
    transactional_id: str | None = ""
    transaction_timeout_ms: Int32 = 0
    producer_id: Annotated[Int64, versions("3+")] = -1
    producer_epoch: Annotated[Int16, versions("3+")] = -1
    enable_2pc: Annotated[bool, versions("6+")] = False
    keep_prepared_txn: Annotated[bool, versions("6+")] = False


@dataclass(slots=True)
class InitProducerIdResponse:
    throttle_time_ms: Annotated[Int32, ignorable] = 0
    error_code: Int16 = 0
    producer_id: Int64 = -1
    producer_epoch: Int16 = 0
    ongoing_txn_producer_id: Annotated[Int64, versions("6+")] = -1
    ongoing_txn_producer_epoch: Annotated[Int16, versions("6+")] = -1
