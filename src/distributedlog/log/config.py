"""The configuration of one log, in Kafka's names (`segment.bytes` is `config.segment_bytes`).

The body of LogConfig is the table: one entry per key, from which parsing, checking, describing and
printing follow. Defaults and ranges are those of Kafka 4's topic configuration. One range is wider:
segment.bytes goes down to 14 as it did up to Kafka 4.1 (later ones ask for a mebibyte), because small
segments are what tests and small devices want.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Literal, Self, get_args

from distributedlog.log.config_key import (
    INT64_MAX,
    ConfigKey,
    ConfigType,
    ConfigValue,
    Validator,
    at_least,
    between,
    distinct_of,
    one_of,
)
from distributedlog.log.errors import InvalidConfig

NEVER_MS: Final = INT64_MAX
HOUR_MS: Final = 60 * 60 * 1000
DAY_MS: Final = 24 * HOUR_MS


def _is_replica_list(values: tuple[str, ...]) -> bool:
    return values == ("*",) or all(re.fullmatch(r"([0-9]+:[0-9]+)?", part) for part in values)


_GZIP_LEVEL = Validator(lambda level: level == -1 or 1 <= level <= 9, "1 to 9, or -1 for the codec's choice")
_REPLICA_LIST = Validator(_is_replica_list, "* or a list of partition:broker pairs")


def _key(
    name: str, kind: ConfigType, default: ConfigValue, validator: Validator | None, documentation: str
) -> Any:
    return field(default=default, metadata={"key": ConfigKey(name, kind, default, validator, documentation)})


_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _DOUBLE, _LIST = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST


# fmt: off
@dataclass(frozen=True, slots=True)
class LogConfig:
    """One topic's configuration; immutable, always valid, its values plain attributes for the hot path.
    Change one value with `dataclasses.replace`."""

    # Segments and indexes
    segment_bytes: int = _key("segment.bytes", _INT, 1024**3, at_least(14),
        "Size at which a segment file is closed and a new one begun. Retention deletes whole segments.")
    segment_ms: int = _key("segment.ms", _LONG, 7 * DAY_MS, at_least(1),
        "Age at which a segment is closed even if it is not full, so that retention can reach it.")
    segment_jitter_ms: int = _key("segment.jitter.ms", _LONG, 0, at_least(0),
        "Largest random time taken off segment.ms, so that many logs do not roll in the same moment.")
    segment_index_bytes: int = _key("segment.index.bytes", _INT, 10 * 1024**2, at_least(4),
        "Size that an offset index is preallocated to; a full index makes its segment roll.")
    index_interval_bytes: int = _key("index.interval.bytes", _INT, 4096, at_least(0),
        "Bytes of log between two index entries: smaller finds positions closer, larger keeps indexes short.")
    preallocate: bool = _key("preallocate", _BOOLEAN, False, None,
        "Reserve the whole size of a new segment file when it is created.")
    file_delete_delay_ms: int = _key("file.delete.delay.ms", _LONG, 60_000, at_least(0),
        "Time between taking a file out of the log and deleting it, for readers that still hold it.")

    # Retention and compaction
    cleanup_policy: tuple[str, ...] = _key("cleanup.policy", _LIST, ("delete",),
        distinct_of("compact", "delete"),
        "delete drops old segments, compact keeps the last record of a key, both do both, empty keeps all.")
    retention_ms: int = _key("retention.ms", _LONG, 7 * DAY_MS, at_least(-1),
        "Age at which a segment may be deleted; -1 keeps records for ever.")
    retention_bytes: int = _key("retention.bytes", _LONG, -1, None,
        "Size of one partition above which its oldest segments are deleted; negative sets no limit.")
    min_cleanable_dirty_ratio: float = _key("min.cleanable.dirty.ratio", _DOUBLE, 0.5, between(0, 1),
        "Share of not yet compacted bytes from which on a log is worth compacting.")
    min_compaction_lag_ms: int = _key("min.compaction.lag.ms", _LONG, 0, at_least(0),
        "Time for which a record is safe from compaction.")
    max_compaction_lag_ms: int = _key("max.compaction.lag.ms", _LONG, NEVER_MS, at_least(1),
        "Time after which a record must be compacted, however clean the log is.")
    delete_retention_ms: int = _key("delete.retention.ms", _LONG, DAY_MS, at_least(0),
        "Time for which compaction keeps tombstones and transaction markers, for readers to see them.")

    # Durability and availability
    flush_messages: int = _key("flush.messages", _LONG, INT64_MAX, at_least(1),
        "Records after which the log is synced to disk; 1 syncs every append.")
    flush_ms: int = _key("flush.ms", _LONG, NEVER_MS, at_least(0),
        "Time after which appended records are synced to disk.")
    min_insync_replicas: int = _key("min.insync.replicas", _INT, 1, at_least(1),
        "Replicas that must hold a record before a write with acks=all succeeds.")
    unclean_leader_election_enable: bool = _key("unclean.leader.election.enable", _BOOLEAN, False, None,
        "Let a replica that is behind become leader when no other is left; records may be lost.")

    # What is accepted
    max_message_bytes: int = _key("max.message.bytes", _INT, 1024**2 + 12, at_least(0),
        "Largest batch accepted, in bytes as it is stored, compressed.")
    message_timestamp_type: str = _key("message.timestamp.type", _STRING, "CreateTime",
        one_of("CreateTime", "LogAppendTime"),
        "Whether a record keeps the producer's timestamp or gets the time of its append.")
    message_timestamp_before_max_ms: int = _key("message.timestamp.before.max.ms", _LONG, NEVER_MS,
        at_least(0),
        "How far a producer's timestamp may lie in the past; not for LogAppendTime.")
    message_timestamp_after_max_ms: int = _key("message.timestamp.after.max.ms", _LONG, HOUR_MS, at_least(0),
        "How far a producer's timestamp may lie in the future; not for LogAppendTime.")
    compression_type: str = _key("compression.type", _STRING, "producer",
        one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        "Codec in which batches are stored; producer leaves them as they came.")
    compression_gzip_level: int = _key("compression.gzip.level", _INT, -1, _GZIP_LEVEL,
        "Effort of gzip when compression.type is gzip.")
    compression_lz4_level: int = _key("compression.lz4.level", _INT, 9, between(1, 17),
        "Effort of lz4 when compression.type is lz4.")
    compression_zstd_level: int = _key("compression.zstd.level", _INT, 3, between(-131_072, 22),
        "Effort of zstd when compression.type is zstd.")

    # Replication quotas
    leader_replication_throttled_replicas: tuple[str, ...] = _key("leader.replication.throttled.replicas",
        _LIST, (), _REPLICA_LIST, "Replicas whose leader side is throttled.")
    follower_replication_throttled_replicas: tuple[str, ...] = _key("follower.replication.throttled.replicas",
        _LIST, (), _REPLICA_LIST, "Replicas whose follower side is throttled.")

    # Tiered storage
    remote_storage_enable: bool = _key("remote.storage.enable", _BOOLEAN, False, None,
        "Copy closed segments to the remote tier.")
    local_retention_ms: int = _key("local.retention.ms", _LONG, -2, at_least(-2),
        "Age up to which segments stay local once copied; -2 takes retention.ms.")
    local_retention_bytes: int = _key("local.retention.bytes", _LONG, -2, at_least(-2),
        "Size up to which segments stay local once copied; -2 takes retention.bytes.")
    remote_log_copy_disable: bool = _key("remote.log.copy.disable", _BOOLEAN, False, None,
        "Copy no further segments; those already in the remote tier stay readable.")
    remote_log_delete_on_disable: bool = _key("remote.log.delete.on.disable", _BOOLEAN, False, None,
        "Delete the remote segments when remote.storage.enable is turned off.")
# fmt: on

    def __post_init__(self) -> None:
        for key in CONFIG_KEYS.values():
            key.check(getattr(self, key.attribute))
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms:
            raise InvalidConfig(
                "min.compaction.lag.ms",
                self.min_compaction_lag_ms,
                f"min.compaction.lag.ms = {self.min_compaction_lag_ms} is more than max.compaction.lag.ms = "
                f"{self.max_compaction_lag_ms}: a record would have to be compacted and left alone at once",
            )

    @classmethod
    def from_kafka(cls, configs: Mapping[str, str]) -> Self:
        """Parse a configuration as files and admin clients write it; a missing key has its default."""
        values: dict[str, Any] = {}
        for name, text in configs.items():
            key = CONFIG_KEYS.get(name)
            if key is None:
                raise _unknown_key(name, text)
            values[key.attribute] = key.parse(text)
        return cls(**values)

    def to_kafka(self) -> dict[str, str]:
        """Every key with its value as text; `from_kafka` of it is this configuration."""
        return {name: key.format(getattr(self, key.attribute)) for name, key in CONFIG_KEYS.items()}

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def is_log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def segment_ms_max(self) -> int:
        """The age at which a segment rolls: only closed segments are compacted, so a compacted log rolls
        early enough to keep max.compaction.lag.ms."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms


