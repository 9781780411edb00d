"""The broker's own configuration, and the defaults that it gives to topics."""

import dataclasses

import pytest

from distributedlog.broker.config import BROKER_KEYS, NOT_SET, BrokerConfig
from distributedlog.broker.group_config import GROUP_KEYS, group_default
from distributedlog.broker.topic_config import SYNONYMS, TOPIC_KEYS, topic_settings
from distributedlog.log import FlushPolicy, LogConfig
from distributedlog.log.config import CONFIG_KEYS
from distributedlog.log.errors import InvalidConfig


def broker(**configs):
    return BrokerConfig.from_kafka({name.replace("_", "."): str(value) for name, value in configs.items()})


def topic(config=None, **configs):
    overrides = {name.replace("_", "."): str(value) for name, value in configs.items()}
    return topic_settings(config or BrokerConfig(), overrides)


def test_to_kafka_and_back():
    config = broker(num_partitions=7, log_retention_hours=-1, listeners="PLAINTEXT://:0,B://[::1]:5")
    assert BrokerConfig.from_kafka(config.to_kafka()) == config


def test_every_default_is_valid_and_every_key_is_documented():
    for key in BROKER_KEYS.values():
        key.check(key.default)
        assert len(key.documentation) > 10


def test_an_unknown_key_is_an_error_that_suggests_the_nearest():
    with pytest.raises(InvalidConfig, match=r"num\.partition'.*did you mean num\.partitions"):
        BrokerConfig.from_kafka({"num.partition": "1"})
    with pytest.raises(InvalidConfig, match="no broker configuration 'zzz'"):
        BrokerConfig.from_kafka({"zzz": "1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("num.partitions", "0"),
        ("num.partitions", "many"),
        ("num.partitions", "1.5"),
        ("num.partitions", str(2**31)),
        ("log.flush", "never"),
        ("log.retention.ms", "-2"),
        ("log.retention.minutes", "-2"),
        ("log.cleanup.policy", "shred"),
        ("auto.create.topics.enable", "yes"),
        ("group.consumer.assignors", "uniform,uniform"),
        ("compression.type", "rar"),
    ],
)
def test_a_bad_value_is_an_error_that_names_it(name, text):
    with pytest.raises(InvalidConfig) as error:
        BrokerConfig.from_kafka({name: text})
    assert name in str(error.value)


def test_settings_that_contradict_each_other():
    with pytest.raises(InvalidConfig, match=r"group\.min\.session\.timeout\.ms"):
        broker(group_min_session_timeout_ms=10, group_max_session_timeout_ms=9)


# -- defaults of topics ---------------------------------------------------------------------------------


def test_with_nothing_set_a_topic_has_kafkas_defaults():
    settings = topic()
    assert settings.log == LogConfig()
    assert settings.flush == FlushPolicy("ack")
    assert topic().log is settings.log, "thousands of topics share it"


@pytest.mark.parametrize("name", sorted(name for name in SYNONYMS if name in CONFIG_KEYS))
def test_a_brokers_key_gives_a_topics_key_its_default(name):
    synonym = SYNONYMS[name][0]
    key = BROKER_KEYS[synonym.broker_key]
    examples = {
        "cleanup.policy": "compact",
        "compression.type": "zstd",
        "message.timestamp.type": "LogAppendTime",
        "preallocate": "true",
        "unclean.leader.election.enable": "true",
        "min.cleanable.dirty.ratio": "0.25",
        "compression.gzip.level": "2",
    }
    text = examples.get(name, "17")
    config = BrokerConfig.from_kafka({key.name: text})
    attribute = CONFIG_KEYS[name].attribute
    assert getattr(topic(config).log, attribute) == CONFIG_KEYS[name].parse(text)
    own = {"retention_ms": "19"} if name != "retention.ms" else {"segment_ms": "19"}
    assert getattr(topic(config, **own).log, attribute) == CONFIG_KEYS[name].parse(text)


def test_every_synonym_is_a_key():
    for name, synonyms in SYNONYMS.items():
        assert name in TOPIC_KEYS
        for synonym in synonyms:
            assert synonym.broker_key in BROKER_KEYS
            assert BROKER_KEYS[synonym.broker_key].is_dynamic or len(synonyms) > 1


def test_of_several_units_the_finest_that_is_set_counts():
    assert topic(broker(log_retention_hours=2)).log.retention_ms == 2 * 3_600_000
    assert topic(broker(log_retention_hours=2, log_retention_minutes=3)).log.retention_ms == 180_000
    assert topic(broker(log_retention_minutes=3, log_retention_ms=5)).log.retention_ms == 5
    assert topic(broker(log_roll_hours=1)).log.segment_ms == 3_600_000
    assert topic(broker(log_roll_jitter_hours=1)).log.segment_jitter_ms == 3_600_000


@pytest.mark.parametrize("unit", ["ms", "minutes", "hours"])
def test_minus_one_keeps_records_for_ever_in_every_unit(unit):
    assert topic(BrokerConfig.from_kafka({f"log.retention.{unit}": "-1"})).log.retention_ms == -1


def test_what_was_not_set_is_not_a_value():
    assert BrokerConfig().log_retention_ms == NOT_SET
    assert NOT_SET not in dataclasses.astuple(topic().log)


def test_a_topics_unknown_key_suggests_the_nearest():
    with pytest.raises(InvalidConfig, match=r"did you mean retention\.ms"):
        topic(retention_mss=1)


@pytest.mark.parametrize(
    ("config", "own", "policy"),
    [
        ({}, {}, FlushPolicy("ack")),
        ({"log.flush": "os"}, {}, FlushPolicy("os")),
        ({"log.flush": "interval"}, {}, FlushPolicy("interval")),
        ({"log.flush": "os"}, {"flush": "ack"}, FlushPolicy("ack")),
        ({}, {"flush": "os"}, FlushPolicy("os")),
        ({}, {"flush": "interval", "flush.ms": "700"}, FlushPolicy("interval", 700, 2**63 - 1)),
        ({}, {"flush": "os", "flush.messages": "9"}, FlushPolicy("interval", 2**63 - 1, 9)),
        ({}, {"flush": "os", "flush.messages": "1"}, FlushPolicy("ack")),
        ({"log.flush": "os"}, {"flush.ms": "0"}, FlushPolicy("ack")),
        ({"log.flush": "os", "log.flush.interval.ms": "50"}, {}, FlushPolicy("interval", 50, 2**63 - 1)),
        (
            {"log.flush": "os", "log.flush.scheduler.interval.ms": "60"},
            {},
            FlushPolicy("interval", 60, 2**63 - 1),
        ),
        ({}, {"flush.ms": "500"}, FlushPolicy("ack")),
    ],
)
def test_when_records_are_on_the_disk(config, own, policy):
    assert topic_settings(BrokerConfig.from_kafka(config), own).flush == policy


def test_every_key_of_a_group_has_its_default_in_the_broker():
    for name, key in GROUP_KEYS.items():
        assert group_default(BrokerConfig(), name) == key.default
