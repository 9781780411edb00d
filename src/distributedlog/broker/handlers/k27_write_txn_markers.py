"""WriteTxnMarkers: from other brokers' coordinators, and from administrators who end what hangs."""

from typing import TYPE_CHECKING, Any

from distributedlog.broker.marker_writing import write_markers
from distributedlog.broker.pending import Pending
from distributedlog.wire.k27_write_txn_markers import WriteTxnMarkersRequest

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: WriteTxnMarkersRequest) -> Any:
    pending = Pending()
    write_markers(broker, request, pending.complete)
    return pending
