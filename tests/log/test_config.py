import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from distributedlog.log.config import CONFIG_KEYS, INT64_MAX, FlushPolicy, LogConfig
from distributedlog.log.config_key import ConfigType
from distributedlog.log.errors import InvalidConfig, LogError

# Name, type and default of every topic configuration of Kafka 4, as its documentation lists them.
KAFKA_DEFAULTS = {
    "cleanup.policy": "delete",
    "compression.gzip.level": "-1",
    "compression.lz4.level": "9",
    "compression.type": "producer",
    "compression.zstd.level": "3",
    "delete.retention.ms": "86400000",
    "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807",
    "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "",
    "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "",
    "local.retention.bytes": "-2",
    "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807",
    "max.message.bytes": "1048588",
    "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807",
    "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5",
    "min.compaction.lag.ms": "0",
    "min.insync.replicas": "1",
    "preallocate": "false",
    "remote.log.copy.disable": "false",
    "remote.log.delete.on.disable": "false",
    "remote.storage.enable": "false",
    "retention.bytes": "-1",
    "retention.ms": "604800000",
    "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760",
    "segment.jitter.ms": "0",
    "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


def test_defaults_are_kafkas():
    assert LogConfig().to_kafka() == KAFKA_DEFAULTS
    assert LogConfig.from_kafka(KAFKA_DEFAULTS) == LogConfig()


def test_every_key_is_documented_once_and_has_a_valid_default():
    texts = [key.documentation for key in CONFIG_KEYS.values()]
    assert all(len(text) > 20 and text.endswith(".") for text in texts)
    assert len(set(texts)) == len(texts)
    for key in CONFIG_KEYS.values():
        key.check(key.default)


def test_values_become_plain_attributes():
    config = LogConfig.from_kafka(
        {
            "segment.bytes": " 1024 ",
            "cleanup.policy": "compact, delete",
            "min.cleanable.dirty.ratio": "0.25",
            "preallocate": "TRUE",
            "message.timestamp.type": "LogAppendTime",
            "compression.type": "zstd",
        }
    )
    assert config.segment_bytes == 1024
    assert config.cleanup_policy == ("compact", "delete")
    assert config.compact
    assert config.delete
    assert config.min_cleanable_dirty_ratio == 0.25
    assert config.preallocate is True
    assert config.is_log_append_time
    assert config.compression_type == "zstd"
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.segment_bytes = 1


@pytest.mark.parametrize(
    ("text", "compact", "delete"),
    [("", False, False), ("delete", False, True), ("compact", True, False), ("delete,compact", True, True)],
)
def test_cleanup_policies(text, compact, delete):
    config = LogConfig.from_kafka({"cleanup.policy": text})
    assert (config.compact, config.delete) == (compact, delete)


def test_unknown_key_is_named_and_the_nearest_suggested():
    with pytest.raises(InvalidConfig, match=r"retention\.msec.*did you mean retention\.ms\?") as caught:
        LogConfig.from_kafka({"retention.msec": "1"})
    assert caught.value.name == "retention.msec"
    with pytest.raises(InvalidConfig, match="'zzz'"):
        LogConfig.from_kafka({"zzz": "1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("segment.bytes", "13"),
        ("segment.bytes", str(2**31)),
        ("segment.bytes", "1_000"),
        ("segment.bytes", ""),
        ("segment.bytes", "1e6"),
        ("segment.bytes", "\u0661\u0662"),
        ("segment.bytes", "9" * 5000),
        ("segment.ms", "0"),
        ("retention.ms", "-2"),
        ("retention.ms", str(2**63)),
        ("flush.messages", "0"),
        ("max.message.bytes", "-1"),
        ("min.insync.replicas", "0"),
        ("min.cleanable.dirty.ratio", "1.01"),
        ("min.cleanable.dirty.ratio", "-0.1"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("min.cleanable.dirty.ratio", "inf"),
        ("preallocate", "yes"),
        ("cleanup.policy", "delete,delete"),
        ("cleanup.policy", "shrink"),
        ("compression.type", "brotli"),
        ("compression.type", "none"),
        ("compression.gzip.level", "0"),
        ("compression.gzip.level", "10"),
        ("compression.lz4.level", "18"),
        ("compression.zstd.level", "23"),
        ("message.timestamp.type", "createtime"),
        ("leader.replication.throttled.replicas", "1:2,*"),
        ("leader.replication.throttled.replicas", "1-2"),
    ],
)
def test_value_out_of_range_is_refused_by_name(name, text):
    with pytest.raises(InvalidConfig, match=name.replace(".", r"\.")) as caught:
        LogConfig.from_kafka({name: text})
    assert caught.value.name == name
    assert isinstance(caught.value, LogError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("text", ["*", "", "0:1", "0:1,12:34"])
def test_throttled_replica_lists(text):
    config = LogConfig.from_kafka({"leader.replication.throttled.replicas": text})
    assert config.to_kafka()["leader.replication.throttled.replicas"] == text


def test_direct_construction_is_checked_too():
    with pytest.raises(InvalidConfig, match=r"segment\.bytes"):
        LogConfig(segment_bytes=0)
    with pytest.raises(InvalidConfig, match=r"preallocate"):
        LogConfig(preallocate=1)
    with pytest.raises(InvalidConfig, match=r"segment\.ms"):
        dataclasses.replace(LogConfig(), segment_ms=True)
    with pytest.raises(InvalidConfig, match=r"cleanup\.policy"):
        LogConfig(cleanup_policy="compact")


def test_contradicting_compaction_lags_are_refused():
    with pytest.raises(InvalidConfig, match=r"min\.compaction\.lag\.ms = 11 .*max\.compaction\.lag\.ms = 10"):
        LogConfig.from_kafka({"min.compaction.lag.ms": "11", "max.compaction.lag.ms": "10"})


def test_a_compacted_log_rolls_early_enough_for_the_compaction_lag():
    assert LogConfig(segment_ms=100, max_compaction_lag_ms=10).segment_ms_max == 100
    compacted = LogConfig(segment_ms=100, max_compaction_lag_ms=10, cleanup_policy=("compact",))
    assert compacted.segment_ms_max == 10


@given(st.sampled_from(sorted(CONFIG_KEYS)), st.text(max_size=30))
def test_any_text_is_a_value_or_invalid_config(name, text):
    try:
        config = LogConfig.from_kafka({name: text})
    except InvalidConfig:
        return
    assert LogConfig.from_kafka(config.to_kafka()) == config


@given(st.data())
def test_text_round_trip(data):
    values = {}
    for key in CONFIG_KEYS.values():
        if key.type in (ConfigType.INT, ConfigType.LONG):
            high = 2**31 - 1 if key.type is ConfigType.INT else INT64_MAX
            value = data.draw(st.integers(-3, high))
        elif key.type is ConfigType.DOUBLE:
            value = data.draw(st.floats(0, 1))
        elif key.type is ConfigType.BOOLEAN:
            value = data.draw(st.booleans())
        else:
            continue
        try:
            key.check(value)
        except InvalidConfig:
            continue
        values[key.attribute] = value
    values.pop("max_compaction_lag_ms", None)
    config = LogConfig(**values)
    assert LogConfig.from_kafka(config.to_kafka()) == config


def test_flush_policy_values():
    assert FlushPolicy().flush == "ack"
    with pytest.raises(InvalidConfig, match="expected ack, interval or os"):
        FlushPolicy("never")
    with pytest.raises(InvalidConfig, match="flush_interval_ms"):
        FlushPolicy("interval", flush_interval_ms=0)
    with pytest.raises(InvalidConfig, match="flush_interval_records"):
        FlushPolicy("interval", flush_interval_records=1.5)


@pytest.mark.parametrize(
    ("policy", "config", "expected"),
    [
        (FlushPolicy("os"), {}, FlushPolicy("os")),
        (FlushPolicy("ack"), {"flush.ms": "1000"}, FlushPolicy("ack")),
        (FlushPolicy("os"), {"flush.messages": "1"}, FlushPolicy("ack")),
        (FlushPolicy("os"), {"flush.ms": "0"}, FlushPolicy("ack")),
        (FlushPolicy("os"), {"flush.ms": "1000"}, FlushPolicy("interval", 1000, INT64_MAX)),
        (FlushPolicy("interval", 50, 10), {"flush.ms": "1000"}, FlushPolicy("interval", 50, 10)),
        (FlushPolicy("interval", 50, 10), {"flush.messages": "5"}, FlushPolicy("interval", 50, 5)),
    ],
)
def test_a_topic_tightens_the_flush_policy(policy, config, expected):
    assert policy.tightened_by(LogConfig.from_kafka(config)) == expected
