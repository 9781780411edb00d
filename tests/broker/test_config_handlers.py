"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: on topics, the broker and groups."""

import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.requests import (
    ALTER_CONFIGS,
    APPEND,
    BROKER,
    DELETE,
    DESCRIBE_CONFIGS,
    GROUP,
    SET,
    SUBTRACT,
    TOPIC,
    alter,
    create,
    describe,
    topic,
)

from distributedlog.broker.config import BROKER_KEYS
from distributedlog.broker.topic_config import TOPIC_KEYS
from distributedlog.wire import ErrorCode
from distributedlog.wire.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from distributedlog.wire.k33_alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource

DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, STATIC, DEFAULT = range(1, 6)


def running(stage, name="orders"):
    """The configuration by which the log goes, which the writer must have too."""
    partition = stage.broker.partitions.get(name, 0)
    assert partition.log.writer.config is partition.log.config
    return partition.log.config


def replace_all(stage, name, *, kind=TOPIC, **configs):
    pairs = [AlterableConfig(key.replace("_", "."), value) for key, value in configs.items()]
    request = AlterConfigsRequest([AlterConfigsResource(kind, name, pairs)])
    [result] = stage.ask(ALTER_CONFIGS, request).responses
    return result


def synonyms(entry):
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]


# -- describing -----------------------------------------------------------------------------------------


def test_every_known_key_of_a_topic_with_default_source_type_and_documentation(served):
    create(served, topic("orders", retention_ms=5))
    entries = describe(served, "orders")
    assert set(entries) == set(TOPIC_KEYS)
    for name, entry in entries.items():
        key = TOPIC_KEYS[name]
        assert entry.config_type == key.type
        assert entry.documentation == key.documentation
        assert not entry.read_only
        assert not entry.is_sensitive
        if name != "retention.ms":
            assert (entry.value, entry.config_source) == (key.format(key.default), DEFAULT)
    assert (entries["retention.ms"].value, entries["retention.ms"].config_source) == ("5", DYNAMIC_TOPIC)


def test_every_known_key_of_the_broker(served):
    entries = describe(served, "1", kind=BROKER)
    assert set(entries) == set(BROKER_KEYS)
    for name, entry in entries.items():
        assert entry.read_only == (not BROKER_KEYS[name].is_dynamic)
        assert entry.config_source == DEFAULT
    assert entries["num.partitions"].value == "1"
    assert entries["log.retention.ms"].value is None


def test_synonyms_tell_what_a_value_overrides(tmp_path):
    stage = BrokerStage(tmp_path / "data", configs={"log.retention.minutes": "2"})
    create(stage, topic("orders", retention_ms=5))
    below = [("log.retention.minutes", "2", STATIC), ("log.retention.hours", "168", DEFAULT)]
    entry = describe(stage, "orders", "retention.ms")["retention.ms"]
    assert synonyms(entry) == [("retention.ms", "5", DYNAMIC_TOPIC), *below]
    alter(stage, "1", ("log.retention.ms", SET, "7"), kind=BROKER)
    alter(stage, "", ("log.retention.ms", SET, "8"), kind=BROKER)
    entry = describe(stage, "orders", "retention.ms")["retention.ms"]
    dynamic = [("log.retention.ms", "7", DYNAMIC_BROKER), ("log.retention.ms", "8", DYNAMIC_DEFAULT)]
    assert synonyms(entry) == [("retention.ms", "5", DYNAMIC_TOPIC), *dynamic, *below]
    alter(stage, "orders", ("retention.ms", DELETE, None))
    entry = describe(stage, "orders", "retention.ms")["retention.ms"]
    assert (entry.value, entry.config_source) == ("7", DYNAMIC_BROKER)
    stage.close()


def test_only_the_keys_asked_for(served):
    create(served, "orders")
    entries = describe(served, "orders", "segment.bytes", "flush", "no.such.key", documentation=False)
    assert set(entries) == {"segment.bytes", "flush"}
    assert entries["flush"].value == "ack"
    assert entries["flush"].documentation is None
    assert describe(served, "orders", "flush", synonyms=False)["flush"].synonyms == []


@pytest.mark.parametrize("version", [1, 2, 3, 4])
def test_describe_configs_in_every_version(served, version):
    create(served, topic("orders", retention_ms=5))
    entries = describe(served, "orders", version=version, documentation=version >= 3)
    assert entries["retention.ms"].value == "5"


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (TOPIC, "missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a/b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (TOPIC, "..", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "2", ErrorCode.INVALID_REQUEST),
        (BROKER, "one", ErrorCode.INVALID_REQUEST),
        (GROUP, "", ErrorCode.INVALID_REQUEST),
        (99, "x", ErrorCode.INVALID_REQUEST),
    ],
)
def test_resources_that_there_are_not(served, kind, name, error):
    request = DescribeConfigsRequest([DescribeConfigsResource(kind, name, None)])
    [result] = served.ask(DESCRIBE_CONFIGS, request).results
    assert (result.error_code, result.configs) == (error, [])
    key = {TOPIC: "retention.ms", BROKER: "log.retention.ms"}.get(kind, "consumer.session.timeout.ms")
    assert alter(served, name, (key, SET, "1"), kind=kind).error_code == error
    assert served.image.configs == {}


# -- changing a topic -----------------------------------------------------------------------------------


