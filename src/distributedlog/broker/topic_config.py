"""From the broker's configuration and what was set on a topic to what its logs go by.

A topic's key has its default in one or several of the broker's keys; of several the first that is set
counts, which is the one of the finest unit. `flush` is our own key beside Kafka's: when the topic's records
are on the disk.
"""

import difflib
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, NamedTuple

from distributedlog.broker.config import NOT_SET, BrokerConfig
from distributedlog.log import FlushPolicy, LogConfig
from distributedlog.log.config import CONFIG_KEYS, HOUR_MS, NEVER_MS
from distributedlog.log.config_key import INT64_MAX, ConfigKey, ConfigType, one_of
from distributedlog.log.errors import InvalidConfig

FLUSH: Final = "flush"
FLUSH_KEY: Final = ConfigKey(
    FLUSH,
    ConfigType.STRING,
    "ack",
    one_of("ack", "interval", "os"),
    "When the topic's records are on the disk: ack before the producer is answered, interval a moment later "
    "(flush.ms, flush.messages), os when the operating system writes its cache.",
)
#: Every key that a topic may have.
TOPIC_KEYS: Final[Mapping[str, ConfigKey]] = {**CONFIG_KEYS, FLUSH: FLUSH_KEY}

MINUTE_MS: Final = 60_000


class Synonym(NamedTuple):
    """A broker's key that gives a topic's key its default, and how many of the topic's units one of it is."""

    broker_key: str
    factor: int = 1


#: By topic key, the one that counts before the others first. Keys that are not here have no synonym.
SYNONYMS: Final[Mapping[str, tuple[Synonym, ...]]] = {
    "segment.bytes": (Synonym("log.segment.bytes"),),
    "segment.ms": (Synonym("log.roll.ms"), Synonym("log.roll.hours", HOUR_MS)),
    "segment.jitter.ms": (Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", HOUR_MS)),
    "segment.index.bytes": (Synonym("log.index.size.max.bytes"),),
    "index.interval.bytes": (Synonym("log.index.interval.bytes"),),
    "preallocate": (Synonym("log.preallocate"),),
    "file.delete.delay.ms": (Synonym("log.segment.delete.delay.ms"),),
    "cleanup.policy": (Synonym("log.cleanup.policy"),),
    "retention.ms": (
        Synonym("log.retention.ms"),
        Synonym("log.retention.minutes", MINUTE_MS),
        Synonym("log.retention.hours", HOUR_MS),
    ),
    "retention.bytes": (Synonym("log.retention.bytes"),),
    "min.cleanable.dirty.ratio": (Synonym("log.cleaner.min.cleanable.ratio"),),
    "min.compaction.lag.ms": (Synonym("log.cleaner.min.compaction.lag.ms"),),
    "max.compaction.lag.ms": (Synonym("log.cleaner.max.compaction.lag.ms"),),
    "delete.retention.ms": (Synonym("log.cleaner.delete.retention.ms"),),
    "flush.messages": (Synonym("log.flush.interval.messages"),),
    "flush.ms": (Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
    "min.insync.replicas": (Synonym("min.insync.replicas"),),
    "unclean.leader.election.enable": (Synonym("unclean.leader.election.enable"),),
    "max.message.bytes": (Synonym("message.max.bytes"),),
    "message.timestamp.type": (Synonym("log.message.timestamp.type"),),
    "message.timestamp.before.max.ms": (Synonym("log.message.timestamp.before.max.ms"),),
    "message.timestamp.after.max.ms": (Synonym("log.message.timestamp.after.max.ms"),),
    "compression.type": (Synonym("compression.type"),),
    "compression.gzip.level": (Synonym("compression.gzip.level"),),
    "compression.lz4.level": (Synonym("compression.lz4.level"),),
    "compression.zstd.level": (Synonym("compression.zstd.level"),),
    FLUSH: (Synonym("log.flush"),),
}


def default_value(config: BrokerConfig, topic_key: str) -> Any:
    """What a topic's key has where the topic says nothing."""
    for broker_key, factor in SYNONYMS.get(topic_key, ()):
        value = getattr(config, broker_key.replace(".", "_"))
        if value != NOT_SET:
            return max(value * factor, -1) if factor != 1 else value
    return TOPIC_KEYS[topic_key].default


@lru_cache(maxsize=8)
def topic_defaults(config: BrokerConfig) -> LogConfig:
    """The configuration of a topic on which nothing was set. Topics share it: there may be thousands."""
    return LogConfig(**{key.attribute: default_value(config, name) for name, key in CONFIG_KEYS.items()})


def topic_key(name: str, value: object = None) -> ConfigKey:
    """The topic's key of this name; InvalidConfig with the nearest name when there is none."""
    key = TOPIC_KEYS.get(name)
    if key is None:
        close = difflib.get_close_matches(name, TOPIC_KEYS, n=1)
        hint = f"did you mean {close[0]}?" if close else "DescribeConfigs lists those there are"
        raise InvalidConfig(name, value, f"there is no topic configuration {name[:200]!r}: {hint}")
    return key


class TopicSettings(NamedTuple):
    """What the logs of one topic go by."""

    log: LogConfig
    flush: FlushPolicy


def topic_settings(config: BrokerConfig, overrides: Mapping[str, str]) -> TopicSettings:
    """The settings of a topic with these configs; InvalidConfig names what is wrong in them."""
    values: dict[str, Any] = {}
    mode = config.log_flush
    for name, text in overrides.items():
        key = topic_key(name, text)
        if name == FLUSH:
            mode = str(key.parse(text))
        else:
            values[key.attribute] = key.parse(text)
    log_config = topic_defaults(config)
    if values:
        log_config = replace(log_config, **values)
    return TopicSettings(log_config, _flush_policy(mode, log_config))


def _flush_policy(mode: str, config: LogConfig) -> FlushPolicy:
    """flush.ms and flush.messages make "os" stricter, and say what the interval of "interval" is."""
    interval_ms, records = config.flush_ms, config.flush_messages
    if mode == "ack" or interval_ms == 0 or records == 1:
        return FlushPolicy("ack")
    if interval_ms == NEVER_MS and records == INT64_MAX:
        return FlushPolicy("os") if mode == "os" else FlushPolicy("interval")
    return FlushPolicy("interval", interval_ms, records)
