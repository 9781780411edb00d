"""The commands that come with Apache Kafka, against our broker."""

import contextlib
import re
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.broker_fire.asking import create_topic, records_of
from tests.clients import confluent_client
from tests.clients.face import Record
from tests.server.processes import Client

from distributedlog.testing import EmbeddedBroker
from kafka_peer import JAVA

TOOLS = "org.apache.kafka.tools"
SECONDS_MAX = 120
NOW_MS = time.time_ns() // 1_000_000


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture
def bootstrap(broker):
    return broker.bootstrap_servers


@pytest.fixture
def ask(bootstrap):
    with Client(int(bootstrap.rpartition(":")[2])) as client:
        yield client


@pytest.fixture
def tool(bootstrap, tmp_path):
    """Run a command of Kafka's; what it printed."""

    def run(name, *arguments, text="", option="--bootstrap-server"):
        main = name if name.startswith("kafka.") else f"{TOOLS}.{name}"
        done = subprocess.run(
            [*JAVA, main, option, bootstrap, *map(str, arguments)],
            input=text, capture_output=True, text=True, timeout=SECONDS_MAX, check=False, cwd=tmp_path,
        )  # fmt: skip
        assert done.returncode == 0, f"{name} failed:\n{done.stdout}{done.stderr}"
        return done.stdout

    return run


def test_kafka_topics(tool, topic):
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", 2, "--config", "retention.ms=3600000")
    assert topic in tool("TopicCommand", "--list").splitlines()
    described = tool("TopicCommand", "--describe", "--topic", topic)
    assert re.search(r"PartitionCount: 2\s+ReplicationFactor: 1\s+Configs: .*retention.ms=3600000", described)
    tool("TopicCommand", "--alter", "--topic", topic, "--partitions", 4)
    described = tool("TopicCommand", "--describe", "--topic", topic)
    assert len(re.findall(r"Partition: \d+\s+Leader: 1\s+Replicas: 1\s+Isr: 1", described)) == 4
    assert tool("TopicCommand", "--describe", "--under-replicated-partitions").strip() == ""
    assert tool("TopicCommand", "--describe", "--unavailable-partitions").strip() == ""
    tool("TopicCommand", "--delete", "--topic", topic)
    assert topic not in tool("TopicCommand", "--list").splitlines()


def test_a_topic_that_is_there_already_is_told_in_kafkas_words(bootstrap, tool, ask, topic):
    create_topic(ask, topic)
    with pytest.raises(AssertionError, match=f"Topic '{re.escape(topic)}' already exists"):
        tool("TopicCommand", "--create", "--topic", topic)
    tool("TopicCommand", "--create", "--topic", topic, "--if-not-exists")


def test_console_producer_and_consumer(tool, topic):
    tool(
        "ConsoleProducer", "--topic", topic, "--command-property", "acks=all",
        "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true",
        "--reader-property", "null.marker=NULL", "--compression-codec", "zstd",
        text="h1:v1,h2:v2\tkey-1\tvalue-1\nh:x\tkey-2\tNULL\n",
    )  # fmt: skip
    printed = tool(
        "consumer.ConsoleConsumer", "--topic", topic, "--from-beginning", "--max-messages", 2,
        "--timeout-ms", 60_000, "--group", topic,
        *formatted("headers", "key", "offset", "partition", "value"),
    )  # fmt: skip
    assert [line.split("\t") for line in printed.splitlines()] == [
        ["Partition:0", "Offset:0", "h1:v1,h2:v2", "key-1", "value-1"],
        ["Partition:0", "Offset:1", "h:x", "key-2", "null"],
    ]


def formatted(*names):
    for name in names:
        yield from ("--formatter-property", f"print.{name}=true")


