"""Fetches that wait for more than there is: long polling.

A waiting fetch watches its partitions. When records of one become visible it is told how many bytes, and
that is all that happens to it until its ``min_bytes`` are there: no log is read for an estimate, so that a
thousand waiting consumers cost an append a thousand additions. Those that have enough are answered
together when the current callbacks are done, with all that came in meanwhile. Its time limit, the deletion
of one of its partitions and the end of the broker answer it too, and whoever comes first takes it off all
its watch lists: it is answered exactly once.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from distributedlog.broker.pending import Pending
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import FetchResponse

if TYPE_CHECKING:
    from distributedlog.broker.fetch_plan import FetchPlan, FetchTarget, Reading
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.scheduler import Scheduler, Timer

Answer = Callable[["Reading"], Any]

logger = logging.getLogger("distributedlog.broker")


class _Watched:
    """One partition of a waiting fetch, and how many bytes there are for it."""

    __slots__ = ("bytes_ready", "is_measured", "target")

    def __init__(self, target: "FetchTarget", bytes_ready: int, is_measured: bool) -> None:
        self.target = target
        self.bytes_ready = bytes_ready
        #: The gain cannot be added up: part of what becomes visible is not for this reader.
        self.is_measured = is_measured


class FetchWaiter:
    """One fetch that waits. ``note_visible`` and ``note_change`` are called by the partitions."""

    __slots__ = ("_answer", "_purgatory", "_watched", "bytes_ready", "is_queued", "pending", "plan", "timer")

    def __init__(self, purgatory: "FetchPurgatory", plan: "FetchPlan", answer: Answer) -> None:
        self._purgatory = purgatory
        self._answer = answer
        self._watched: dict[Partition, _Watched] = {}
        self.plan = plan
        self.pending = Pending()
        self.timer: Timer | None = None
        self.bytes_ready = 0
        self.is_queued = False

    def watch(self, reading: "Reading") -> None:
        """Begin to watch all partitions, given what there was of each."""
        for target, data in reading.results:
            partition = self.plan.find(target)
            if partition is None:
                continue
            log = partition.log
            is_measured = target.fetch_offset > log.high_watermark or self._sees_less(partition)
            size = len(data.records)  # type: ignore[arg-type]
            self._watched[partition] = _Watched(target, size, is_measured)
            partition.watchers[self] = None
            self.bytes_ready += size

    def _sees_less(self, partition: "Partition") -> bool:
        """Whether an open transaction hides from a reader of committed records what others see."""
        return self.plan.reads_committed and partition.log.producer_states.first_unstable_offset is not None

    def note_visible(self, partition: "Partition", gained_bytes: int) -> None:
        """So many bytes more of a partition can be seen."""
        watched = self._watched[partition]
        if not watched.is_measured and self._sees_less(partition):
            watched.is_measured = True
        if watched.is_measured:
            bytes_ready = self.plan.measure(watched.target)
        else:
            bytes_ready = min(watched.bytes_ready + gained_bytes, max(watched.target.max_bytes, 1))
        self.bytes_ready += bytes_ready - watched.bytes_ready
        watched.bytes_ready = bytes_ready
        if self.bytes_ready >= self.plan.min_bytes:
            self.note_change()

    def note_change(self) -> None:
        """Something happened that is to be answered, be there enough bytes or not."""
        if not self.is_queued:
            self.is_queued = True
            self._purgatory.queue(self)

    def leave(self) -> None:
        """Stop watching."""
        if self.timer is not None:
            self.timer.cancel()
        for partition in self._watched:
            partition.watchers.pop(self, None)
        self._watched.clear()

    def answer(self) -> None:
        """Read again and respond with what there is."""
        try:
            response = self._answer(self.plan.read())
        except Exception:
            # A bug of ours; the client must not wait for ever on account of it.
            logger.exception("a waiting fetch could not be answered")
            response = FetchResponse(error_code=int(ErrorCode.UNKNOWN_SERVER_ERROR))
        self.pending.complete(response)


class FetchPurgatory:
    """All waiting fetches of a broker."""

    def __init__(self, scheduler: "Scheduler") -> None:
        self._scheduler = scheduler
        self._waiters: dict[FetchWaiter, None] = {}
        self._queued: list[FetchWaiter] = []

    def __len__(self) -> int:
        return len(self._waiters)

    def wait(self, plan: "FetchPlan", reading: "Reading", answer: Answer) -> Pending:
        """Answer when the plan's ``min_bytes`` are there, or its time is over; ``reading`` had too few."""
        waiter = FetchWaiter(self, plan, answer)
        waiter.watch(reading)
        self._waiters[waiter] = None
        waiter.timer = self._scheduler.call_later(plan.max_wait_ms, lambda: self._finish(waiter))

        def abandoned() -> None:
            self._drop(waiter)

        waiter.pending.on_abandoned = abandoned
        return waiter.pending

    def queue(self, waiter: FetchWaiter) -> None:
        """Answer the waiter when the current callbacks are done."""
        if not self._queued:
            self._scheduler.call_soon(self._answer_queued)
        self._queued.append(waiter)

    def close(self) -> None:
        """Answer everybody now, with what there is."""
        for waiter in tuple(self._waiters):
            self._finish(waiter)

    def _answer_queued(self) -> None:
        queued, self._queued = self._queued, []
        for waiter in queued:
            self._finish(waiter)

    def _finish(self, waiter: FetchWaiter) -> None:
        if self._drop(waiter):
            waiter.answer()

    def _drop(self, waiter: FetchWaiter) -> bool:
        """Whether it was still waiting."""
        if waiter not in self._waiters:
            return False
        del self._waiters[waiter]
        waiter.leave()
        return True
