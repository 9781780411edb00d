"""InitProducerId: an id for a producer that numbers its batches.

Without a transactional id everyone gets a new one, whatever id and epoch he names. With one it takes a
transaction coordinator, which this broker does not have yet: clients are told to try again later.
"""

import logging
from typing import TYPE_CHECKING, Final

from distributedlog.broker.pending import Pending
from distributedlog.wire import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: Kafka's default of transaction.max.timeout.ms.
TRANSACTION_TIMEOUT_MS_MAX: Final = 15 * 60 * 1000

_NONE: Final = -1

logger = logging.getLogger("distributedlog.broker")


def handle(
    broker: "Broker", context: "RequestContext", request: InitProducerIdRequest
) -> InitProducerIdResponse | Pending:
    if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
        return _failure(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return _failure(_refusal(request))
    pending = Pending()

    def done(result: int | BaseException) -> None:
        if isinstance(result, BaseException):
            logger.error("no producer id could be given: %s", result)
            pending.complete(_failure(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            pending.complete(InitProducerIdResponse(0, 0, result, 0))

    broker.producer_ids.take(done)
    return pending


def _refusal(request: InitProducerIdRequest) -> ErrorCode:
    """What a transactional producer is told, in the order in which Kafka finds it."""
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if not 0 < request.transaction_timeout_ms <= TRANSACTION_TIMEOUT_MS_MAX:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def _failure(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(0, int(error), _NONE, _NONE)
