"""One partition as the broker serves it: its log, when its records count as safe, and who waits for them.

    append -> log end offset -> (flush policy) -> high watermark -> waiting fetches

With the policy "ack" records are shown to consumers, and producers are answered, when the disk has them;
with "interval" and "os" at once.

Appends happen in the order of the calls, also when one of them has to be recompressed in a thread: those
behind it wait their turn (`append_in_turn`), because an idempotent producer's sequences must not be
shuffled.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from distributedlog.broker.produced_batch import (
    CRC,
    LAST_OFFSET_DELTA,
    MAX_TIMESTAMP,
    PRODUCER_ID,
    RECORDS_COUNT,
    HeaderFields,
    check_produced_batch,
)
from distributedlog.broker.recompression import needs_preparation, prepare_batch, prepares_in_thread
from distributedlog.log import (
    AppendOrigin,
    AppendResult,
    FlushPolicy,
    LogConfig,
    PartitionLog,
    VerificationGuard,
)
from distributedlog.log.append_checks import CRC_START
from distributedlog.log.appending import NO_APPEND_TIME
from distributedlog.log.errors import LogError
from distributedlog.records import patch_base_offset

if TYPE_CHECKING:
    from distributedlog.broker.fetch_purgatory import FetchWaiter
    from distributedlog.broker.flush_runner import FlushCallback, FlushRunner
    from distributedlog.broker.scheduler import Scheduler
    from distributedlog.log.files import Buffer

#: Told the result of an append, or why there is none.
AppendCallback = Callable[[AppendResult | BaseException], None]

NO_EPOCH: Final = -1


class Partition:
    """Made by `PartitionTable.open`. Everything happens in the thread of the event loop."""

    __slots__ = (
        "_scheduler",
        "_turns",
        "appended_bytes",
        "flush_policy",
        "flush_runner",
        "flushes_at_ack",
        "index",
        "is_deleted",
        "leader_epoch",
        "log",
        "topic",
        "topic_id",
        "visible_bytes",
        "watchers",
    )

    def __init__(
        self,
        topic: str,
        index: int,
        topic_id: bytes,
        log: PartitionLog,
        flush_policy: FlushPolicy,
        flush_runner: "FlushRunner",
        scheduler: "Scheduler",
        *,
        leader_epoch: int = 0,
    ) -> None:
        self.topic = topic
        self.index = index
        self.topic_id = topic_id
        self.log = log
        self.leader_epoch = leader_epoch
        self.flush_policy = flush_policy
        self.flush_runner = flush_runner
        self.is_deleted = False
        #: Bytes appended since the start, and of these the ones below the high watermark.
        self.appended_bytes = 0
        self.visible_bytes = 0
        #: Fetches that are told when the high watermark moves, in the order in which they came.
        self.watchers: dict[FetchWaiter, None] = {}
        self._scheduler = scheduler
        #: Whether an append is not safe, nor seen by consumers, before the disk has it.
        self.flushes_at_ack = flush_policy.flush == "ack"
        #: Appends behind one that is being prepared in a thread; None when there is none.
        self._turns: deque[tuple[Buffer, VerificationGuard | None, AppendCallback]] | None = None

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.index}, {self.log!r})"

    def configure(self, config: LogConfig, flush_policy: FlushPolicy) -> None:
        """Take a topic's new configuration; what comes from now on goes by it."""
        self.log.config = config
        self.log.writer.config = config
        self.flush_policy = flush_policy
        was_ack, self.flushes_at_ack = self.flushes_at_ack, flush_policy.flush == "ack"
        if was_ack and not self.flushes_at_ack:
            self._show(self.log.log_end_offset, self.appended_bytes)

    # -- appending ----------------------------------------------------------------------------------

    @property
    def takes_turns(self) -> bool:
        """Whether an append is being prepared, so that the next has to wait for it."""
        return self._turns is not None

    def append(
        self,
        records: "Buffer",
        *,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendResult:
        """Append one batch of a client, or the batches of a coordinator, here and now.

        ``guard`` is that of a transaction's first batch, ``transaction_version`` that of a marker. Raises
        what `PartitionLog.append` raises, and for a client's batch what `check_produced_batch` does. It is
        not yet safe when this returns: see `is_safe`.
        """
        config = self.log.config
        if origin is AppendOrigin.CLIENT:
            fields = check_produced_batch(records, config)
            if needs_preparation(fields, config):
                records = prepare_batch(records, fields, config, now_ms)
            elif fields[PRODUCER_ID] < 0 and _is_sound(records, fields, config, now_ms):
                return self._append_plain(records, fields, now_ms)
        return self._append(records, now_ms, origin, guard, transaction_version)

    def _append_plain(self, records: "Buffer", fields: HeaderFields, now_ms: int) -> AppendResult:
        """A sound batch that nothing changes but its place: without a second look at it."""
        log = self.log
        if self.leader_epoch > log.leader_epochs.latest_epoch:
            return self._append(records, now_ms, AppendOrigin.CLIENT)
        segment = log.writer.active
        patch_base_offset(records, 0, log.log_end_offset, self.leader_epoch)  # type: ignore[arg-type]
        count = fields[RECORDS_COUNT]
        first_offset = log.append_built(records, count, fields[MAX_TIMESTAMP], now_ms)  # type: ignore[arg-type]
        self._appended(len(records), rolled=log.writer.active is not segment)
        return AppendResult(first_offset, first_offset + count - 1, NO_APPEND_TIME, log.log_start_offset)

    def append_in_turn(
        self, records: "Buffer", done: AppendCallback, guard: VerificationGuard | None = None
    ) -> None:
        """The same for a client's batch that may have to be prepared in a thread, or wait for such a one.

        Batches that are not prepared here and now are copied: the buffer is the caller's again.
        """
        if self._turns is not None:
            self._turns.append((bytes(records), guard, done))
            return
        self._begin_turn(records, guard, done)

    def prepares_in_thread(self, records: "Buffer") -> bool:
        """Whether the batch is to be recompressed and so large that the loop should not wait for it."""
        return prepares_in_thread(records, self.log.config)

    def _begin_turn(self, records: "Buffer", guard: VerificationGuard | None, done: AppendCallback) -> bool:
        """Append, or begin to prepare in a thread: then True, and the next have to wait."""
        now_ms = self._scheduler.now_ms()
        if not self.prepares_in_thread(records):
            done(self._append_or_error(lambda: self.append(records, now_ms=now_ms, guard=guard)))
            return False
        config = self.log.config
        batch = bytes(records)
        self._turns = deque()

        def work() -> "Buffer":
            fields = check_produced_batch(batch, config)
            return prepare_batch(batch, fields, config, now_ms)

        self._scheduler.run_in_thread(
            work,
            lambda prepared: self._end_turn(
                done,
                self._append_or_error(lambda: self._append(prepared, now_ms, AppendOrigin.CLIENT, guard)),
            ),
            lambda error: self._end_turn(done, error),
        )
        return True

    def _end_turn(self, done: AppendCallback, result: AppendResult | BaseException) -> None:
        turns, self._turns = self._turns, None
        done(result)
        while turns:
            records, guard, next_done = turns.popleft()
            if self._begin_turn(records, guard, next_done):
                self._turns = turns
                return

    def _append_or_error(self, append: Callable[[], AppendResult]) -> AppendResult | BaseException:
        if self.is_deleted:
            return PartitionDeleted(self.topic, self.index)
        try:
            return append()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits for the turn
            return error

    def _append(
        self,
        records: "Buffer",
        now_ms: int,
        origin: AppendOrigin,
        guard: VerificationGuard | None = None,
        transaction_version: int = 0,
    ) -> AppendResult:
        log = self.log
        segment = log.writer.active
        result = log.append(
            records,
            leader_epoch=self.leader_epoch,
            now_ms=now_ms,
            origin=origin,
            guard=guard,
            transaction_version=transaction_version,
        )
        if not result.is_duplicate:
            self._appended(len(records), rolled=log.writer.active is not segment)
        return result

    def _appended(self, size: int, *, rolled: bool) -> None:
        self.appended_bytes += size
        if self.flushes_at_ack:
            self.flush_runner.request(self)
        else:
            self._show(self.log.log_end_offset, self.appended_bytes)
            self._flush_by_policy(rolled=rolled)

    def _flush_by_policy(self, *, rolled: bool) -> None:
        policy = self.flush_policy
        if policy.flush == "interval":
            behind = self.log.log_end_offset - self.log.recovery_point
            if behind >= policy.flush_interval_records:
                self.flush_runner.request(self)
            else:
                self.flush_runner.request_within(self, policy.flush_interval_ms)
        elif rolled:
            # What is complete goes to the disk in the background, so that recovery need not read it.
            self.flush_runner.request(self)

    def is_safe(self, next_offset: int) -> bool:
        """Whether everything below the offset is as safe as the flush policy says."""
        return not self.flushes_at_ack or self.log.recovery_point >= next_offset

    def wait_until_safe(self, done: "FlushCallback", timeout_ms: int | None = None) -> None:
        """Tell when all that is in the log by now is on the disk, or why it is not."""
        self.flush_runner.wait(self, done, timeout_ms)

    # -- what consumers see ---------------------------------------------------------------------------

    def show_flushed(self, offset: int, appended_bytes: int) -> None:
        """A flush has brought this much to the disk."""
        if offset > self.log.high_watermark:
            self._show(offset, appended_bytes)

    def _show(self, offset: int, appended_bytes: int) -> None:
        self.log.advance_high_watermark(offset)
        gained_bytes = appended_bytes - self.visible_bytes
        self.visible_bytes = max(appended_bytes, self.visible_bytes)
        if self.watchers:
            for waiter in tuple(self.watchers):
                waiter.note_visible(self, gained_bytes)

    def wake_watchers(self) -> None:
        """Have every waiting fetch look again: the partition is gone, or its log is not what it was."""
        for waiter in tuple(self.watchers):
            waiter.note_change()

    def mark_deleted(self) -> None:
        self.is_deleted = True
        self.flush_runner.forget(self)
        self.wake_watchers()


class PartitionDeleted(LogError):
    """The topic was deleted while an append waited for its turn."""

    def __init__(self, topic: str, index: int) -> None:
        super().__init__(f"partition {index} of topic {topic!r} was deleted")


def _is_sound(records: "Buffer", fields: HeaderFields, config: LogConfig, now_ms: int) -> bool:
    """Whether a batch whose header was checked may be written as it is. If not, the log says why not."""
    max_timestamp = fields[MAX_TIMESTAMP]
    return (
        fields[LAST_OFFSET_DELTA] == fields[RECORDS_COUNT] - 1 >= 0
        and not config.is_log_append_time
        and len(records) <= config.segment_bytes
        and now_ms - max_timestamp <= config.message_timestamp_before_max_ms
        and max_timestamp - now_ms <= config.message_timestamp_after_max_ms
        and isinstance(records, (bytearray, memoryview))
        and (isinstance(records, bytearray) or not records.readonly)
        and crc32c(memoryview(records)[CRC_START:]) == fields[CRC]
    )
