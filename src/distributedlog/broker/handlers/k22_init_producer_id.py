"""InitProducerId: an id for a producer that numbers its batches.

Without a transactional id everyone gets a new one, whatever id and epoch he names. With one its transaction
coordinator decides.
"""

import logging
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.pending import Pending
from distributedlog.wire import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

_NONE: Final = -1

logger = logging.getLogger("distributedlog.broker")


def handle(broker: "Broker", context: "RequestContext", request: InitProducerIdRequest) -> Any:
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _failure(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _transactional(broker, context, request)
    pending = Pending()

    def done(result: int | BaseException) -> None:
        if isinstance(result, BaseException):
            logger.error("no producer id could be given: %s", result)
            pending.complete(_failure(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            pending.complete(InitProducerIdResponse(0, 0, result, 0))

    broker.producer_ids.take(done)
    return pending


def _transactional(broker: "Broker", context: "RequestContext", request: InitProducerIdRequest) -> Any:
    # Only for those who have transactions.
    from distributedlog.transactions.init_producer_id import refusal  # noqa: PLC0415

    error = refusal(request, broker.config.transaction_max_timeout_ms)
    if error is not ErrorCode.NONE:
        return _failure(error)
    return broker.transactions.ask(context, request.transactional_id or "", request, _failure)


def _failure(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(0, int(error), _NONE, _NONE)
