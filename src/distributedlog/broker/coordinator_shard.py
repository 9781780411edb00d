"""One partition of a coordinator's topic, and the coordinator of what is in it.

It keeps the driver's side of the contract in `distributedlog.coordination.outcome`: what the coordinator
decides is appended at once, and what it answers waits until the disk has all that was appended before, by
the topic's flush policy. Many appends share one trip to the disk (`broker/flush_runner.py`).
"""

import logging
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from distributedlog.broker.coordinator_log import EndOfTransaction, LoadedRecord, Loader, encode_records
from distributedlog.broker.log_errors import code_of
from distributedlog.coordination import Context, Reply, Timer
from distributedlog.log import AppendOrigin, AppendResult, VerificationGuard
from distributedlog.log.errors import LogDirectoryOffline, LogError
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.scheduler import Scheduler

#: Failures that follow from each other before the coordinator is given up and made anew from the log.
APPEND_FAILURES_MAX: Final = 3
#: How long it then waits before it reads the log again.
RELOAD_DELAY_MS: Final = 1_000

logger = logging.getLogger("distributedlog.broker")

CoordinatorT = TypeVar("CoordinatorT", bound=Any)
OutcomeT = TypeVar("OutcomeT", bound=Any)


class ShardState(Enum):
    """Whether requests can be answered, and with what if not."""

    LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ACTIVE = ErrorCode.NONE
    FAILED = ErrorCode.NOT_COORDINATOR


