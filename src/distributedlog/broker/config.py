"""The broker's configuration, in Kafka's names (`num.partitions` is `config.num_partitions`).

The body of BrokerConfig is the table, as that of LogConfig is: one entry per key, from which parsing,
checking and describing follow. Only what has an effect here is in it; whatever else is asked for is an
error that names the nearest key. What Kafka can be told in several units (log.retention.ms, .minutes,
.hours) are keys of their own, the finer ones not set by default: `broker/topic_config.py` makes of them
the defaults of topics.
"""

import difflib
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final, Self

from distributedlog.log.config import CONFIG_KEYS as TOPIC_KEYS
from distributedlog.log.config import DAY_MS, NEVER_MS
from distributedlog.log.config_key import (
    INT32_MAX,
    ConfigKey,
    ConfigType,
    ConfigValue,
    Validator,
    at_least,
    distinct_of,
    one_of,
)
from distributedlog.log.errors import InvalidConfig

#: Stands in a key that has no default of its own, because another key speaks for it.
NOT_SET: Final = -INT32_MAX


@dataclass(frozen=True, slots=True)
class BrokerKey(ConfigKey):
    """A key of the broker; `is_dynamic` when it may be changed while the broker runs."""

    is_dynamic: bool = False


def _key(
    name: str,
    kind: ConfigType,
    default: ConfigValue,
    validator: Validator | None,
    documentation: str,
    *,
    dynamic: bool = False,
) -> Any:
    key = BrokerKey(name, kind, default, validator, documentation, dynamic)
    return field(default=default, metadata={"key": key})


def _topic_default(name: str, topic_key: str, *, unset: bool = False) -> Any:
    """The broker's name of a topic's key: same type and range, and it can be changed at run time."""
    key = TOPIC_KEYS[topic_key]
    validator, default = key.validator, key.default
    if unset and validator is not None:
        accepts = validator.accepts
        validator = Validator(lambda value: value == NOT_SET or accepts(value), validator.expected)
        default = NOT_SET
    return _key(
        name, key.type, default, validator, f"Default of the topics' {topic_key}. {key.documentation}",
        dynamic=True,
    )  # fmt: skip


_BOOLEAN, _STRING, _INT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT
_LONG, _LIST = ConfigType.LONG, ConfigType.LIST
_ONLY_FALSE = Validator(lambda value: value is False, "false")
_NOT_SET_OR_MINUS_ONE = Validator(lambda value: value == NOT_SET or value >= -1, "-1 or more")


