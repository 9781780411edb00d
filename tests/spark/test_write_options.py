"""What may be asked of the writing half, and what is said of what may not."""

import pickle

import pytest

from distributedlog.records import Compression
from distributedlog.spark.errors import InvalidSparkOption, UnknownSparkOption
from distributedlog.spark.write_options import WriteOptions

CLUSTER = {"kafka.bootstrap.servers": "localhost:9092"}


def options(**given):
    return WriteOptions.of({**CLUSTER, **given})


def test_without_anything_it_is_at_least_once():
    found = options()
    assert (found.topic, found.exactly_once, found.compression) == (None, False, Compression.NONE)
    assert pickle.loads(pickle.dumps(found)) == found


def test_a_producers_settings_count():
    found = options(
        topic="t",
        exactlyonce="true",
        transactionalidprefix="mine-",
        **{
            "kafka.compression.type": "lz4",
            "kafka.batch.size": "1000",
            "kafka.max.request.size": "5000",
            "kafka.delivery.timeout.ms": "7000",
            "kafka.transaction.timeout.ms": "9000",
        },
    )
    assert found.topic == "t"
    assert found.exactly_once
    assert found.transactional_id_prefix == "mine-"
    assert found.compression is Compression.LZ4
    assert (found.batch_size, found.request_size_max) == (1000, 5000)
    assert (found.delivery_timeout_ms, found.transaction_timeout_ms) == (7000, 9000)


def test_what_a_job_for_sparks_own_sink_may_say_is_taken():
    options(includeHeaders="true", **{"kafka.acks": "1", "kafka.linger.ms": "5", "kafka.retries": "3"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kafka.bootstrap.servers": ""}, "kafka.bootstrap.servers"),
        ({"exactlyOnce": "maybe"}, "true or false"),
        ({"kafka.acks": "2"}, "kafka.acks"),
        ({"kafka.enable.idempotence": "false"}, "twice"),
        ({"kafka.compression.type": "brotli"}, "kafka.compression.type"),
        ({"kafka.partitioner.class": "x.Y"}, "column 'partition'"),
        ({"stagingDirectory": "/mnt"}, "exactlyOnce"),
        ({"kafka.transaction.timeout.ms": "1000"}, "exactlyOnce"),
        ({"kafka.transactional.id": "x"}, "exactlyOnce"),
    ],
)
def test_what_cannot_be_is_refused(given, words):
    with pytest.raises(InvalidSparkOption, match=words):
        options(**given)


def test_an_unknown_option_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownSparkOption, match="'exactlyOnce'"):
        options(exactlyonc="true")
