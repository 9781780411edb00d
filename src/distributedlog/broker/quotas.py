"""How much users and client ids may produce, fetch and ask, and how long they are held back (KIP-13, 124).

Rates are measured over samples that slide with the time. Who is above his quota gets a throttle time after
which his rate, had he been silent, would be within it; the connection then takes no request from him for so
long (KIP-219).

Of all quotas that are set, the one for the most exact description counts: of a client id of a user, then of
the user, then of the client id, and of each the one with the name before the default. What a quota is for
shares it: all clients of a user have his together.
"""

from collections import deque
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.cluster.image import QuotaEntity

USER: Final = "user"
CLIENT_ID: Final = "client-id"
_DEFAULT: Final = None

#: Rates that are kept at once; beyond it the one that was not touched for longest goes.
RATES_MAX: Final = 10_000
#: What a response can tell.
THROTTLE_MS_MAX: Final = 2**31 - 1


class QuotaKey(Enum):
    """What is limited, by the names that admin clients use."""

    PRODUCE = "producer_byte_rate"
    FETCH = "consumer_byte_rate"
    #: Of one thread's time, so that 200 is all of two.
    REQUEST = "request_percentage"


class Rate:
    """Values per second over the samples of the last while.

    As long as there are few samples the time is counted as if all but one of them were there: a burst at
    the beginning is not an endless rate.
    """

    __slots__ = ("_samples", "_samples_max", "_window_ms")

    def __init__(self, samples_max: int, window_ms: int) -> None:
        self._samples_max = samples_max
        self._window_ms = window_ms
        #: Beginning of the sample, and the sum of what was recorded in it; the newest last.
        self._samples: deque[list[float]] = deque()

    def record(self, value: float, now_ms: int) -> None:
        """Count a value in the current sample; a negative one takes another back."""
        samples = self._samples
        if not samples or now_ms - samples[-1][0] >= self._window_ms:
            samples.append([now_ms, 0.0])
        samples[-1][1] += value

    def elapsed_ms(self, now_ms: int) -> float:
        """The time over which the rate is measured."""
        self._forget(now_ms)
        elapsed_ms = now_ms - self._samples[0][0] if self._samples else 0.0
        full_windows = elapsed_ms // self._window_ms
        missing = self._samples_max - 1 - full_windows
        return max(elapsed_ms + max(missing, 0) * self._window_ms, self._window_ms)

    def per_second(self, now_ms: int) -> float:
        """The rate at this time."""
        elapsed_ms = self.elapsed_ms(now_ms)
        return sum(value for _, value in self._samples) * 1000 / elapsed_ms

    def _forget(self, now_ms: int) -> None:
        samples, span_ms = self._samples, self._samples_max * self._window_ms
        while samples and now_ms - samples[0][0] >= span_ms:
            samples.popleft()


@dataclass(frozen=True, slots=True)
class Quota:
    """A limit in units per second, and whose it is: all who share ``owner`` share the rate."""

    limit: float
    owner: "QuotaEntity"


