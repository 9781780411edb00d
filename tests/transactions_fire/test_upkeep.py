"""What a broker does about transactions by itself, and what it tells people of them."""

import json
import re
import urllib.request

import pytest
from tests.broker_fire.asking import create_topic
from tests.server.processes import Client, eventually
from tests.transactions_fire.administration import describe, latest
from tests.transactions_fire.raw_producer import (
    GROUP_KEY_TYPE,
    V1,
    V2,
    RawProducer,
    find_coordinator,
    patiently,
)

from distributedlog.cli.main import main
from distributedlog.testing import EmbeddedBroker
from distributedlog.wire import ErrorCode
from distributedlog.wire.k18_api_versions import ApiVersionsRequest

API_VERSIONS = 18
SETTINGS = {
    "metrics.listener": "127.0.0.1:0",
    "transaction.state.log.num.partitions": "1",
    "transactional.id.expiration.ms": "300",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "50",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "50",
}


@pytest.fixture(scope="module")
def broker():
    """One on which little is kept for long."""
    with EmbeddedBroker(SETTINGS) as running:
        yield running


@pytest.fixture
def client(broker):
    with Client(int(broker.bootstrap_servers.rpartition(":")[2])) as connected:
        yield connected


def begun(client, topic, generation=V2, timeout_ms=60_000):
    """A producer with one record in an open transaction."""
    producer = RawProducer(client, topic, generation, timeout_ms)
    find_coordinator(client, topic)
    assert patiently(producer.init) == 0
    if not generation.is_v2:
        assert set(producer.add((topic, 0)).values()) == {0}
    assert patiently(lambda: producer.produce(topic, 0, b"1"))[0] == 0
    return producer


def metrics_page(broker):
    with urllib.request.urlopen(f"http://{broker._node.metrics_address}/metrics") as page:
        return page.read().decode()


def metrics(broker):
    """The samples of the page, by name with labels."""
    lines = metrics_page(broker).splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    }


def test_ids_that_are_not_used_expire_and_stay_away(broker, client, topic):
    create_topic(client, topic)
    producer = begun(client, topic)
    assert producer.end(committed=True) == 0
    gone = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    eventually(lambda: describe(client, topic).error_code == gone)
    assert producer.produce(topic, 0, b"2")[0] == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert producer.end(committed=True) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    broker.restart()
    with Client(int(broker.bootstrap_servers.rpartition(":")[2])) as again:
        assert describe(again, topic).error_code == gone
        producer.client = again
        assert patiently(producer.init) == 0
        assert producer.epoch == 0


def test_transactions_are_counted(broker, client, topic):
    create_topic(client, topic)
    names = {
        "open": "dlog_transactions_open",
        "committed": 'dlog_transactions_total{result="committed"}',
        "aborted": 'dlog_transactions_total{result="aborted"}',
        "timed out": "dlog_transactions_timed_out_total",
    }

    def figures():
        page = metrics(broker)
        return [page[name] for name in names.values()]

    before = figures()
    producer = begun(client, topic)
    assert figures() == [before[0] + 1, *before[1:]]
    assert producer.end(committed=True) == 0
    assert figures() == [before[0], before[1] + 1, *before[2:]]
    create_topic(client, f"{topic}-2")
    late = begun(client, f"{topic}-2", V1, timeout_ms=100)
    eventually(lambda: describe(client, late.transactional_id).transaction_state == "CompleteAbort")
    assert figures() == [before[0], before[1] + 1, before[2] + 1, before[3] + 1]


def test_lag_for_readers_of_everything_and_of_committed_records(broker, client, topic, capsys):
    create_topic(client, topic)
    producer = begun(client, topic)
    assert producer.end(committed=True) == 0
    find_coordinator(client, topic, GROUP_KEY_TYPE)
    assert set(producer.commit_offsets(topic, {(topic, 0): 1}).values()) == {0}
    assert producer.end(committed=True) == 0
    for value in (b"2", b"3"):
        assert patiently(lambda value=value: producer.produce(topic, 0, value))[0] == 0
    assert (latest(client, topic, 0), latest(client, topic, 0, is_read_committed=True)) == (4, 2)

    labels = f'{{group="{topic}",topic="{topic}",partition="0"}}'
    page = metrics(broker)
    assert (page[f"dlog_group_lag{labels}"], page[f"dlog_group_committed_lag{labels}"]) == (3, 1)

    def described(*options):
        capsys.readouterr()
        bootstrap = ("--bootstrap", broker.bootstrap_servers)
        assert main(["group", "describe", topic, "--json", *bootstrap, *options]) == 0
        [row] = json.loads(capsys.readouterr().out)["offsets"]
        return row["end"], row["lag"]

    assert described() == (4, 3)
    assert described("--read-committed") == (2, 1)
    assert producer.end(committed=False) == 0


@pytest.mark.parametrize("version", [3, 4])
def test_clients_are_told_of_transactions_v2(client, version):
    response = client.ask(API_VERSIONS, version, ApiVersionsRequest("test", "1"))
    finalized = {each.name: each.max_version_level for each in response.finalized_features}
    assert finalized["transaction.version"] == 2
    supported = {each.name: each.max_version for each in response.supported_features}
    # Older clients take a lowest level of 0 for an error, and are told only what the cluster has.
    assert supported.get("transaction.version") == (2 if version >= 4 else None)


def test_every_transaction_metric_is_explained(broker):
    explained = re.findall(r"^# HELP (dlog_transactions_\w+) \S", metrics_page(broker), re.MULTILINE)
    assert set(explained) == {
        "dlog_transactions_open",
        "dlog_transactions_ending",
        "dlog_transactions_total",
        "dlog_transactions_timed_out_total",
    }
