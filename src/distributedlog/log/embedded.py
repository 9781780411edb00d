"""`Log`: the engine as an embedded commit log, without a broker [io].

    with Log("events") as log:
        offset = log.append(key=b"user-1", value=b"signed in")
        for record in log.read(offset):
            print(record.offset, record.value)

One process writes, any number read (`LogReader`). Threads of the writing process may share a `Log`:
a lock guards the log, the wait for the disk happens outside of it, and waiting appends share one
fsync. What lies on disk is a data directory with one partition, as Kafka would write it.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from operator import index
from pathlib import Path
from typing import Final, Self

from distributedlog.log.cleaner import CompactionStats
from distributedlog.log.config import FlushMode, FlushPolicy, LogConfig
from distributedlog.log.directory import LogDirectory, wall_clock_ms
from distributedlog.log.embedded_layout import PARTITION, TOPIC
from distributedlog.log.entries import (
    RECORD_OVERHEAD_MAX,
    AnyRecord,
    Entry,
    Headers,
    compression_of,
    explained,
    fields_of,
    headers_size_max,
)
from distributedlog.log.errors import (
    InvalidRecord,
    LogClosed,
    LogDirectoryOffline,
    LogError,
    LogOfParentProcess,
    OffsetOutOfRange,
    RecordTooLarge,
)
from distributedlog.log.files import REAL_FILES, FileRegion, Files
from distributedlog.log.flush import FlushJob
from distributedlog.log.flush_thread import FlushThread
from distributedlog.log.forking import hold
from distributedlog.log.group_commit import GroupCommit
from distributedlog.log.loading import RecoveryReport
from distributedlog.log.readable import ReadableLog
from distributedlog.records import (
    BatchBuilder,
    Compression,
    encode_single,
    parse_header,
    patch_base_offset,
    set_log_append_time,
)

LEADER_EPOCH: Final = 0
#: Bytes of records that `append_many` puts into one batch before it begins the next.
BATCH_BYTES: Final = 1 << 16
#: An embedded log keeps its records until told otherwise; a topic of Kafka keeps them for a week.
CONFIG_DEFAULTS: Final[Mapping[str, str]] = {"retention.ms": "-1"}


class Log(ReadableLog):
    """The one writer of an embedded log, which also reads it.

    ``flush`` says when an append counts as done: ``"ack"`` (the default) when it is on the disk;
    ``"interval"`` at once, with the disk at most ``flush_interval_ms`` or ``flush_interval_records``
    behind; ``"os"`` at once, and the operating system writes when it likes. All three survive the
    death of the process, only the first loses nothing when the power fails.

    ``config`` takes Kafka's topic configuration by its names, such as ``{"segment.bytes": 1_048_576,
    "cleanup.policy": "compact"}``. ``repair=True`` opens a damaged log with what is sound of it.
    """

    def __init__(
        self,
        directory: Path | str,
        *,
        flush: FlushMode = "ack",
        flush_interval_ms: int = 100,
        flush_interval_records: int = 10_000,
        compression: Compression | str = Compression.NONE,
        config: Mapping[str, str | int | float | bool] | None = None,
        repair: bool = False,
        files: Files = REAL_FILES,
    ) -> None:
        self.config = LogConfig.from_kafka({**CONFIG_DEFAULTS, **_as_text(config or {})})
        self.flush_policy = FlushPolicy(flush, flush_interval_ms, flush_interval_records).tightened_by(
            self.config
        )
        self._compression = compression_of(compression)
        self._lock = threading.RLock()
        self._compacting = threading.Lock()
        self._directory = LogDirectory(directory, files=files)
        try:
            self._log = self._directory.open_log(TOPIC, PARTITION, self.config, cut_damage=repair)
            if self._log.leader_epochs.latest_epoch < LEADER_EPOCH:
                self._log.begin_leader_epoch(LEADER_EPOCH)
            if not self.recovery.was_clean:
                # What is shown to readers from now on must not be lost when the power fails.
                self._log.flush()
        except BaseException:
            self._directory.abandon()
            raise
        self._log.writer.make_room = self._make_room
        self._closed: LogClosed | None = None
        self._acks_flush = self.flush_policy.flush == "ack"
        self._flushes_in_intervals = self.flush_policy.flush == "interval"
        self._needs_the_long_way = bool(
            self._compression or self.config.is_log_append_time or self.config.compact
        )
        self._commit = GroupCommit(
            self._begin_flush, self._complete_flush, self._fail, self._log.recovery_point
        )
        self._flush_thread = FlushThread(
            self._commit,
            self.flush_policy.flush_interval_ms if self._flushes_in_intervals else 0,
            lambda: self._log.log_end_offset,
        )
        self._log.advance_high_watermark(self._log.log_end_offset)
        self._known_segments = len(self._log.segments)
        hold(self)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{self.start_offset}..{self.end_offset}"
        return f"Log({str(self._directory.path)!r}, {state})"

    # -- what there is ------------------------------------------------------------------------------

    @property
    def path(self) -> Path:
        """The data directory."""
        return self._directory.path

    @property
    def start_offset(self) -> int:
        """The first offset that can be read."""
        return self._log.log_start_offset

    @property
    def end_offset(self) -> int:
        """The offset that the next append gets."""
        return self._log.log_end_offset

    @property
    def recovery(self) -> RecoveryReport:
        """What opening the log had to do."""
        return self._directory.reports[TOPIC, PARTITION]

    # -- appending ----------------------------------------------------------------------------------

    def append(
        self,
        *,
        key: bytes | None = None,
        value: bytes | None = None,
        headers: Headers = (),
        timestamp: int | None = None,
    ) -> int:
        """Append one record and return its offset, once it is as safe as ``flush`` says."""
        now_ms = wall_clock_ms()
        if timestamp is None:
            timestamp = now_ms
        if self._needs_the_long_way:
            return self.append_many([Entry(key, value, headers, timestamp)])[0]
        with self._lock:
            log = self._log
            offset = log.log_end_offset
            try:
                batch = encode_single(timestamp, key, value, headers, offset, LEADER_EPOCH)
            except (TypeError, ValueError, AttributeError) as error:
                raise explained(error, key, value, headers, timestamp) from error
            if len(batch) > self.config.max_message_bytes:
                raise RecordTooLarge(len(batch), self.config.max_message_bytes)
            log.append_built(batch, 1, timestamp, now_ms)
        self._after_append(offset + 1)
        return offset

    def append_many(self, records: Iterable[AnyRecord]) -> range:
        """Append records in large batches and return their offsets, in order.

        A record is an `Entry`, a `Record` (whose offset does not count), a pair of key and value, or
        just a value. Should one of them be refused, the batches before its own stay appended. When
        other threads append at the same time, their records may come in between two batches.
        """
        first_offset = end_offset = -1
        try:
            for batch in self._batches_of(records):
                base_offset, end_offset = self._append_batch(batch)
                first_offset = base_offset if first_offset < 0 else first_offset
        finally:
            if end_offset >= 0:
                self._after_append(end_offset)
        if first_offset < 0:
            return range(self.end_offset, self.end_offset)
        return range(first_offset, end_offset)

    def _batches_of(self, records: Iterable[AnyRecord]) -> Iterator[bytearray]:
        size_max = min(BATCH_BYTES, self.config.max_message_bytes)
        keys_needed = self.config.compact
        now_ms = wall_clock_ms()
        builder = BatchBuilder(self._compression)
        for record in records:
            key, value, headers, timestamp = fields_of(record)
            if keys_needed and key is None:
                raise InvalidRecord("a record without a key, which a compacted log cannot keep")
            try:
                size = RECORD_OVERHEAD_MAX + (len(value) if value else 0) + (len(key) if key else 0)
                if headers:
                    size += headers_size_max(headers)
                timestamp = now_ms if timestamp is None else index(timestamp)
            except (TypeError, ValueError, AttributeError) as error:
                raise explained(error, key, value, headers, timestamp) from error
            if builder.records_count and builder.size + size > size_max:
                yield builder.build(0, LEADER_EPOCH)
                builder = BatchBuilder(self._compression)
            try:
                builder.append(timestamp, key, value, headers)
            except (TypeError, ValueError, AttributeError) as error:
                raise explained(error, key, value, headers, timestamp) from error
        if builder.records_count:
            yield builder.build(0, LEADER_EPOCH)

    def _append_batch(self, batch: bytearray) -> tuple[int, int]:
        if len(batch) > self.config.max_message_bytes:
            raise RecordTooLarge(len(batch), self.config.max_message_bytes)
        now_ms = wall_clock_ms()
        with self._lock:
            log = self._log
            patch_base_offset(batch, 0, log.log_end_offset, LEADER_EPOCH)
            if self.config.is_log_append_time:
                set_log_append_time(batch, 0, now_ms)
            header = parse_header(batch)
            base_offset = log.append_built(batch, header.records_count, header.max_timestamp, now_ms)
            return base_offset, log.log_end_offset

    def _after_append(self, end_offset: int) -> None:
        """Wait for the disk, or see to it that someone does; then readers may see the records."""
        if self._acks_flush:
            self._commit.wait_for(end_offset)
            return
        log = self._log
        with self._lock:
            log.advance_high_watermark(end_offset)
        if self._flushes_in_intervals:
            if end_offset - self._commit.flushed_to > self.flush_policy.flush_interval_records:
                self._commit.wait_for(end_offset)
            else:
                self._flush_thread.request()
        elif len(log.segments) != self._known_segments:
            self._known_segments = len(log.segments)
            self._flush_thread.request()

    def flush(self) -> None:
        """Return when all that was appended is on the disk, whatever the setting."""
        self._check_open()
        self._commit.wait_for(self._log.log_end_offset)

    def _begin_flush(self) -> FlushJob | None:
        with self._lock:
            return self._log.begin_flush()

    def _complete_flush(self, job: FlushJob) -> None:
        with self._lock:
            self._log.complete_flush(job)
            self._log.advance_high_watermark(job.offset)

    def _fail(self, error: LogDirectoryOffline) -> None:
        with self._lock:
            self._log.fail(error)

    # -- reading ------------------------------------------------------------------------------------

    def _find_time(self, timestamp: int) -> int | None:
        with self._lock:
            self._check_open()
            found = self._log.offset_for_timestamp(timestamp, self._log.high_watermark)
        return None if found is None else found.offset

    def _checked_start(self, start_offset: int | None) -> int:
        self._check_open()
        log = self._log
        if start_offset is None:
            return log.log_start_offset
        if not log.log_start_offset <= start_offset <= log.log_end_offset:
            raise OffsetOutOfRange(start_offset, log.log_start_offset, log.log_end_offset)
        return start_offset

    def _fetch(self, offset: int, bytes_max: int) -> tuple[int, FileRegion] | None:
        with self._lock:
            self._check_open()
            log = self._log
            offset = max(offset, log.log_start_offset)
            region = log.read(offset, bytes_max, upper_offset=log.high_watermark)
        return None if region is None else (offset, region)

    # -- upkeep -------------------------------------------------------------------------------------

    def delete_before(self, offset: int) -> None:
        """Forget the records below ``offset``; whole segments of them leave the disk."""
        with self._lock:
            self._check_open()
            self._log.delete_records_before(offset)
        self.apply_retention()

    def apply_retention(self) -> int:
        """Delete what the configuration says is too old or too much; returns how many files went."""
        with self._lock:
            self._check_open()
            paths = self._log.delete_old_segments(wall_clock_ms())
        self._log.remove_files(paths)
        return len(paths)

    def compact(self) -> CompactionStats:
        """Keep only the last record of each key; needs ``config={"cleanup.policy": "compact"}``.

        Everything that was appended before the call is compacted. Other threads may append and read
        meanwhile; a second call waits for the first.
        """
        with self._compacting:
            with self._lock:
                self._check_open()
                if self.config.compact:
                    self._log.roll(wall_clock_ms())
            self.flush()
            with self._lock:
                self._check_open()
                job = self._log.begin_compaction(wall_clock_ms(), even_if_little=True)
            if job is None:
                return CompactionStats()
            job.run()
            with self._lock:
                self._check_open()
                paths = self._log.complete_compaction(job)
            self._log.remove_files(paths)
            return job.stats

    def _make_room(self) -> bool:
        """For an append that met a full disk and holds the lock."""
        paths = self._log.delete_old_segments(wall_clock_ms(), roll_expired=False)
        self._log.remove_files(paths)
        return bool(paths)

    def close(self) -> None:
        """Flush everything and leave the log so that it opens at once. Nothing happens the second time."""
        with self._lock:
            if self._closed:
                return
            self._closed = LogClosed(str(self._directory.path))
        was_offline = self._log.writer.offline
        self._flush_thread.stop()
        with suppress(LogError):
            # Those who wait for the disk get what they wait for.
            self._commit.wait_for(self._log.log_end_offset)
        self._commit.stop(self._closed)
        with self._lock:
            self._directory.close()
        offline = self._log.writer.offline
        if offline is not None and was_offline is None:
            # Only now was the disk found to be broken: nobody has been told yet.
            raise offline

    def _check_open(self) -> None:
        if self._closed:
            raise self._closed

    def leave_to_parent(self) -> None:
        """In a forked process, where a thread that held the lock at that moment will never give it back."""
        self._lock = threading.RLock()
        self._compacting = threading.Lock()
        self._closed = LogOfParentProcess(str(self._directory.path))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _as_text(config: Mapping[str, str | int | float | bool]) -> dict[str, str]:
    """Kafka's configuration is text; numbers and booleans are what people write in Python."""
    return {
        name: str(value).lower() if isinstance(value, bool | int | float) else value
        for name, value in config.items()
    }
