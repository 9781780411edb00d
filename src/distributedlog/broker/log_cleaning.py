"""Which log is compacted next, and one compaction from its beginning to its end.

One at a time: the log with the largest share of dirty bytes that is worth it. The work is a job for a
thread (`log/cleaner.py`); the loop only begins it and swaps the result in.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from distributedlog.log import PartitionLog
from distributedlog.log.cleaner import CompactionJob
from distributedlog.log.errors import DiskFull, LogError

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.partition import Partition

logger = logging.getLogger("distributedlog.broker")


class LogCleaning:
    """Remembers the logs that could not be compacted: they are left alone until the next start."""

    def __init__(self, broker: "Broker", remove_later: Callable[[Sequence[Path], int], None]) -> None:
        self._broker = broker
        self._remove_later = remove_later
        self.uncleanable: dict[tuple[str, int], str] = {}

    def begin(self, done: Callable[[bool], None]) -> None:
        """Begin the compaction that is due most; ``done`` hears, at its end, whether there was one."""
        now_ms = self._broker.scheduler.now_ms()
        for _, partition in sorted(self._candidates(), key=lambda pair: -pair[0]):
            try:
                job = partition.log.begin_compaction(now_ms)
            except (LogError, OSError) as error:
                self._give_up(partition, error)
                continue
            if job is not None:
                self._run(partition, job, done)
                return
        done(False)

    def _candidates(self) -> "list[tuple[float, Partition]]":
        found = []
        for partition in self._broker.partitions:
            log = partition.log
            if (
                log.config.compact
                and log.writer.offline is None
                and (partition.topic, partition.index) not in self.uncleanable
                and (ratio := dirty_ratio(log)) > 0
            ):
                found.append((ratio, partition))
        return found

    def _run(self, partition: "Partition", job: CompactionJob, done: Callable[[bool], None]) -> None:
        job.map_bytes_max = self._broker.config.log_cleaner_dedupe_buffer_size

        def ran(_: None) -> None:
            if not partition.is_deleted:
                try:
                    gone = partition.log.complete_compaction(job)
                    self._remove_later(gone, partition.log.config.file_delete_delay_ms)
                    logger.info("%s-%s is compacted: %s of %s records are kept", partition.topic,
                                partition.index, job.stats.records_kept, job.stats.records_read)  # fmt: skip
                except (LogError, OSError) as error:
                    self._give_up(partition, error)
            done(True)

        def failed(error: BaseException) -> None:
            if isinstance(error, DiskFull):
                logger.error("%s-%s is not compacted: %s", partition.topic, partition.index, error)
            elif not partition.is_deleted:
                self._give_up(partition, error)
            done(False)

        self._broker.scheduler.run_in_thread(job.run, ran, failed)

    def _give_up(self, partition: "Partition", error: BaseException) -> None:
        self.uncleanable[partition.topic, partition.index] = str(error)
        logger.error("%s-%s is not compacted any more: %s", partition.topic, partition.index, error)


def dirty_ratio(log: PartitionLog) -> float:
    """About what share of the sealed segments is dirty: to choose by, `begin_compaction` decides."""
    clean_bytes = dirty_bytes = 0
    for segment in log.segments.sealed:
        if segment.base_offset >= log.first_dirty_offset:
            dirty_bytes += segment.size
        else:
            clean_bytes += segment.size
    return dirty_bytes / (clean_bytes + dirty_bytes) if dirty_bytes else 0.0