def test_kafka_consumer_groups(bootstrap, tool, ask, topic):
    create_topic(ask, topic)
    records = [Record(b"%d" % n, timestamp_ms=NOW_MS - 60_000 + n * 1_000) for n in range(10)]
    confluent_client.produce(bootstrap, topic, records)
    consumed = ("--topic", topic, "--from-beginning", "--max-messages", 7, "--timeout-ms", 60_000)
    tool("consumer.ConsoleConsumer", *consumed, "--group", topic)
    command = "consumer.group.ConsumerGroupCommand"
    assert topic in tool(command, "--list").splitlines()
    assert _positions(tool(command, "--describe", "--group", topic)) == [(0, 7, 10, 3)]
    assert re.search(r"Empty\s+0", tool(command, "--describe", "--group", topic, "--state"))
    # To the record of a moment, in the format that the tool takes.
    moment = time.strftime("%Y-%m-%dT%H:%M:%S.000", time.gmtime(NOW_MS / 1000 - 56))
    reset = ("--reset-offsets", "--group", topic, "--topic", topic, "--execute")
    tool(command, *reset, "--to-datetime", moment)
    expected = next(n for n in range(10) if records[n].timestamp_ms >= (NOW_MS // 1000 - 56) * 1000)
    assert _positions(tool(command, "--describe", "--group", topic)) == [(0, expected, 10, 10 - expected)]
    tool(command, *reset, "--shift-by", -1)
    assert _positions(tool(command, "--describe", "--group", topic))[0][1] == expected - 1
    tool(command, "--delete-offsets", "--group", topic, "--topic", topic)
    tool(command, "--delete", "--group", topic)
    assert topic not in tool(command, "--list").splitlines()


def _positions(described):
    """(partition, committed, end, lag) of each row."""
    rows = re.findall(r"^\S+ +\S+ +(\d+) +(\d+) +(\d+) +(-?\d+) ", described, re.MULTILINE)
    return [tuple(map(int, row)) for row in rows]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_kafka_consumer_groups_shows_the_members_of_both_protocols(protocol, bootstrap, tool, ask, topic):
    create_topic(ask, topic)
    consumer = confluent_client.consumer(bootstrap, topic, **{"group.protocol": protocol})
    with contextlib.closing(consumer):
        consumer.subscribe([topic])
        confluent_client.produce(bootstrap, topic, [Record(b"v")])
        assert consumer.poll(60).value() == b"v"
        with ThreadPoolExecutor() as pool:
            command = "consumer.group.ConsumerGroupCommand"
            asked = pool.submit(tool, command, "--describe", "--group", topic, "--members", "--verbose")
            while not asked.done():
                consumer.poll(0.05)
        assert f"{topic}(0)" in asked.result() or f"{topic}:0" in asked.result(), asked.result()
        listed = tool("GroupsCommand", "--list", "--group-type", protocol)
        assert re.search(rf"^{re.escape(topic)} +{protocol}", listed, re.MULTILINE | re.IGNORECASE), listed


def test_kafka_configs_of_topics_brokers_and_quotas(tool, ask, topic):
    create_topic(ask, topic)
    configs = "kafka.admin.ConfigCommand"
    where = ("--entity-type", "topics", "--entity-name", topic)
    tool(configs, "--alter", *where, "--add-config", "max.message.bytes=5000,cleanup.policy=[compact,delete]")
    described = tool(configs, "--describe", *where)
    assert "max.message.bytes=5000" in described
    assert "cleanup.policy=compact,delete" in described
    everything = tool(configs, "--describe", "--all", *where)
    assert re.search(r"retention.ms=604800000 sensitive=false synonyms=\{DEFAULT_CONFIG:", everything)
    tool(configs, "--alter", *where, "--delete-config", "max.message.bytes")
    assert "max.message.bytes" not in tool(configs, "--describe", *where)
    broker = ("--entity-type", "brokers", "--entity-name", "1")
    tool(configs, "--alter", *broker, "--add-config", "log.cleaner.backoff.ms=2000")
    assert "log.cleaner.backoff.ms=2000" in tool(configs, "--describe", *broker)
    tool(configs, "--alter", *broker, "--delete-config", "log.cleaner.backoff.ms")
    client = ("--entity-type", "clients", "--entity-name", topic)
    tool(configs, "--alter", *client, "--add-config", "producer_byte_rate=12345,consumer_byte_rate=54321")
    described = tool(configs, "--describe", *client)
    assert "producer_byte_rate=12345" in described
    assert "consumer_byte_rate=54321" in described
    tool(configs, "--alter", *client, "--delete-config", "producer_byte_rate,consumer_byte_rate")
    assert "byte_rate" not in tool(configs, "--describe", *client)


def test_offsets_log_directories_and_deleted_records(bootstrap, tool, ask, topic, tmp_path):
    create_topic(ask, topic)
    confluent_client.produce(bootstrap, topic, [Record(b"%d" % number) for number in range(10)])
    assert f"{topic}:0:10" in tool("GetOffsetShell", "--topic", topic)
    plan = f'{{"partitions": [{{"topic": "{topic}", "partition": 0, "offset": 4}}], "version": 1}}'
    (tmp_path / "plan.json").write_text(plan)
    assert "low_watermark: 4" in tool("DeleteRecordsCommand", "--offset-json-file", tmp_path / "plan.json")
    assert f"{topic}:0:4" in tool("GetOffsetShell", "--topic", topic, "--time", "earliest")
    described = tool("LogDirsCommand", "--describe", "--topic-list", topic)
    assert re.search(rf'"partition":"{re.escape(topic)}-0","size":[1-9]', described)


def test_what_the_broker_says_of_itself(tool):
    versions = tool("BrokerApiVersionsCommand")
    assert re.search(r"Produce\(0\): 0 to \d+ \[usable: \d+\]", versions)
    assert re.search(r"ConsumerGroupHeartbeat\(68\): 0 to 1 \[usable: 1\]", versions)
    assert "UNSUPPORTED" in versions  # what it does not serve, the tool knows to be missing
    assert "Feature: group.version" in tool("FeatureCommand", "describe")


def test_cluster_id(bootstrap, tmp_path):
    command = [*JAVA, f"{TOOLS}.ClusterTool", "cluster-id", "--bootstrap-server", bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=True)
    assert re.search(r"Cluster ID: \S{22}", done.stdout)


def test_performance_tools(bootstrap, tool, ask, topic):
    create_topic(ask, topic, 3)
    count = 20_000
    done = subprocess.run(
        [*JAVA, f"{TOOLS}.ProducerPerformance", "--topic", topic, "--num-records", str(count),
         "--record-size", "100", "--throughput", "-1",
         "--command-property", f"bootstrap.servers={bootstrap}", "acks=all"],
        capture_output=True, text=True, timeout=SECONDS_MAX, check=False,
    )  # fmt: skip
    assert f"{count} records sent" in done.stdout, done.stdout + done.stderr
    assert sum(len(records_of(ask, topic, partition)) for partition in range(3)) == count
    header, values = tool(
        "ConsumerPerformance", "--topic", topic, "--num-records", count, "--timeout", 60_000
    ).splitlines()[-2:]
    consumed = dict(zip(header.split(", "), values.split(", "), strict=True))
    assert int(consumed["data.consumed.in.nMsg"]) == count


def test_end_to_end_latency(tool, ask, topic):
    create_topic(ask, topic)
    printed = tool("EndToEndLatency", "--topic", topic, "--num-records", 200, "--producer-acks", "all",
                   "--record-size", 100)  # fmt: skip
    assert "Percentiles" in printed