# fmt: off
@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """One broker's configuration; immutable, always valid. Change one value with `dataclasses.replace`."""

    # The node and its doors
    node_id: int = _key("node.id", _INT, 1, at_least(0),
        "Number of this node in its cluster; a data directory belongs to one number.")
    log_dir: str = _key("log.dir", _STRING, "dlog-data", None,
        "Data directory: one folder per partition, and the metadata of the node.")
    listeners: tuple[str, ...] = _key("listeners", _LIST, ("PLAINTEXT://127.0.0.1:9092",), None,
        "Where to listen, as NAME://HOST:PORT; port 0 takes any that is free.")
    advertised_listeners: tuple[str, ...] = _key("advertised.listeners", _LIST, (), None,
        "Addresses that clients are told to connect to; empty tells them the listeners' own.")
    metrics_listener: str = _key("metrics.listener", _STRING, "", None,
        "HOST:PORT of the HTTP door for /metrics, /healthz and /api/metadata; empty opens none.")
    broker_rack: str = _key("broker.rack", _STRING, "", None,
        "Rack or zone of this node, which clients that prefer near replicas look at; empty for none.")

    # Connections and requests
    socket_request_max_bytes: int = _key("socket.request.max.bytes", _INT, 100 * 1024**2, at_least(1),
        "Largest request; whoever announces a larger one is disconnected.")
    socket_listen_backlog_size: int = _key("socket.listen.backlog.size", _INT, 1024, at_least(1),
        "Connections that may wait to be accepted; beyond it clients wait for seconds.")
    socket_send_buffer_bytes: int = _key("socket.send.buffer.bytes", _INT, -1, at_least(-1),
        "Size of a socket's send buffer; -1 leaves it to the operating system.")
    socket_receive_buffer_bytes: int = _key("socket.receive.buffer.bytes", _INT, -1, at_least(-1),
        "Size of a socket's receive buffer; -1 leaves it to the operating system.")
    queued_max_request_bytes: int = _key("queued.max.request.bytes", _LONG, -1, at_least(-1),
        "Bytes of requests that all connections together may have in the broker; -1 sets no limit.")
    max_in_flight_requests: int = _key("max.in.flight.requests", _INT, 1000, at_least(1),
        "Requests of one connection that may wait for their response before no more are read.")
    max_connections: int = _key("max.connections", _INT, INT32_MAX, at_least(0),
        "Connections that may be open at once.", dynamic=True)
    max_connections_per_ip: int = _key("max.connections.per.ip", _INT, INT32_MAX, at_least(0),
        "Connections that one address may have open at once.", dynamic=True)
    max_connection_creation_rate: int = _key("max.connection.creation.rate", _INT, INT32_MAX, at_least(0),
        "New connections accepted in a second.", dynamic=True)
    request_timeout_ms: int = _key("request.timeout.ms", _INT, 30_000, at_least(1),
        "Time within which a part of the broker must answer another.")
    connections_max_idle_ms: int = _key("connections.max.idle.ms", _LONG, 600_000, at_least(-1),
        "Time after which a silent connection is closed; -1 never closes one.")

    # Topics
    auto_create_topics_enable: bool = _key("auto.create.topics.enable", _BOOLEAN, True, None,
        "Create topics that clients ask for and that are not there.")
    delete_topic_enable: bool = _key("delete.topic.enable", _BOOLEAN, True, None,
        "Let topics be deleted.")
    num_partitions: int = _key("num.partitions", _INT, 1, at_least(1),
        "Partitions of topics that are created without saying how many.", dynamic=True)
    default_replication_factor: int = _key("default.replication.factor", _INT, 1, at_least(1),
        "Replicas of topics that are created without saying how many.", dynamic=True)
    max_request_partition_size_limit: int = _key("max.request.partition.size.limit", _INT, 2000, at_least(1),
        "Partitions in one answer to DescribeTopicPartitions.")

    # When records are on the disk
    log_flush: str = _key("log.flush", _STRING, "ack", one_of("ack", "interval", "os"),
        "When appended records are on the disk: ack before the producer is answered, interval a moment "
        "later, os when the operating system writes its cache. A topic's own is called flush.", dynamic=True)
    log_flush_interval_messages: int = _topic_default("log.flush.interval.messages", "flush.messages")
    log_flush_interval_ms: int = _topic_default("log.flush.interval.ms", "flush.ms", unset=True)
    log_flush_scheduler_interval_ms: int = _key("log.flush.scheduler.interval.ms", _LONG, NEVER_MS,
        at_least(1), "Default of log.flush.interval.ms.")
    log_flush_offset_checkpoint_interval_ms: int = _key("log.flush.offset.checkpoint.interval.ms", _INT,
        60_000, at_least(0), "Time between two checkpoints of recovery points.")

    # Defaults of topics
    log_segment_bytes: int = _topic_default("log.segment.bytes", "segment.bytes")
    log_roll_ms: int = _topic_default("log.roll.ms", "segment.ms", unset=True)
    log_roll_hours: int = _key("log.roll.hours", _INT, 7 * 24, at_least(1),
        "log.roll.ms in hours.")
    log_roll_jitter_ms: int = _topic_default("log.roll.jitter.ms", "segment.jitter.ms", unset=True)
    log_roll_jitter_hours: int = _key("log.roll.jitter.hours", _INT, 0, at_least(0),
        "log.roll.jitter.ms in hours.")
    log_index_size_max_bytes: int = _topic_default("log.index.size.max.bytes", "segment.index.bytes")
    log_index_interval_bytes: int = _topic_default("log.index.interval.bytes", "index.interval.bytes")
    log_preallocate: bool = _topic_default("log.preallocate", "preallocate")
    log_segment_delete_delay_ms: int = _topic_default("log.segment.delete.delay.ms", "file.delete.delay.ms")
    log_cleanup_policy: tuple[str, ...] = _topic_default("log.cleanup.policy", "cleanup.policy")
    log_retention_ms: int = _topic_default("log.retention.ms", "retention.ms", unset=True)
    log_retention_minutes: int = _key("log.retention.minutes", _INT, NOT_SET, _NOT_SET_OR_MINUS_ONE,
        "log.retention.ms in minutes.")
    log_retention_hours: int = _key("log.retention.hours", _INT, 7 * 24, at_least(-1),
        "log.retention.ms in hours; -1 keeps records for ever.")
    log_retention_bytes: int = _topic_default("log.retention.bytes", "retention.bytes")
    log_cleaner_min_cleanable_ratio: float = _topic_default("log.cleaner.min.cleanable.ratio",
        "min.cleanable.dirty.ratio")
    log_cleaner_min_compaction_lag_ms: int = _topic_default("log.cleaner.min.compaction.lag.ms",
        "min.compaction.lag.ms")
    log_cleaner_max_compaction_lag_ms: int = _topic_default("log.cleaner.max.compaction.lag.ms",
        "max.compaction.lag.ms")
    log_cleaner_delete_retention_ms: int = _topic_default("log.cleaner.delete.retention.ms",
        "delete.retention.ms")
    min_insync_replicas: int = _topic_default("min.insync.replicas", "min.insync.replicas")
    unclean_leader_election_enable: bool = _topic_default("unclean.leader.election.enable",
        "unclean.leader.election.enable")
    message_max_bytes: int = _topic_default("message.max.bytes", "max.message.bytes")
    log_message_timestamp_type: str = _topic_default("log.message.timestamp.type", "message.timestamp.type")
    log_message_timestamp_before_max_ms: int = _topic_default("log.message.timestamp.before.max.ms",
        "message.timestamp.before.max.ms")
    log_message_timestamp_after_max_ms: int = _topic_default("log.message.timestamp.after.max.ms",
        "message.timestamp.after.max.ms")
    compression_type: str = _topic_default("compression.type", "compression.type")
    compression_gzip_level: int = _topic_default("compression.gzip.level", "compression.gzip.level")
    compression_lz4_level: int = _topic_default("compression.lz4.level", "compression.lz4.level")
    compression_zstd_level: int = _topic_default("compression.zstd.level", "compression.zstd.level")

    # What goes on behind the clients' backs
    log_retention_check_interval_ms: int = _key("log.retention.check.interval.ms", _LONG, 300_000,
        at_least(1), "Time between two looks for segments that retention may delete.")
    log_cleaner_enable: bool = _key("log.cleaner.enable", _BOOLEAN, True, None,
        "Compact logs whose cleanup.policy says so.")
    log_cleaner_backoff_ms: int = _key("log.cleaner.backoff.ms", _LONG, 15_000, at_least(0),
        "Time for which the cleaner sleeps when no log is worth compacting.", dynamic=True)
    log_cleaner_dedupe_buffer_size: int = _key("log.cleaner.dedupe.buffer.size", _LONG, 128 * 1024**2,
        at_least(1024**2), "Memory for the keys of a compaction.", dynamic=True)
    producer_id_expiration_ms: int = _key("producer.id.expiration.ms", _INT, DAY_MS, at_least(1),
        "Time after which a silent idempotent producer is forgotten.", dynamic=True)
    producer_id_expiration_check_interval_ms: int = _key("producer.id.expiration.check.interval.ms", _INT,
        600_000, at_least(1), "Time between two looks for producers to forget.")
    metadata_log_max_record_bytes_between_snapshots: int = _key(
        "metadata.log.max.record.bytes.between.snapshots", _LONG, 20 * 1024**2, at_least(1),
        "Bytes of metadata records after which a snapshot is taken.")
    metadata_log_segment_bytes: int = _key("metadata.log.segment.bytes", _INT, 1024**3, at_least(14),
        "Size of the metadata log's segments.")

    # Fetching
    fetch_max_bytes: int = _key("fetch.max.bytes", _INT, 55 * 1024**2, at_least(1024),
        "Most bytes in one response to a fetch, whatever the client allows.")
    max_incremental_fetch_session_cache_slots: int = _key("max.incremental.fetch.session.cache.slots", _INT,
        1000, at_least(0), "Incremental fetch sessions that are kept.")

    # Groups
    group_min_session_timeout_ms: int = _key("group.min.session.timeout.ms", _INT, 6_000, at_least(0),
        "Shortest session timeout that a member may ask for.")
    group_max_session_timeout_ms: int = _key("group.max.session.timeout.ms", _INT, 1_800_000, at_least(0),
        "Longest session timeout that a member may ask for.")
    group_initial_rebalance_delay_ms: int = _key("group.initial.rebalance.delay.ms", _INT, 3_000, at_least(0),
        "Time for which a new group waits for more members before its first rebalance.")
    group_max_size: int = _key("group.max.size", _INT, INT32_MAX, at_least(1),
        "Most members of a group of the classic protocol.")
    group_consumer_session_timeout_ms: int = _key("group.consumer.session.timeout.ms", _INT, 45_000,
        at_least(1), "Session timeout of groups of the consumer protocol.", dynamic=True)
    group_consumer_heartbeat_interval_ms: int = _key("group.consumer.heartbeat.interval.ms", _INT, 5_000,
        at_least(1), "Heartbeat interval of groups of the consumer protocol.", dynamic=True)
    group_consumer_min_session_timeout_ms: int = _key("group.consumer.min.session.timeout.ms", _INT, 45_000,
        at_least(1), "Shortest session timeout that a group may set for itself.")
    group_consumer_max_session_timeout_ms: int = _key("group.consumer.max.session.timeout.ms", _INT, 60_000,
        at_least(1), "Longest session timeout that a group may set for itself.")
    group_consumer_min_heartbeat_interval_ms: int = _key("group.consumer.min.heartbeat.interval.ms", _INT,
        5_000, at_least(1), "Shortest heartbeat interval that a group may set for itself.")
    group_consumer_max_heartbeat_interval_ms: int = _key("group.consumer.max.heartbeat.interval.ms", _INT,
        15_000, at_least(1), "Longest heartbeat interval that a group may set for itself.")
    group_consumer_assignment_interval_ms: int = _key("group.consumer.assignment.interval.ms", _INT, 1_000,
        at_least(0), "The least time between two assignments of a group of the consumer protocol.")
    group_consumer_min_assignment_interval_ms: int = _key("group.consumer.min.assignment.interval.ms", _INT,
        0, at_least(0), "Shortest assignment interval that a group may set for itself.")
    group_consumer_max_assignment_interval_ms: int = _key("group.consumer.max.assignment.interval.ms", _INT,
        15_000, at_least(0), "Longest assignment interval that a group may set for itself.")
    group_consumer_regex_refresh_interval_ms: int = _key("group.consumer.regex.refresh.interval.ms", _INT,
        600_000, at_least(10_000), "How often the topics of a regular expression are looked for anew.")
    group_consumer_max_size: int = _key("group.consumer.max.size", _INT, INT32_MAX, at_least(1),
        "Most members of a group of the consumer protocol.")
    group_consumer_assignors: tuple[str, ...] = _key("group.consumer.assignors", _LIST, ("uniform", "range"),
        distinct_of("uniform", "range"),
        "Assignors of the consumer protocol; the first serves groups that name none.")
    group_consumer_migration_policy: str = _key("group.consumer.migration.policy", _STRING, "bidirectional",
        one_of("bidirectional", "upgrade", "downgrade", "disabled"),
        "Which way a group with members may go between the classic and the consumer protocol.")
    offset_metadata_max_bytes: int = _key("offset.metadata.max.bytes", _INT, 4096, at_least(0),
        "Longest text beside a committed offset.")
    offsets_retention_minutes: int = _key("offsets.retention.minutes", _INT, 7 * 24 * 60, at_least(1),
        "Time for which the offsets of a group without members are kept.")
    offsets_retention_check_interval_ms: int = _key("offsets.retention.check.interval.ms", _LONG, 600_000,
        at_least(1), "Time between two looks for offsets to forget.")
    offsets_topic_num_partitions: int = _key("offsets.topic.num.partitions", _INT, 50, at_least(1),
        "Partitions of __consumer_offsets; not to be changed once it is there.")
    offsets_topic_replication_factor: int = _key("offsets.topic.replication.factor", _INT, 1, at_least(1),
        "Replicas of __consumer_offsets.")
    offsets_topic_segment_bytes: int = _key("offsets.topic.segment.bytes", _INT, 100 * 1024**2, at_least(1),
        "Segment size of __consumer_offsets: small, so that it is compacted early and loaded fast.")

    # Transactions
    transactional_id_expiration_ms: int = _key("transactional.id.expiration.ms", _INT, 7 * DAY_MS,
        at_least(1), "Time after which a transactional id that nobody uses is forgotten.")
    transaction_max_timeout_ms: int = _key("transaction.max.timeout.ms", _INT, 15 * 60 * 1000, at_least(1),
        "Longest time-out that a producer may ask for its transactions.")
    transaction_state_log_num_partitions: int = _key("transaction.state.log.num.partitions", _INT, 50,
        at_least(1), "Partitions of __transaction_state; not to be changed once it is there.")
    transaction_state_log_replication_factor: int = _key("transaction.state.log.replication.factor", _INT, 1,
        at_least(1), "Replicas of __transaction_state.")
    transaction_state_log_min_isr: int = _key("transaction.state.log.min.isr", _INT, 1, at_least(1),
        "min.insync.replicas of __transaction_state.")
    transaction_state_log_segment_bytes: int = _key("transaction.state.log.segment.bytes", _INT,
        100 * 1024**2, at_least(1),
        "Segment size of __transaction_state: small, so that it is compacted early and loaded fast.")
    transaction_abort_timed_out_transaction_cleanup_interval_ms: int = _key(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms", _INT, 10_000, at_least(1),
        "Time between two looks for transactions that last too long.")
    transaction_remove_expired_transaction_cleanup_interval_ms: int = _key(
        "transaction.remove.expired.transaction.cleanup.interval.ms", _INT, 60 * 60 * 1000, at_least(1),
        "Time between two looks for transactional ids to forget.")
    transaction_partition_verification_enable: bool = _key("transaction.partition.verification.enable",
        _BOOLEAN, True, None, "Take a producer's first batch of a transaction only when the partition was "
        "added to it, so that no transaction is left hanging.", dynamic=True)
    transaction_two_phase_commit_enable: bool = _key("transaction.two.phase.commit.enable", _BOOLEAN, False,
        _ONLY_FALSE, "Let another coordinator decide about transactions (KIP-939): not to be had yet.")
    add_partitions_to_txn_retry_backoff_ms: int = _key("add.partitions.to.txn.retry.backoff.ms", _INT, 20,
        at_least(1), "Time until a transaction's coordinator is asked again to add a partition, when the "
        "transaction before is not finished.")
    add_partitions_to_txn_retry_backoff_max_ms: int = _key("add.partitions.to.txn.retry.backoff.max.ms", _INT,
        100, at_least(0), "Time after which that is left to the client.")

    # Quotas
    quota_window_num: int = _key("quota.window.num", _INT, 11, at_least(1),
        "Samples over which produce and fetch rates are measured.")
    quota_window_size_seconds: int = _key("quota.window.size.seconds", _INT, 1, at_least(1),
        "Length of one such sample.")