class Quotas:
    """The rates of one broker. The limits are in the cluster's image and followed at once."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._limits: Mapping[QuotaEntity, Mapping[str, float]] = {}
        #: Which quota a user and client id fall under; emptied when limits change.
        self._found: dict[tuple[QuotaKey, str, str], Quota | None] = {}
        #: Those touched last stand last.
        self._rates: dict[tuple[QuotaKey, QuotaEntity], Rate] = {}

    # -- what handlers and the dispatcher call ----------------------------------------------------------

    def record_produce(self, context: "RequestContext", size_bytes: int) -> int:
        """Count a produce request's bytes; the throttle time in milliseconds, 0 within the quota."""
        return self._record(QuotaKey.PRODUCE, context, size_bytes)

    def record_fetch(self, context: "RequestContext", size_bytes: int) -> int:
        """Count a fetch response's bytes. Who is throttled gets an empty response instead: then call
        `unrecord_fetch`, as nothing was sent."""
        return self._record(QuotaKey.FETCH, context, size_bytes)

    def unrecord_fetch(self, context: "RequestContext", size_bytes: int) -> None:
        """Take back what `record_fetch` counted."""
        quota = self.quota_of(QuotaKey.FETCH, context)
        if quota is not None:
            self._rate(QuotaKey.FETCH, quota).record(-size_bytes, self._broker.scheduler.now_ms())

    def fetch_bytes_max(self, context: "RequestContext") -> int | None:
        """The most bytes that one fetch may have without being throttled for ever; None without a quota."""
        quota = self.quota_of(QuotaKey.FETCH, context)
        if quota is None:
            return None
        config = self._broker.config
        return int(quota.limit * max(config.quota_window_num - 1, 1) * config.quota_window_size_seconds)

    def record_request(self, context: "RequestContext", busy_seconds: float) -> int:
        """Count the time that a request kept the thread busy; the throttle time, one sample's at most."""
        throttle_ms = self._record(QuotaKey.REQUEST, context, busy_seconds * 100)
        return min(throttle_ms, self._broker.config.quota_window_size_seconds * 1000)

    def note_busy(self, context: "RequestContext", response: Any, busy_seconds: float) -> None:
        """Count a request's time and say in its response how long the client is to wait, if that is longer
        than what the response says already."""
        throttle_ms = self.record_request(context, busy_seconds)
        if throttle_ms > getattr(response, "throttle_time_ms", throttle_ms):
            response.throttle_time_ms = throttle_ms

    # -- limits -----------------------------------------------------------------------------------------

    def quota_of(self, key: QuotaKey, context: "RequestContext") -> Quota | None:
        """The quota that counts for whoever sent the request."""
        limits = self._broker.image.client_quotas
        if not limits:
            return None
        if limits is not self._limits:
            self._limits = limits
            self._found.clear()
        user, client_id = context.client.principal.partition(":")[2], context.client_id or ""
        place = (key, user, client_id)
        if place not in self._found:
            if len(self._found) >= RATES_MAX:
                self._found.clear()
            self._found[place] = self._find(key, user, client_id)
        return self._found[place]

    def _find(self, key: QuotaKey, user: str, client_id: str) -> Quota | None:
        for entity, owner in _candidates(user, client_id):
            limit = self._limits.get(entity, {}).get(key.value)
            if limit is not None:
                return Quota(limit, owner)
        return None

    # -- rates ------------------------------------------------------------------------------------------

    def _record(self, key: QuotaKey, context: "RequestContext", value: float) -> int:
        quota = self.quota_of(key, context)
        if quota is None:
            return 0
        now_ms = self._broker.scheduler.now_ms()
        rate = self._rate(key, quota)
        rate.record(value, now_ms)
        excess = rate.per_second(now_ms) - quota.limit
        if excess <= 0:
            return 0
        if excess >= quota.limit * THROTTLE_MS_MAX / rate.elapsed_ms(now_ms):
            return THROTTLE_MS_MAX
        return round(excess / quota.limit * rate.elapsed_ms(now_ms))

    def _rate(self, key: QuotaKey, quota: Quota) -> Rate:
        place = (key, quota.owner)
        rate = self._rates.pop(place, None)
        if rate is None:
            config = self._broker.config
            rate = Rate(config.quota_window_num, config.quota_window_size_seconds * 1000)
            if len(self._rates) >= RATES_MAX:
                del self._rates[next(iter(self._rates))]
        self._rates[place] = rate
        return rate


def _candidates(user: str, client_id: str) -> "list[tuple[QuotaEntity, QuotaEntity]]":
    """For whom a quota may have been set, the most exact first, and who then shares it."""
    both = ((CLIENT_ID, client_id), (USER, user))
    this_user, this_client = ((USER, user),), ((CLIENT_ID, client_id),)
    return [
        (both, both),
        (((CLIENT_ID, _DEFAULT), (USER, user)), both),
        (this_user, this_user),
        (((CLIENT_ID, client_id), (USER, _DEFAULT)), both),
        (((CLIENT_ID, _DEFAULT), (USER, _DEFAULT)), both),
        (((USER, _DEFAULT),), this_user),
        (this_client, this_client),
        (((CLIENT_ID, _DEFAULT),), this_client),
    ]
