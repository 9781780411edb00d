"""The way in: a decoded request to the handler of its API.

A handler is the function ``handle(broker, context, request)`` of ``broker/handlers/kNN_name.py``, imported
when its API is first asked for. It returns the response, a `Pending` one, or None where none is sent.
"""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from distributedlog.broker.context import RequestContext
from distributedlog.broker.pending import CLOSE_CONNECTION
from distributedlog.wire.apis import APIS

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker

Handler = Callable[["Broker", RequestContext, Any], Any]

logger = logging.getLogger("distributedlog.broker")

_handlers: dict[int, Handler] = {}


def dispatch(broker: "Broker", context: RequestContext, request: Any) -> Any:
    """Answer one request. A bug in a handler is logged with its traceback and answered as the API's
    responses tell of an unknown error; where they cannot, the connection is to be closed."""
    handler = _handlers.get(context.api_key) or handler_of(context.api_key)
    try:
        if broker.image.client_quotas:
            from distributedlog.broker.throttling import throttled  # noqa: PLC0415  (few have quotas)

            return throttled(broker, context, request, handler)
        return handler(broker, context, request)
    except Exception:
        logger.exception(
            "the handler of %s failed on a request of %r", APIS[context.api_key], context.client_id
        )
        return _unknown_error(context, request)


def handler_of(api_key: int) -> Handler:
    """The handler of an API, its module imported."""
    api = APIS[api_key]
    module = import_module(f"distributedlog.broker.handlers.k{api.key:02d}_{api.name}")
    handler: Handler = module.handle
    _handlers[api_key] = handler
    return handler


def _unknown_error(context: RequestContext, request: Any) -> Any:
    from distributedlog.broker.error_response import error_response  # noqa: PLC0415  (a bug is rare)
    from distributedlog.wire.error_codes import ErrorCode  # noqa: PLC0415

    response = error_response(context, request, ErrorCode.UNKNOWN_SERVER_ERROR)
    return CLOSE_CONNECTION if response is None else response