# fmt: on

    def __post_init__(self) -> None:
        for key in BROKER_KEYS.values():
            key.check(getattr(self, key.attribute))
        if self.group_min_session_timeout_ms > self.group_max_session_timeout_ms:
            raise InvalidConfig(
                "group.min.session.timeout.ms",
                self.group_min_session_timeout_ms,
                "group.min.session.timeout.ms is more than group.max.session.timeout.ms: "
                "no session timeout would be allowed",
            )

    @classmethod
    def from_kafka(cls, configs: Mapping[str, str]) -> Self:
        """Parse a configuration as files and admin clients write it; a missing key has its default."""
        values: dict[str, Any] = {}
        for name, text in configs.items():
            key = broker_key(name, text)
            values[key.attribute] = key.parse(text)
        return cls(**values)

    def to_kafka(self) -> dict[str, str]:
        """Every key with its value as text; `from_kafka` of it is this configuration."""
        return {name: key.format(getattr(self, key.attribute)) for name, key in BROKER_KEYS.items()}


def _keys_of(table: tuple[Field[Any], ...]) -> dict[str, BrokerKey]:
    keys: dict[str, BrokerKey] = {}
    for entry in table:
        key: BrokerKey = entry.metadata["key"]
        assert key.attribute == entry.name
        keys[key.name] = key
    return keys


BROKER_KEYS: Final[Mapping[str, BrokerKey]] = _keys_of(fields(BrokerConfig))


def broker_key(name: str, value: object = None) -> BrokerKey:
    """The key of this name; InvalidConfig with the nearest name when there is none."""
    key = BROKER_KEYS.get(name)
    if key is None:
        close = difflib.get_close_matches(str(name), BROKER_KEYS, n=1)
        hint = f"did you mean {close[0]}?" if close else "see BrokerConfig for those there are"
        raise InvalidConfig(str(name), value, f"there is no broker configuration {name!r}: {hint}")
    return key
