"""Group commit for a broker: everything that waits for the disk shares the next trip to it.

One flush is under way at a time. It begins when the current callbacks are done, so that the appends of
all requests that came in together are in it; what is appended while it runs is in the next one, however
many requests and partitions that are. So fifty producers cost one fsync per log and round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from distributedlog.log import FlushJob
from distributedlog.log.errors import LogDirectoryOffline, LogError

if TYPE_CHECKING:
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.scheduler import Scheduler, Timer

#: Logs that are synced side by side: journalling file systems then commit once for several.
LANES_MAX: Final = 4

#: Told None when the disk has it, or why not.
FlushCallback = Callable[[LogError | None], None]


class FlushTimeout(LogError):
    """The disk took longer than the request would wait. What was appended may yet be kept."""


class FlushWait:
    """One request's wait for one partition. Called back once, by the flush or by its deadline."""

    __slots__ = ("_callback", "deadline_ms", "is_done", "partition")

    def __init__(self, partition: "Partition", callback: FlushCallback, deadline_ms: int | None) -> None:
        self.partition = partition
        self.deadline_ms = deadline_ms
        self.is_done = False
        self._callback = callback

    def finish(self, error: LogError | None) -> None:
        if not self.is_done:
            self.is_done = True
            self._callback(error)


@dataclass(slots=True)
class _Round:
    """One flush under way: its jobs, the bytes each log had when it began, and who waits for it."""

    jobs: "list[tuple[Partition, FlushJob, int]]"
    waits: list[FlushWait]
    errors: "dict[Partition, LogError]"
    lanes_left: int = 0
    broken: LogDirectoryOffline | None = None


