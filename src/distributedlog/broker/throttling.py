"""How long a request kept the broker busy, and for how long its sender is held back for it (KIP-124).

The response goes out at once and says for how long the client is not listened to any more; the connection
sees to that (KIP-219). Bytes are the handlers' of Produce and Fetch to count; of the two throttle times the
longer counts. Without quotas nothing of this is on the way.
"""

from time import perf_counter
from typing import TYPE_CHECKING, Any

from distributedlog.broker.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def throttled(
    broker: "Broker",
    context: "RequestContext",
    request: Any,
    handle: "Callable[[Broker, RequestContext, Any], Any]",
) -> Any:
    """What the handler gives, with the throttle time in it that the request quota demands."""
    begun = perf_counter()
    response = handle(broker, context, request)
    throttle_ms = broker.quotas.record_request(context, perf_counter() - begun)
    if not throttle_ms:
        return response
    if not isinstance(response, Pending):
        return _held_back(response, throttle_ms)
    inner, outer = response, Pending()
    outer.on_abandoned = inner.abandon
    inner.when_done(lambda late: outer.complete(_held_back(late, throttle_ms)))
    return outer


def _held_back(response: Any, throttle_ms: int) -> Any:
    """None (acks=0) has nobody to tell, and a connection that closes no need to."""
    if getattr(response, "throttle_time_ms", throttle_ms) < throttle_ms:
        response.throttle_time_ms = throttle_ms
    return response
