"""From a request that changes metadata to its response: submit the decision, answer when it is true."""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distributedlog.broker.context import RequestContext
from distributedlog.broker.error_response import error_response
from distributedlog.broker.pending import CLOSE_CONNECTION, Pending
from distributedlog.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.controller import Decision

logger = logging.getLogger("distributedlog.broker")


def decided(
    broker: "Broker",
    context: RequestContext,
    request: Any,
    decide: "Decision",
    respond: Callable[[Any], Any],
) -> Pending:
    """A pending response: ``respond`` makes it of the decision's answer. Where the records cannot be kept
    every part of the request gets KAFKA_STORAGE_ERROR."""
    pending = Pending()

    def failed(error: BaseException) -> None:
        logger.error("a request of %r changed nothing: %s", context.client_id, error)
        response = error_response(context, request, ErrorCode.KAFKA_STORAGE_ERROR)
        pending.complete(CLOSE_CONNECTION if response is None else response)

    broker.controller.submit(decide, lambda answer: pending.complete(respond(answer)), failed)
    return pending