def test_a_change_takes_effect_on_the_running_log_at_once(served):
    create(served, topic("orders", 2))
    assert alter(served, "orders", ("retention.ms", SET, "5"), ("segment.bytes", SET, "2000")).error_code == 0
    assert (running(served).retention_ms, running(served).segment_bytes) == (5, 2000)
    assert served.broker.partitions.get("orders", 1).log.config.retention_ms == 5
    alter(served, "orders", ("retention.ms", DELETE, None))
    assert running(served).retention_ms == 7 * 24 * 3_600_000
    served.crash()
    assert (running(served).retention_ms, running(served).segment_bytes) == (7 * 24 * 3_600_000, 2000)


def test_the_flush_policy_of_a_running_topic_changes(served):
    create(served, "orders")
    assert served.broker.partitions.get("orders", 0).flush_policy.flush == "ack"
    alter(served, "orders", ("flush", SET, "os"))
    assert served.broker.partitions.get("orders", 0).flush_policy.flush == "os"


def test_append_and_subtract_on_a_list(served):
    create(served, "orders")
    assert alter(served, "orders", ("cleanup.policy", APPEND, "compact")).error_code == 0
    assert running(served).cleanup_policy == ("delete", "compact")
    assert alter(served, "orders", ("cleanup.policy", SUBTRACT, "delete")).error_code == 0
    assert running(served).cleanup_policy == ("compact",)
    assert alter(served, "orders", ("segment.bytes", APPEND, "1")).error_code == ErrorCode.INVALID_CONFIG


@pytest.mark.parametrize(
    "change",
    [
        ("retention.ms", SET, "soon"),
        ("retention.msx", SET, "1"),
        ("min.compaction.lag.ms", SET, str(2**63 - 1)),
        ("cleanup.policy", APPEND, "shred"),
    ],
)
def test_what_cannot_be_changes_nothing_at_all(served, change):
    create(served, topic("orders", max_compaction_lag_ms=5))
    result = alter(served, "orders", ("segment.bytes", SET, "2000"), change)
    assert result.error_code == ErrorCode.INVALID_CONFIG
    assert result.error_message
    assert served.image.topics_by_name["orders"].configs == {"max.compaction.lag.ms": "5"}


def test_alter_configs_replaces_all(served):
    create(served, topic("orders", retention_ms=5, segment_bytes=2000))
    assert replace_all(served, "orders", flush="os").error_code == 0
    assert served.image.topics_by_name["orders"].configs == {"flush": "os"}
    assert running(served).retention_ms == 7 * 24 * 3_600_000
    assert replace_all(served, "orders", segment_bytes=None).error_code == ErrorCode.INVALID_REQUEST


def test_validate_only_changes_nothing(served):
    create(served, "orders")
    assert alter(served, "orders", ("retention.ms", SET, "5"), validate_only=True).error_code == 0
    assert served.image.topics_by_name["orders"].configs == {}


# -- changing the broker and groups ---------------------------------------------------------------------


def test_a_default_changed_at_run_time_is_followed_by_topics_without_a_value_of_their_own(served):
    create(served, "orders", topic("own", retention_ms=5))
    assert alter(served, "", ("log.retention.ms", SET, "77"), kind=BROKER).error_code == 0
    assert (running(served).retention_ms, running(served, "own").retention_ms) == (77, 5)
    assert alter(served, "1", ("log.retention.ms", SET, "78"), kind=BROKER).error_code == 0
    assert running(served).retention_ms == 78
    served.restart()
    assert running(served).retention_ms == 78
    alter(served, "1", ("log.retention.ms", DELETE, None), kind=BROKER)
    assert running(served).retention_ms == 77
    entries = describe(served, "1", "log.retention.ms", kind=BROKER)
    assert entries["log.retention.ms"].config_source == DYNAMIC_DEFAULT
    assert set(describe(served, "", kind=BROKER)) == {"log.retention.ms"}


def test_what_needs_a_restart_is_refused(served):
    result = alter(served, "1", ("socket.request.max.bytes", SET, "5"), kind=BROKER)
    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert "socket.request.max.bytes" in result.error_message


@pytest.mark.parametrize("change", [("log.retention.ms", SET, "-7"), ("no.such.key", SET, "1")])
def test_bad_settings_of_the_broker(served, change):
    assert alter(served, "1", change, kind=BROKER).error_code == ErrorCode.INVALID_REQUEST
    assert served.image.configs == {}


def test_settings_of_the_broker_that_contradict_each_other(served):
    changes = [
        ("log.cleaner.min.compaction.lag.ms", SET, "9"),
        ("log.cleaner.max.compaction.lag.ms", SET, "8"),
    ]
    assert alter(served, "", *changes, kind=BROKER).error_code == ErrorCode.INVALID_REQUEST
    assert alter(served, "", changes[0], kind=BROKER).error_code == 0
    assert alter(served, "1", changes[1], kind=BROKER).error_code == ErrorCode.INVALID_REQUEST


def test_settings_of_a_group(served):
    key = "consumer.session.timeout.ms"
    entry = describe(served, "readers", kind=GROUP)[key]
    assert (entry.value, entry.config_source) == ("45000", DEFAULT)
    assert alter(served, "readers", (key, SET, "50000"), kind=GROUP).error_code == 0
    entry = describe(served, "readers", kind=GROUP)[key]
    assert synonyms(entry) == [(key, "50000", 8), (f"group.{key}", "45000", DEFAULT)]
    for text in ("0", "44999", "60001", "soon"):
        assert alter(served, "readers", (key, SET, text), kind=GROUP).error_code == ErrorCode.INVALID_CONFIG
    assert alter(served, "readers", ("x", SET, "0"), kind=GROUP).error_code == ErrorCode.INVALID_CONFIG
