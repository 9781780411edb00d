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
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from distributedlog.log.config import FlushMode, FlushPolicy, LogConfig
from distributedlog.log.directory import LogDirectory, wall_clock_ms
from distributedlog.log.errors import InvalidRecord, LogClosed, OffsetOutOfRange, RecordTooLarge
from distributedlog.log.files import REAL_FILES, FileRegion, Files
from distributedlog.log.flush import FlushJob
from distributedlog.log.flush_thread import FlushThread
from distributedlog.log.group_commit import GroupCommit
from distributedlog.log.loading import RecoveryReport
from distributedlog.log.record_reading import read_columns, read_records
from distributedlog.records import BatchBuilder, Compression, Record, encode_single

if TYPE_CHECKING:
    import pyarrow

TOPIC: Final = "log"
PARTITION: Final = 0
LEADER_EPOCH: Final = 0
#: Bytes of records that `append_many` puts into one batch before it begins the next.
BATCH_BYTES: Final = 1 << 18
#: An embedded log keeps its records until told otherwise; a topic of Kafka keeps them for a week.
CONFIG_DEFAULTS: Final[Mapping[str, str]] = {"retention.ms": "-1"}

Headers = tuple[tuple[str, bytes | None], ...]


class Entry(NamedTuple):
    """One record to append. Without a timestamp it gets the time of the append."""

    key: bytes | None = None
    value: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None


class Log:
    """The one writer of an embedded log, which also reads it.

    ``flush`` says when an append counts as done: ``"ack"`` (the default) when it is on the disk;
    ``"interval"`` at once, with the disk at most ``flush_interval_ms`` or ``flush_interval_records``
    behind; ``"os"`` at once, and the operating system writes when it likes. All three survive the
    death of the process, only the first loses nothing when the power fails.

    ``config`` takes Kafka's topic configuration by its names, such as ``{"segment.bytes": "1048576",
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
        config: Mapping[str, str] | None = None,
        repair: bool = False,
        files: Files = REAL_FILES,
    ) -> None:
        self.config = LogConfig.from_kafka({**CONFIG_DEFAULTS, **(config or {})})
        self.flush_policy = FlushPolicy(flush, flush_interval_ms, flush_interval_records).tightened_by(
            self.config
        )
        self._compression = _compression(compression)
        self._lock = threading.RLock()
        self._directory = LogDirectory(directory, files=files)
        try:
            self._log = self._directory.open_log(TOPIC, PARTITION, self.config, cut_damage=repair)
        except BaseException:
            self._directory.abandon()
            raise
        self._log.make_room = self._make_room
        self._closed = False
        self._acks_flush = self.flush_policy.flush == "ack"
        self._commit = GroupCommit(self._begin_flush, self._complete_flush, self._log.recovery_point)
        self._flush_thread = FlushThread(self._commit, self.flush_policy, lambda: self._log.log_end_offset)
        self._log.advance_high_watermark(self._log.log_end_offset)
        self._known_segments = len(self._log.segments)

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
            except TypeError as error:
                raise _wrong_type(key, value, headers) from error
            if len(batch) > self.config.max_message_bytes:
                raise RecordTooLarge(len(batch), self.config.max_message_bytes)
            log.append_built(batch, 1, timestamp, now_ms)
        self._after_append(offset + 1)
        return offset
