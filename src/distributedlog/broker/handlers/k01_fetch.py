"""Fetch: what partitions hold from an offset on, now or when there is enough of it."""

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
    if not session.targets:
        return session.respond([], context.received_ms)
    max_bytes = min(request.max_bytes, broker.config.fetch_max_bytes)
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
        return session.respond(reading.results, context.received_ms)

    def answer(later: Reading) -> FetchResponse:
        return session.respond(later.results, broker.scheduler.now_ms())

    return broker.waiting_fetches.wait(plan, reading, answer)
