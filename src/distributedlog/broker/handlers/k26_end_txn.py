"""EndTxn: a transaction is committed or aborted."""

from typing import TYPE_CHECKING, Any, Final

from distributedlog.wire import ErrorCode
from distributedlog.wire.k26_end_txn import EndTxnRequest, EndTxnResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

_NONE: Final = -1


def handle(broker: "Broker", context: "RequestContext", request: EndTxnRequest) -> Any:
    return broker.transactions.ask(context, request.transactional_id, request, _refused)


def _refused(error: ErrorCode) -> EndTxnResponse:
    return EndTxnResponse(0, int(error), _NONE, _NONE)
