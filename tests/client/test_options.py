"""Options are checked when a client is made."""

import pytest

from distributedlog.client.errors import InvalidOption, UnknownOption
from distributedlog.client.options import split_options
from distributedlog.client.producer.settings import ProducerSettings
from distributedlog.client.settings import ClientSettings


def read(**options):
    return split_options(options, ProducerSettings, ClientSettings)


def test_each_class_gets_its_own():
    producer, client = read(linger_ms=7, client_id="me")
    assert (producer.linger_ms, client.client_id, producer.acks) == (7, "me", "all")


def test_none_means_the_default():
    assert read(linger_ms=None)[0].linger_ms == ProducerSettings().linger_ms


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("linger_msec", "there is no option 'linger_msec'; did you mean 'linger_ms'?"),
        ("compresion", "did you mean 'compression'?"),
        ("linger.ms", "there is no option 'linger.ms': it is written 'linger_ms' here"),
        ("bootstrap.servers", "the bootstrap servers are the first argument"),
        ("bootstrap_servers", "the bootstrap servers are the first argument"),
        ("zzz", r"there is no option 'zzz'$"),
    ],
)
def test_unknown_names_are_errors_that_help(name, message):
    with pytest.raises(UnknownOption, match=message):
        read(**{name: 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"linger_ms": -1}, "linger_ms is -1; the least is 0"),
        ({"linger_ms": "5"}, "linger_ms is '5'; it must be of type float"),
        ({"batch_size": 1.5}, "batch_size is 1.5; it must be of type int"),
        ({"allow_auto_create_topics": 1}, "must be of type bool"),
        ({"batch_size": True}, "batch_size is True; it must be of type int"),
        ({"acks": 2}, "acks is 2; it must be one of"),
        ({"compression": "zip"}, "it must be one of 'none', 'gzip', 'snappy', 'lz4', 'zstd'"),
        ({"enable_idempotence": True, "acks": 1}, "enable_idempotence needs acks='all'"),
        ({"transactional_id": "a", "max_in_flight": 6}, "transactional_id needs max_in_flight of at most 5"),
        ({"transactional_id": "a", "enable_idempotence": False}, "needs enable_idempotence"),
        ({"transactional_id": ""}, "transactional_id is empty"),
    ],
)
def test_values_that_cannot_be_are_errors(options, message):
    with pytest.raises(InvalidOption, match=message):
        read(**options)


def test_idempotence_is_on_unless_the_options_rule_it_out():
    assert ProducerSettings().is_idempotent
    assert not ProducerSettings(acks=1).is_idempotent
    assert not ProducerSettings(max_in_flight=6).is_idempotent
    assert not ProducerSettings(enable_idempotence=False).is_idempotent