def _keys_of(table: tuple[Field[Any], ...]) -> dict[str, ConfigKey]:
    keys: dict[str, ConfigKey] = {}
    for entry in table:
        key: ConfigKey = entry.metadata["key"]
        assert key.attribute == entry.name
        keys[key.name] = key
    return keys


CONFIG_KEYS: Final[Mapping[str, ConfigKey]] = _keys_of(fields(LogConfig))


def _unknown_key(name: str, value: object) -> InvalidConfig:
    close = difflib.get_close_matches(str(name), CONFIG_KEYS, n=1)
    hint = f"did you mean {close[0]}?" if close else "see LogConfig for those there are"
    return InvalidConfig(name, value, f"there is no configuration {name!r}: {hint}")


FlushMode = Literal["ack", "interval", "os"]


@dataclass(frozen=True, slots=True)
class FlushPolicy:
    """When appended records are on the disk.

    `ack`: before the append counts as done; waiting appends share one fsync. `interval`: at most
    `flush_interval_ms` or `flush_interval_records` behind, whichever comes first. `os`: when the operating
    system writes its page cache; survives the process being killed, not the power being cut.
    """

    flush: FlushMode = "ack"
    flush_interval_ms: int = 100
    flush_interval_records: int = 10_000

    def __post_init__(self) -> None:
        if self.flush not in get_args(FlushMode):
            raise InvalidConfig("flush", self.flush, f"flush = {self.flush!r}: expected ack, interval or os")
        for name in ("flush_interval_ms", "flush_interval_records"):
            value = getattr(self, name)
            if type(value) is not int or not 1 <= value <= INT64_MAX:
                raise InvalidConfig(name, value, f"{name} = {value!r} is not a number of 1 or more")

    def tightened_by(self, config: LogConfig) -> "FlushPolicy":
        """This policy with the topic's flush.messages and flush.ms, which make it stricter, never laxer."""
        if self.flush == "ack" or (config.flush_messages == INT64_MAX and config.flush_ms == NEVER_MS):
            return self
        if config.flush_messages == 1 or config.flush_ms == 0:
            return FlushPolicy("ack")
        if self.flush == "os":
            return FlushPolicy("interval", config.flush_ms, config.flush_messages)
        return FlushPolicy(
            "interval",
            min(self.flush_interval_ms, config.flush_ms),
            min(self.flush_interval_records, config.flush_messages),
        )