class FlushRunner:
    """Of one log directory. ``on_broken_disk`` hears of a failed fsync, which is final."""

    def __init__(self, scheduler: "Scheduler", on_broken_disk: Callable[[LogDirectoryOffline], None]) -> None:
        self._scheduler = scheduler
        self._on_broken_disk = on_broken_disk
        self._dirty: dict[Partition, None] = {}
        self._lazy: dict[Partition, Timer] = {}
        self._waits: list[FlushWait] = []
        self._waits_in_flight: list[FlushWait] = []
        self._is_due = False
        self._is_running = False
        self._is_closed = False
        self._timer: Timer | None = None
        self._timer_due_ms = 0
        #: How many rounds have come to their end, and how many logs were synced in them.
        self.rounds = 0
        self.logs_synced = 0

    @property
    def is_idle(self) -> bool:
        return not (self._is_running or self._is_due or self._lazy)

    def request(self, partition: "Partition") -> None:
        """Bring all that the partition has by now to the disk, soon; nobody waits for it."""
        self._dirty[partition] = None
        timer = self._lazy.pop(partition, None) if self._lazy else None
        if timer is not None:
            timer.cancel()
        if not (self._is_due or self._is_running):
            self._is_due = True
            self._scheduler.call_soon(self._begin)

    def request_within(self, partition: "Partition", delay_ms: int) -> None:
        """The same, at the latest after so long."""
        if partition not in self._lazy and partition not in self._dirty:
            self._lazy[partition] = self._scheduler.call_later(delay_ms, lambda: self.request(partition))

    def wait(self, partition: "Partition", callback: FlushCallback, timeout_ms: int | None = None) -> None:
        """Call back when all that the partition has by now is on the disk, or with `FlushTimeout`."""
        deadline_ms = None if timeout_ms is None else self._scheduler.now_ms() + max(timeout_ms, 0)
        self._waits.append(FlushWait(partition, callback, deadline_ms))
        if deadline_ms is not None and (self._timer is None or deadline_ms < self._timer_due_ms):
            self._arm(deadline_ms)
        self.request(partition)

    def forget(self, partition: "Partition") -> None:
        """The partition is deleted: what it has need not reach the disk any more."""
        self._dirty.pop(partition, None)
        timer = self._lazy.pop(partition, None)
        if timer is not None:
            timer.cancel()

    def close(self) -> None:
        """Flush here and now what somebody waits for, and begin nothing more."""
        self._is_closed = True
        for timer in (*self._lazy.values(), self._timer):
            if timer is not None:
                timer.cancel()
        waits = [*self._waits_in_flight, *self._waits]
        errors: dict[Partition, LogError] = {}
        for partition in {wait.partition: None for wait in waits if not wait.is_done}:
            try:
                partition.log.flush()
            except LogError as error:
                errors[partition] = error
            else:
                partition.show_flushed(partition.log.recovery_point, partition.appended_bytes)
        for wait in waits:
            wait.finish(errors.get(wait.partition))

    # -- a round ------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._is_due = False
        if self._is_closed:
            return
        dirty, self._dirty = self._dirty, {}
        waits, self._waits = self._waits, []
        current = _Round([], waits, {})
        for partition in dirty:
            try:
                job = partition.log.begin_flush()
            except LogError as error:
                current.errors[partition] = error
                continue
            if job is None:
                partition.show_flushed(partition.log.recovery_point, partition.appended_bytes)
            else:
                current.jobs.append((partition, job, partition.appended_bytes))
        if not current.jobs:
            self._end(current)
            return
        self._is_running = True
        self._waits_in_flight = waits
        lanes = [current.jobs[lane::LANES_MAX] for lane in range(min(LANES_MAX, len(current.jobs)))]
        current.lanes_left = len(lanes)
        for lane in lanes:
            self._run(current, [(partition, job) for partition, job, _ in lane])

    def _run(self, current: _Round, jobs: "list[tuple[Partition, FlushJob]]") -> None:
        def work() -> None:
            for partition, job in jobs:
                try:
                    job.run()
                except LogDirectoryOffline:
                    # Deleted while the flush was under way: that its files are gone says nothing of the disk.
                    if not partition.is_deleted:
                        raise

        def failed(error: BaseException) -> None:
            if not isinstance(error, LogDirectoryOffline):
                error = LogDirectoryOffline(str(jobs[0][1].directory.parent), error)
            current.broken = current.broken or error
            self._lane_ended(current)

        self._scheduler.run_in_thread(work, lambda _: self._lane_ended(current), failed)

    def _lane_ended(self, current: _Round) -> None:
        current.lanes_left -= 1
        if current.lanes_left or self._is_closed:
            return
        self._is_running = False
        self._waits_in_flight = []
        self.rounds += 1
        self.logs_synced += len(current.jobs)
        if current.broken is not None:
            self._on_broken_disk(current.broken)
            current.errors.update((wait.partition, current.broken) for wait in current.waits)
        else:
            for partition, job, appended_bytes in current.jobs:
                self._take_in(current, partition, job, appended_bytes)
        self._end(current)

    def _take_in(self, current: _Round, partition: "Partition", job: FlushJob, appended_bytes: int) -> None:
        if partition.is_deleted:
            return
        try:
            partition.log.complete_flush(job)
        except LogError as error:
            current.errors[partition] = error
        else:
            partition.show_flushed(job.offset, appended_bytes)

    def _end(self, current: _Round) -> None:
        for wait in current.waits:
            wait.finish(current.errors.get(wait.partition))
        # Whoever waits for a partition that was deleted meanwhile gets an answer, though nothing is dirty.
        if (self._dirty or self._waits) and not (self._is_due or self._is_running):
            self._is_due = True
            self._scheduler.call_soon(self._begin)

    # -- deadlines ----------------------------------------------------------------------------------

    def _arm(self, deadline_ms: int) -> None:
        """One timer serves all: requests wait milliseconds as a rule, and may wait half a minute."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer_due_ms = deadline_ms
        self._timer = self._scheduler.call_later(deadline_ms - self._scheduler.now_ms(), self._expire)

    def _expire(self) -> None:
        self._timer = None
        now_ms = self._scheduler.now_ms()
        waits = [wait for wait in (*self._waits_in_flight, *self._waits) if wait.deadline_ms is not None]
        earliest_ms: int | None = None
        for wait in waits:
            assert wait.deadline_ms is not None
            if wait.is_done:
                continue
            if wait.deadline_ms <= now_ms:
                wait.finish(FlushTimeout("the disk did not take the append within the request's time"))
            elif earliest_ms is None or wait.deadline_ms < earliest_ms:
                earliest_ms = wait.deadline_ms
        if earliest_ms is not None and self._timer is None:
            self._arm(earliest_ms)
