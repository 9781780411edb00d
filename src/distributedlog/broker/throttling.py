"""Requests under quotas: counted on their way in, held back on their way out.

The response goes out at once and says for how long the client is not listened to any more; the connection
sees to that (KIP-219). A fetch gives no more than one span of the quota, so that a single one does not use up
minutes of it. Without quotas nothing of this is on the way.
"""

from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.pending import Pending

if TYPE_CHECKING:
    from collections.abc import Callable

    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

PRODUCE: Final = 0
FETCH: Final = 1


def throttled(
    broker: "Broker",
    context: "RequestContext",
    request: Any,
    handle: "Callable[[Broker, RequestContext, Any], Any]",
) -> Any:
    """What the handler gives, with the throttle time in it that the quotas demand."""
    quotas = broker.quotas
    throttle_ms = 0
    if context.api_key == FETCH:
        bytes_max = quotas.fetch_bytes_max(context)
        if bytes_max is not None:
            request.max_bytes = min(request.max_bytes, bytes_max)
    elif context.api_key == PRODUCE:
        throttle_ms = quotas.record_produce(context, _produced_bytes(request))
    begun = perf_counter()
    response = handle(broker, context, request)
    throttle_ms = max(throttle_ms, quotas.record_request(context, perf_counter() - begun))

    def held_back(response: Any) -> Any:
        longest_ms = throttle_ms
        if context.api_key == FETCH:
            longest_ms = max(longest_ms, quotas.record_fetch(context, _fetched_bytes(response)))
        if longest_ms > getattr(response, "throttle_time_ms", longest_ms):
            response.throttle_time_ms = longest_ms
        return response

    if not isinstance(response, Pending):
        return held_back(response)
    inner, outer = response, Pending()
    outer.on_abandoned = inner.abandon
    inner.when_done(lambda late: outer.complete(held_back(late)))
    return outer


def _produced_bytes(request: Any) -> int:
    return sum(
        len(partition.records)
        for topic in request.topic_data
        for partition in topic.partition_data
        if partition.records is not None
    )


def _fetched_bytes(response: Any) -> int:
    return sum(
        len(partition.records)
        for topic in getattr(response, "responses", ())
        for partition in topic.partitions
        if partition.records is not None
    )
