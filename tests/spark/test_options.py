import pickle

import pytest

from distributedlog.client import TopicPartition
from distributedlog.spark.errors import InvalidSparkOption, UnknownSparkOption
from distributedlog.spark.read_options import ReadOptions

SERVERS = {"kafka.bootstrap.servers": "localhost:9092"}
ORDERS = {**SERVERS, "subscribe": "orders"}


def options_of(*, is_streaming=False, **options):
    given = {name.replace("__", ".").lower(): text for name, text in options.items()}
    return ReadOptions.of({**ORDERS, **given}, is_streaming=is_streaming)


def test_defaults_are_those_of_sparks_own_source():
    batch, stream = options_of(), options_of(is_streaming=True)
    assert (batch.starting.kind, batch.ending.kind) == ("earliest", "latest")
    assert stream.starting.kind == "latest"
    assert batch.fail_on_data_loss
    assert batch.is_read_committed
    assert "headers" not in batch.columns
    assert options_of(includeHeaders="true").columns[-1] == "headers"


def test_options_travel():
    options = options_of(kafka__sasl__username="u", startingOffsets='{"orders": {"0": 3}}')
    travelled = pickle.loads(pickle.dumps(options))
    assert travelled == options
    assert hash(travelled.client) == hash(options.client)
    assert travelled.starting.by_partition == {TopicPartition("orders", 0): 3}


def test_durations_are_written_as_spark_does():
    for text, milliseconds in (("10s", 10_000), ("15m", 900_000), ("2h", 7_200_000), ("70", 70), ("5 ms", 5)):
        assert options_of(maxTriggerDelay=text).max_trigger_delay_ms == milliseconds
    with pytest.raises(InvalidSparkOption, match="500ms, 10s"):
        options_of(maxTriggerDelay="soon")


def test_javas_settings_of_security_are_understood():
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="bo\\"b" password=pw;'
    client = options_of(kafka__sasl__jaas__config=jaas, kafka__security__protocol="SASL_SSL").client
    assert dict(client.settings)["sasl_username"] == 'bo"b'
    assert dict(client.settings)["sasl_password"] == "pw"
    with pytest.raises(InvalidSparkOption, match="not a PEM file"):
        options_of(kafka__ssl__truststore__location="/etc/trust.jks")
    with pytest.raises(InvalidSparkOption, match="has no username"):
        options_of(kafka__sasl__jaas__config="required;")


def test_what_a_job_sets_for_javas_client_may_stay():
    options_of(kafka__session__timeout__ms="10000", kafka__max__poll__records="5", groupIdPrefix="x")


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"subscribe": ""}, InvalidSparkOption, "no topic is named"),
        ({"path": "/orders"}, UnknownSparkOption, "topics have no path"),
        ({"bootstrap.servers": "x"}, UnknownSparkOption, "did you mean 'kafka.bootstrap.servers'"),
        ({"kafka.bootstrap.servers": ""}, InvalidSparkOption, "is missing"),
        ({"kafka.bootstrap.servers": "host:port"}, InvalidSparkOption, "the port must be a number"),
        ({"kafka.group.idd": "x"}, UnknownSparkOption, "did you mean 'kafka.group.id'"),
        ({"subscribe": "", "subscribepattern": "("}, InvalidSparkOption, "no regular expression"),
        ({"subscribe": "", "assign": '{"t": 1}'}, InvalidSparkOption, "no list of partitions"),
        (
            {"minoffsetspertrigger": "9", "maxoffsetspertrigger": "3"},
            InvalidSparkOption,
            "no batch can be",
        ),
        ({"endingoffsets": "earliest"}, InvalidSparkOption, "nothing would be read"),
        (
            {"startingoffsets": '{"orders": {"0": -3}}'},
            InvalidSparkOption,
            "'0' of 'orders' has -3",
        ),
    ],
)
def test_what_is_wrong_is_said(given, error, words):
    with pytest.raises(error, match=words):
        ReadOptions.of({**ORDERS, **given}, is_streaming=False)


def test_a_stream_has_no_end():
    with pytest.raises(InvalidSparkOption, match="'endingOffsets' is for batches"):
        options_of(is_streaming=True, endingOffsets="latest")
