"""Where settings come from, which one counts, and what is said of one that cannot be."""

import pytest

from distributedlog.broker.config import BROKER_KEYS
from distributedlog.server.settings import (
    NODE_KEYS,
    SettingsError,
    environment_key,
    environment_name,
    load_settings,
)


def load(tmp_path, toml=None, environment=(), flags=(), **arguments):
    if toml is not None:
        (tmp_path / "dlog.toml").write_text(toml)
    return load_settings(flags, environment=dict(environment), directory=tmp_path, **arguments)


def test_without_any_setting_there_are_the_defaults(tmp_path):
    settings = load(tmp_path)
    assert [str(address) for address in settings.listeners] == ["127.0.0.1:9092"]
    assert settings.broker.log_dir == "dlog-data"
    assert settings.metrics_listener is None
    assert settings.sources == {}


def test_the_command_line_counts_more_than_the_environment_and_that_more_than_the_file(tmp_path):
    toml = 'num.partitions = 2\nlog.retention.ms = 2\n"log.segment.bytes" = 2000\n'
    environment = {"DLOG_NUM_PARTITIONS": "3", "DLOG_LOG_RETENTION_MS": "3"}
    settings = load(tmp_path, toml, environment, [("num.partitions", "4")])
    broker = settings.broker
    assert (broker.num_partitions, broker.log_retention_ms, broker.log_segment_bytes) == (4, 3, 2000)
    assert settings.sources == {
        "num.partitions": "command line",
        "log.retention.ms": "environment, DLOG_LOG_RETENTION_MS",
        "log.segment.bytes": str(tmp_path / "dlog.toml"),
    }


def test_a_file_may_use_tables_lists_and_its_own_types(tmp_path):
    toml = """
        data = "somewhere"
        listen = "127.0.0.1:0"
        [log]
        cleanup.policy = ["compact", "delete"]
        preallocate = true
        [log.cleaner]
        min.cleanable.ratio = 0.25
    """
    broker = load(tmp_path, toml).broker
    assert broker.log_dir == "somewhere"
    assert broker.listeners == ("127.0.0.1:0",)
    assert broker.log_cleanup_policy == ("compact", "delete")
    assert broker.log_preallocate is True
    assert broker.log_cleaner_min_cleanable_ratio == 0.25


def test_a_file_that_is_named_must_be_there(tmp_path):
    (tmp_path / "other.toml").write_text("num.partitions = 9")
    assert load(tmp_path, file="other.toml").broker.num_partitions == 9
    assert load(tmp_path, environment={"DLOG_CONFIG": "other.toml"}).broker.num_partitions == 9
    with pytest.raises(SettingsError, match=r"there is no file .*missing\.toml"):
        load(tmp_path, file="missing.toml")


@pytest.mark.parametrize("name", [*BROKER_KEYS, *NODE_KEYS])
def test_every_setting_has_a_variable_of_its_own(name):
    assert environment_key(environment_name(name)) == name


@pytest.mark.parametrize(
    ("toml", "environment", "flags", "reason"),
    [
        ("num.partition = 1", {}, [], r"dlog\.toml: .*'num\.partition'; did you mean 'num\.partitions'"),
        (None, {"DLOG_NUM_PARTITION": "1"}, [], "DLOG_NUM_PARTITION is .*mean 'DLOG_NUM_PARTITIONS'"),
        (None, {}, [("num.partitons", "1")], r"command line: .*'num\.partitons'; did you mean 'num\.part"),
        ('num.partitions = "x"', {}, [], r"dlog\.toml: num\.partitions = 'x'.*whole number"),
        (None, {"DLOG_NUM_PARTITIONS": "0"}, [], "environment, DLOG_NUM_PARTITIONS: num.partitions = 0"),
        (None, {}, [("log.flush", "never")], "command line: log.flush = 'never'.*ack, interval, os"),
        ("num.partitions = 1979-05-27", {}, [], "neither text, number"),
        ("log.flush = 'ack'\nlog.flush.interval.ms = 5", {}, [], 'not TOML.*"log.flush" = "ack"'),
        ("= 1", {}, [], "not TOML"),
        (None, {}, [("listen", "localhost:99999")], "command line: listeners.*there is no port 99999"),
        (None, {}, [("listen", "a b:1")], "expected HOST:PORT"),
        (None, {}, [("listen", "SSL://a:1")], "SSL is not served yet"),
        (None, {}, [("listen", "a:1,b:1")], "a name of its own"),
        (None, {}, [("advertised.listeners", "EXTERNAL://a:1")], "no listener EXTERNAL"),
        (None, {}, [("listen", "[::g]:1")], "is no IPv6 address"),
        (None, {}, [("listen", "[:::::]:1")], "is no IPv6 address"),
        (None, {}, [("listen", "a:1,a:1")], "two of them have the same address"),
        (None, {}, [("listen", "")], "one listener at least"),
        (None, {}, [("advertised.listeners", "0.0.0.0:1")], "clients cannot connect to that"),
        (None, {}, [("advertised.listeners", "a:0")], "clients cannot connect to that"),
        (None, {}, [("metrics", "nothing:here:1")], "expected HOST:PORT"),
        (None, {}, [("console.format", "xml")], "console.format = 'xml'.*auto, human, json"),
        (None, {}, [("group.min.session.timeout.ms", "2000000")], "command line: group.min.session"),
    ],
)
def test_what_cannot_be_is_named_with_its_place(tmp_path, toml, environment, flags, reason):
    with pytest.raises(SettingsError, match=reason):
        load(tmp_path, toml, environment, flags)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:9092", ("PLAINTEXT", "127.0.0.1", 9092)),
        ("localhost", ("PLAINTEXT", "localhost", 9092)),
        (":9000", ("PLAINTEXT", "", 9000)),
        ("plaintext://broker-1.example.com:1", ("PLAINTEXT", "broker-1.example.com", 1)),
        ("PLAINTEXT://[::1]:0", ("PLAINTEXT", "::1", 0)),
        ("[fe80::1]", ("PLAINTEXT", "fe80::1", 9092)),
    ],
)
def test_addresses(tmp_path, text, expected):
    [address] = load(tmp_path, flags=[("listen", text)]).listeners
    assert (address.name, address.host, address.port) == expected


def test_the_suites_own_variables_are_no_settings(tmp_path):
    assert load(tmp_path, environment={"DLOG_FUZZ_CASES": "10", "PATH": "/"}).sources == {}
