"""Fetch: what partitions hold from an offset on, now or when there is enough of it.

Who is above his quota gets an empty response at once and the time to wait: his records come when that is
over, and a new session with them.
"""

from typing import TYPE_CHECKING, Final

from distributedlog.broker.fetch_plan import FetchPlan, Reading
from distributedlog.broker.pending import Pending
from distributedlog.wire.k01_fetch import FetchRequest, FetchResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

REPLICA_STATE_VERSION_MIN: Final = 15


def handle(broker: "Broker", context: "RequestContext", request: FetchRequest) -> "FetchResponse | Pending":
    """The response, or a `Pending` of it when the client would rather wait for more."""
    version = context.version
    replica_id = (
        request.replica_state.replica_id if version >= REPLICA_STATE_VERSION_MIN else request.replica_id
    )
    is_follower = replica_id >= 0
    session = broker.fetch_sessions.begin(request, version, context.received_ms, is_follower=is_follower)
    quotas = broker.quotas

    def answer(reading: Reading) -> FetchResponse:
        throttle_ms = 0 if is_follower else quotas.record_fetch(context, reading.size)
        if throttle_ms > 0:
            quotas.unrecord_fetch(context, reading.size)
            return session.respond_throttled(throttle_ms)
        return session.respond(reading.results, broker.scheduler.now_ms())

    if not session.targets:
        return session.respond([], context.received_ms)
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
    quota_bytes_max = quotas.fetch_bytes_max(context)
    if quota_bytes_max is not None:
        max_bytes = min(max_bytes, quota_bytes_max)
    plan = FetchPlan(
        broker.partitions,
        session.targets,
        version=version,
        max_wait_ms=request.max_wait_ms,
        min_bytes=min(request.min_bytes, max_bytes),
        max_bytes=max_bytes,
        isolation_level=request.isolation_level,
        is_follower=is_follower,
    )
    reading = plan.read()
    if plan.max_wait_ms <= 0 or reading.is_final or reading.size >= plan.min_bytes:
        return answer(reading)
    return broker.waiting_fetches.wait(plan, reading, answer)