class CoordinatorShard(ABC, Generic[CoordinatorT, OutcomeT]):
    """Made for a partition that this broker leads; `load` it before anything else."""

    def __init__(self, partition: "Partition", scheduler: "Scheduler") -> None:
        self.partition = partition
        self.state = ShardState.LOADING
        self._scheduler = scheduler
        self._loader: Loader | None = None
        self._loaded: Callable[[], None] = _nothing
        #: Outcomes that wait for the disk, one list per append, the oldest first.
        self._held: deque[list[OutcomeT]] = deque()
        self.coordinator = self._new_coordinator()

    # -- what differs -----------------------------------------------------------------------------------

    @abstractmethod
    def _new_coordinator(self) -> CoordinatorT:
        """One that knows nothing of the log yet."""

    @abstractmethod
    def _replay(self, entry: LoadedRecord | EndOfTransaction) -> None:
        """Hand an entry of the log to the coordinator."""

    @abstractmethod
    def _failed_reply(self, reply: Reply, append_error: ErrorCode) -> Reply:
        """What is answered in place of ``reply`` when its records could not be kept."""

    def _encoded(self, outcome: OutcomeT, now_ms: int, batch_bytes_max: int) -> bytearray:
        return encode_records(outcome.records, now_ms, batch_bytes_max, None)

    def _catch_up(self) -> None:
        """Let the coordinator know what happened around it, before it is asked something."""

    def _applied(self, outcome: OutcomeT) -> None:
        """An outcome's records are appended and applied, but not yet durable."""

    def _safe(self, outcome: OutcomeT) -> None:
        """An outcome's records are as durable as they are to be, and its replies sent."""

    def _lost(self, outcome: OutcomeT) -> None:
        """An outcome will never be safe, and its replies have said so: what else was to come of it?"""

    # -- coming and going -------------------------------------------------------------------------------

    def load(self, done: Callable[[], None]) -> None:
        """Replay the log; ``done`` is called when that has succeeded or failed."""
        self.state = ShardState.LOADING
        self._loaded = done
        self._loader = Loader(
            self.partition, self._scheduler, self._replay, self._begin, self._loading_failed
        )
        self._loader.start()

    def _begin(self) -> None:
        self._loader = None
        self.state = ShardState.ACTIVE
        self._act(self.coordinator.loaded(self._scheduler.now_ms()))
        self._tell_loaded()

    def _loading_failed(self, error: BaseException) -> None:
        self._loader = None
        self.state = ShardState.FAILED
        logger.error("the coordinator of %r could not be loaded: %s", self.partition, error)
        self._tell_loaded()

    def _tell_loaded(self) -> None:
        done, self._loaded = self._loaded, _nothing
        done()

    def unload(self) -> None:
        """Coordinate no more. Who waits for something to happen is sent to look for another coordinator;
        answers that only wait for the disk still get theirs."""
        if self._loader is not None:
            self._loader.cancel()
            self._loader = None
        was_active = self.state is ShardState.ACTIVE
        self.state = ShardState.FAILED
        if was_active:
            deliver(self.coordinator.unloaded().replies)
        self._tell_loaded()

    def _reload(self) -> None:
        """What is in the coordinator is not what is in the log: begin again from the log."""
        self._fail_held()
        self.unload()
        self.state = ShardState.LOADING
        coordinator = self.coordinator = self._new_coordinator()

        def load() -> None:
            if coordinator is self.coordinator and self.state is ShardState.LOADING:
                self.load(_nothing)

        self._scheduler.call_later(RELOAD_DELAY_MS, load)

    # -- what happens -----------------------------------------------------------------------------------

    @property
    def refusal(self) -> ErrorCode:
        """The error that requests are answered with, NONE when they can be handled."""
        return self.state.value

    def handle(self, context: Context, request: Any) -> None:
        """Act on a request; ``context.reply`` is the `Pending` that is completed with the answer."""
        self._catch_up()
        self._act(self.coordinator.handle(context, request))

    def _fire(self, coordinator: CoordinatorT, timer: Timer[Any]) -> None:
        if coordinator is not self.coordinator or self.state is not ShardState.ACTIVE:
            return
        try:
            self._catch_up()
            self._act(coordinator.on_timer(timer, self._scheduler.now_ms()))
        except Exception:
            logger.exception("the timer %s in %r failed", timer.key, self.partition)

    # -- outcomes ---------------------------------------------------------------------------------------

    def _act(self, outcome: OutcomeT, failures: int = 0) -> None:
        self._arm(outcome.timers)
        if not outcome.changes:
            self._release(outcome, None)
            return
        try:
            result = self._append(outcome)
        except Exception as error:  # noqa: BLE001 - told to the clients by its code, a bug is logged there
            self._append_failed(outcome, error, failures + 1)
            return
        try:
            self.coordinator.applied(outcome, result.first_offset)
        except Exception:
            logger.exception("what was appended to %r could not be replayed", self.partition)
            self._fail(outcome.replies, ErrorCode.UNKNOWN_SERVER_ERROR)
            self._reload()
        else:
            self._release(outcome, result.last_offset + 1)

    def _append(self, outcome: OutcomeT) -> AppendResult:
        return self._append_data(outcome, None)

    def _append_data(self, outcome: OutcomeT, guard: VerificationGuard | None) -> AppendResult:
        now_ms = self._scheduler.now_ms()
        data = self._encoded(outcome, now_ms, self.partition.log.config.max_message_bytes)
        return self.partition.append(data, now_ms=now_ms, origin=AppendOrigin.COORDINATOR, guard=guard)

    def _append_failed(self, outcome: OutcomeT, error: BaseException, failures: int) -> None:
        code = code_of(error)
        if code is ErrorCode.UNKNOWN_SERVER_ERROR:
            logger.error("an append to %r met a bug", self.partition, exc_info=error)
        else:
            logger.error("an append to %r failed: %s", self.partition, error)
        after = self.coordinator.append_failed(outcome, code, self._scheduler.now_ms())
        if failures < APPEND_FAILURES_MAX:
            self._act(after, failures)
            return
        self._fail(after.replies, code)
        self._reload()

    def _arm(self, timers: list[Timer[Any]]) -> None:
        if not timers:
            return
        coordinator, now_ms = self.coordinator, self._scheduler.now_ms()
        for timer in timers:
            delay_ms = max(timer.at_ms - now_ms, 0)
            self._scheduler.call_later(delay_ms, lambda timer=timer: self._fire(coordinator, timer))  # type: ignore[misc]

    def _release(self, outcome: OutcomeT, next_offset: int | None) -> None:
        """Answer when all that is appended by now is safe: at ``next_offset`` ends what is new of it."""
        self._applied(outcome)
        if next_offset is None or self.partition.is_safe(next_offset):
            if self._held:
                # Nothing new, but the answer may tell of what is not safe yet.
                self._held[-1].append(outcome)
            else:
                self._finish(outcome)
            return
        held = [outcome]
        self._held.append(held)
        self.partition.wait_until_safe(lambda error: self._flushed(held, error))

    def _finish(self, outcome: OutcomeT) -> None:
        deliver(outcome.replies)
        self._safe(outcome)

    def _flushed(self, held: list[OutcomeT], error: LogError | None) -> None:
        if not self._held or self._held[0] is not held:
            return
        if error is None:
            self._held.popleft()
            for outcome in held:
                self._finish(outcome)
            return
        logger.error("the coordinator of %r lost what the disk did not take: %s", self.partition, error)
        if isinstance(error, LogDirectoryOffline):
            self._fail_held()
            self.unload()
        else:
            self._reload()

    def _fail_held(self) -> None:
        held, self._held = self._held, deque()
        for outcomes in held:
            for outcome in outcomes:
                self._fail(outcome.replies, ErrorCode.KAFKA_STORAGE_ERROR)
                self._lost(outcome)

    def _fail(self, replies: Iterable[Reply], append_error: ErrorCode) -> None:
        deliver(self._failed_reply(reply, append_error) for reply in replies)


def deliver(replies: Iterable[Reply]) -> None:
    """Complete the `Pending`s that are the replies' tokens."""
    for pending, response in replies:
        pending.complete(response)


def _nothing() -> None:
    """Nobody waits for the end of the loading."""
