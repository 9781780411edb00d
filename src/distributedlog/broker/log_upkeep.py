"""What goes on behind the clients' backs: retention, compaction, checkpoints, forgotten producers.

All of it begins with a timer. What takes long is done by threads, or in slices between which requests are
served; nothing here ever stops the broker.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distributedlog.broker.log_cleaning import LogCleaning
from distributedlog.broker.scheduler import Timer
from distributedlog.log.errors import LogError

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.partition import Partition

#: Kafka's log.initial.task.delay.ms: recovery and the first clients come before housekeeping.
INITIAL_DELAY_MS: Final = 30_000
PARTITIONS_PER_SLICE: Final = 20

logger = logging.getLogger("distributedlog.broker")


class LogUpkeep:
    """The timers of one broker."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._cleaning = LogCleaning(broker, self.remove_later)
        self._timers: dict[str, Timer] = {}
        self._removals: set[Timer] = set()
        self._checkpointed: object = None
        self._is_stopped = True

    def start(self) -> None:
        config = self._broker.config
        self._is_stopped = False
        self._every("retention", config.log_retention_check_interval_ms, self.apply_retention)
        self._every("checkpoint", config.log_flush_offset_checkpoint_interval_ms, self.write_checkpoints)
        self._every("producers", config.producer_id_expiration_check_interval_ms, self.forget_producers)
        if config.log_cleaner_enable:
            self._after("cleaner", min(INITIAL_DELAY_MS, config.log_cleaner_backoff_ms), self._clean)

    def stop(self) -> None:
        """No timer fires any more. Files that still wait to be removed go when their logs are opened."""
        self._is_stopped = True
        for timer in (*self._timers.values(), *self._removals):
            timer.cancel()
        self._timers.clear()
        self._removals.clear()

    def _after(self, name: str, delay_ms: float, work: Callable[[], None]) -> None:
        if not self._is_stopped:
            self._timers[name] = self._broker.scheduler.call_later(delay_ms, work)

    def _every(self, name: str, interval_ms: int, work: Callable[[], None]) -> None:
        def run() -> None:
            try:
                work()
            except Exception:
                logger.exception("the regular work called %s failed", name)
            self._after(name, max(interval_ms, 1), run)

        self._after(name, min(INITIAL_DELAY_MS, max(interval_ms, 1)), run)

    # -- retention ------------------------------------------------------------------------------------

    def apply_retention(self) -> None:
        """Let every log drop what it may, a few at a time."""
        self._in_slices(deque(self._broker.partitions), self._retain)

    def _retain(self, partition: "Partition") -> None:
        log = partition.log
        if log.writer.offline is not None:
            return
        gone = log.delete_old_segments(self._broker.scheduler.now_ms())
        if gone:
            logger.info(
                "%s-%s begins at offset %s now", partition.topic, partition.index, log.log_start_offset
            )
            self.remove_later(gone, log.config.file_delete_delay_ms)

    def _in_slices(self, todo: "deque[Partition]", work: "Callable[[Partition], None]") -> None:
        for _ in range(min(PARTITIONS_PER_SLICE, len(todo))):
            partition = todo.popleft()
            if partition.is_deleted or self._is_stopped:
                continue
            try:
                work(partition)
            except (LogError, OSError) as error:
                logger.error("upkeep of %s-%s: %s", partition.topic, partition.index, error)
        if todo and not self._is_stopped:
            self._broker.scheduler.call_soon(lambda: self._in_slices(todo, work))

    def remove_later(self, paths: Sequence[Path], delay_ms: int) -> None:
        """Remove files that are out of their log, once readers have had time to let go of them."""
        if not paths or self._is_stopped:
            return
        files = self._broker.directory.files

        def work() -> None:
            for path in paths:
                files.unlink_if_there(path)

        def begin() -> None:
            self._removals.discard(timer)
            self._broker.scheduler.run_in_thread(
                work, lambda _: None, lambda error: logger.error("files are not removed: %s", error)
            )

        timer = self._broker.scheduler.call_later(delay_ms, begin)
        self._removals.add(timer)

    # -- all else -------------------------------------------------------------------------------------

    def write_checkpoints(self) -> None:
        """Write down how far the logs are, when that has changed; an idle broker lets the disk sleep."""
        directory = self._broker.directory
        state = {
            key: (log.recovery_point, log.high_watermark, log.log_start_offset, log.first_dirty_offset)
            for key, log in directory.logs.items()
        }
        if state != self._checkpointed:
            directory.write_checkpoints()
            self._checkpointed = state

    def forget_producers(self) -> None:
        """Drop what is kept of idempotent producers that have been silent for too long."""
        expiration_ms = self._broker.config.producer_id_expiration_ms
        now_ms = self._broker.scheduler.now_ms()

        def forget(partition: "Partition") -> None:
            states = partition.log.producer_states
            states.producer_id_expiration_ms = expiration_ms
            states.remove_expired(now_ms)

        self._in_slices(deque(self._broker.partitions), forget)

    def _clean(self) -> None:
        """Compact one log; then look for the next, at once when there was one and else after a rest."""
        self._cleaning.begin(
            lambda found: self._after(
                "cleaner", 0 if found else self._broker.config.log_cleaner_backoff_ms, self._clean
            )
        )
