"""Produce: append one batch to each of some partitions; see `broker/produce_rows.py` for how.

Batches that belong to a transaction take another way, on which their transaction's coordinator is asked.
"""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.produce_rows import ProduceRows
from distributedlog.wire.k00_produce import ProduceRequest

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

_ATTRIBUTES_LOW_BYTE: Final = 22
_TRANSACTIONAL_BIT: Final = 0x10
_MAGIC: Final = 16


def handle(broker: "Broker", context: "RequestContext", request: ProduceRequest) -> Any:
    """The response, a `Pending` of it, or None for acks=0."""
    rows = ProduceRows(broker, context, request)
    if _is_transactional(request):
        from distributedlog.broker.transactional_produce import produce_in_transaction  # noqa: PLC0415 - not all are

        return produce_in_transaction(broker, context, request, rows)
    for partition, records, row in rows.of(request):
        rows.append(partition, records, row)
    return rows.result()


def _is_transactional(request: ProduceRequest) -> bool:
    """Whether any batch says so: what it says is looked into elsewhere."""
    for topic in request.topic_data:
        for data in topic.partition_data:
            records: Any = data.records
            if (
                records is not None
                and len(records) > _ATTRIBUTES_LOW_BYTE
                and records[_ATTRIBUTES_LOW_BYTE] & _TRANSACTIONAL_BIT
                and records[_MAGIC] == 2
            ):
                return True
    return False
