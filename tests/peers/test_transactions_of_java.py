"""Kafka's Java client and its tools against our broker's transactions."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.broker_fire.asking import create_topic
from tests.server.processes import Client, dlog_start
from tests.transactions_fire.raw_producer import V1, RawProducer, find_coordinator, patiently

from distributedlog.transactions import TransactionState
from kafka_peer import JAVA, complaints, dump_log_segments

CLIENT = Path(__file__).with_name("TransactionalClient.java")
TOOL = "org.apache.kafka.tools.TransactionsCommand"
SECONDS_MAX = 120
SETTINGS = {
    "transaction.state.log.num.partitions": 1,
    "offsets.topic.num.partitions": 1,
    # So that a transaction can be made to hang as it once could.
    "transaction.partition.verification.enable": "false",
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    return tmp_path_factory.mktemp("java")


@pytest.fixture(scope="module")
def broker(directory):
    words = [word for name, value in SETTINGS.items() for word in ("--set", f"{name}={value}")]
    with dlog_start("--listen", "127.0.0.1:0", *words, cwd=directory) as process:
        yield process.wait_ready()


@pytest.fixture
def client(broker):
    with Client(broker.port) as made:
        yield made


def java(*arguments):
    done = subprocess.run(
        [*JAVA, *map(str, arguments)], capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def tool(broker, *arguments):
    """The rows of a table that the tool prints, by the names of the columns."""
    header, *rows = [
        line.split("\t")
        for line in java(TOOL, "--bootstrap-server", f"127.0.0.1:{broker.port}", *arguments)
        if "\t" in line
    ]
    names = [name.strip() for name in header]
    return [dict(zip(names, map(str.strip, row), strict=True)) for row in rows]


def test_the_java_client(broker, client):
    topic = "of-java"
    create_topic(client, topic, 3)
    told = java(CLIENT, f"127.0.0.1:{broker.port}", topic, "group-of-java")
    kept = [number for number in range(6) if number % 3 != 1]
    expected = [
        [f"{number}-{place}" for number in kept for place in range(partition, 30, 3)]
        for partition in range(3)
    ]
    expected[0].append("of the heir")
    *lines, state, epoch = told
    assert lines == [
        "fenced",
        "committed 5",
        *(f"read {partition} {','.join(values)}" for partition, values in enumerate(expected)),
    ]
    assert state == "state CompleteCommit"
    assert int(epoch.split()[1]) >= 8, "with transactions v2 each end raises the epoch"


@pytest.fixture
def hanging(client):
    """A record of a transaction that no coordinator knows of, and an open transaction beside it."""
    topic = "hanging"
    create_topic(client, topic, 2)
    made = []
    for name in ("lost", "open"):
        producer = RawProducer(client, name, V1, timeout_ms=900_000)
        find_coordinator(client, name)
        assert patiently(producer.init) == 0
        if name == "open":
            assert set(producer.add((topic, 0)).values()) == {0}
        assert patiently(lambda producer=producer: producer.produce(topic, 0, b"1"))[0] == 0
        made.append(producer)
    return made


def test_kafkas_tool_lists_describes_and_aborts(broker, client, hanging):
    lost, opened = hanging
    listed = {row["TransactionalId"]: row["TransactionState"] for row in tool(broker, "list")}
    assert listed["open"] == "Ongoing"
    assert listed["lost"] == "Empty"
    [described] = tool(broker, "describe", "--transactional-id", "open")
    assert described["ProducerId"] == str(opened.producer_id)
    assert described["TransactionState"] == "Ongoing"
    assert described["TopicPartitions"] == "hanging-0"
    rows = tool(broker, "describe-producers", "--topic", "hanging", "--partition", "0")
    starts = {row["ProducerId"]: row["CurrentTransactionStartOffset"] for row in rows}
    assert starts == {str(lost.producer_id): "0", str(opened.producer_id): "1"}

    java(TOOL, "--bootstrap-server", f"127.0.0.1:{broker.port}", "abort",
         "--topic", "hanging", "--partition", "0", "--start-offset", "0")  # fmt: skip
    rows = tool(broker, "describe-producers", "--topic", "hanging", "--partition", "0")
    starts = {row["ProducerId"]: row["CurrentTransactionStartOffset"] for row in rows}
    assert starts == {str(lost.producer_id): "None", str(opened.producer_id): "1"}
    assert opened.end(committed=True) == 0


def test_kafkas_tool_reads_our_transaction_log(broker, client, directory):
    """Every state of a transaction, as its coordinator wrote them."""
    create_topic(client, "dumped", 2)
    producer = RawProducer(client, "dumped-id", V1)
    find_coordinator(client, producer.transactional_id)
    assert patiently(producer.init) == 0
    assert set(producer.add(("dumped", 0), ("dumped", 1)).values()) == {0}
    assert producer.produce("dumped", 0, b"1")[0] == 0
    assert producer.end(committed=True) == 0
    dumped = dump_log_segments(directory / "dlog-data" / "__transaction_state-0", "--transaction-log-decoder")
    assert complaints(dumped) == []
    found = re.findall(r" key: (\{.*?\}) payload: (\{.*\})$", dumped.stdout, re.MULTILINE)
    ours = [
        json.loads(value)["data"]
        for key, value in found
        if json.loads(key)["data"]["transactionalId"] == producer.transactional_id
    ]
    states = [TransactionState(value["transactionStatus"]).label for value in ours]
    assert states == ["Empty", "Ongoing", "PrepareCommit", "CompleteCommit"]
    assert {value["producerId"] for value in ours} == {producer.producer_id}
    assert ours[2]["transactionPartitions"] == [{"topic": "dumped", "partitionIds": [0, 1]}]
