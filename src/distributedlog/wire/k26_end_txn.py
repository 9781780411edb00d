"""EndTxn (key 26), versions 0 to 5, flexible from 3.

Commits or aborts a transaction. The coordinator answers when the decision is durable; the markers
follow on their own.

- 2: the error PRODUCER_FENCED
- 4: the error TRANSACTION_ABORTABLE (KIP-890)
- 5: the epoch rises with every transaction, so the id and epoch to go on with come back
"""

from dataclasses import dataclass
from typing import Annotated

from distributedlog.wire.schema import Int16, Int32, Int64, ignorable, versions


@dataclass(slots=True)
class EndTxnRequest:
    transactional_id: str = ""
    producer_id: Int64 = 0
    producer_epoch: Int16 = 0
    committed: bool = False


@dataclass(slots=True)
class EndTxnResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    producer_id: Annotated[Int64, versions("5+"), ignorable] = -1
    producer_epoch: Annotated[Int16, versions("5+"), ignorable] = -1
