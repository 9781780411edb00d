"""Spark's own Kafka connector, which is none of ours, reads and writes our broker: batch and streaming."""

import os
import sys

import pytest
from pyspark.sql import SparkSession
from tests.broker_fire.asking import create_topic
from tests.clients import confluent_client
from tests.clients.face import Record
from tests.server.processes import Client

from distributedlog.testing import EmbeddedBroker
from kafka_peer import JARS

CONNECTOR = JARS.parent / "spark"
RECORDS = 500


@pytest.fixture(scope="module")
def broker():
    with EmbeddedBroker() as running:
        yield running


@pytest.fixture
def bootstrap(broker):
    return broker.bootstrap_servers


@pytest.fixture(scope="module")
def spark(broker, tmp_path_factory):
    """Ends before the broker does, of which its producers would miss the end loudly."""
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.jars": ",".join(str(jar) for jar in sorted(CONNECTOR.glob("*.jar"))),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = SparkSession.builder.master("local[2]").appName("peers")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
    if before is None:
        del os.environ["PYSPARK_PYTHON"]
    else:
        os.environ["PYSPARK_PYTHON"] = before


def write(spark, bootstrap, topic):
    frame = spark.range(RECORDS).selectExpr(
        "cast(id % 7 as string) as key",
        "concat('value-', id) as value",
        "array(named_struct('key', 'id', 'value', cast(cast(id as string) as binary))) as headers",
        "cast(id % 3 as int) as partition",
    )
    options = {"kafka.bootstrap.servers": bootstrap, "topic": topic, "includeHeaders": "true"}
    frame.write.format("kafka").options(**options).save()


def reader_options(bootstrap, topic):
    return {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
    }


def test_what_spark_writes_others_read_and_it_reads_itself(spark, bootstrap, topic):
    with Client(int(bootstrap.rpartition(":")[2])) as ask:
        create_topic(ask, topic, 3)
    write(spark, bootstrap, topic)
    found = {}
    for partition in range(3):
        count = len(range(partition, RECORDS, 3))
        for record in confluent_client.consume(bootstrap, topic, count, partition=partition):
            found[record.value.decode()] = (record.key.decode(), dict(record.headers)["id"].decode())
    assert found == {f"value-{number}": (str(number % 7), str(number)) for number in range(RECORDS)}
    frame = spark.read.format("kafka").options(**reader_options(bootstrap, topic)).load()
    rows = frame.selectExpr("cast(value as string)", "cast(key as string)", "partition", "offset").collect()
    assert {row.value: row.key for row in rows} == {value: key for value, (key, _) in found.items()}
    assert len({(row.partition, row.offset) for row in rows}) == RECORDS


def test_a_stream_goes_on_where_its_checkpoint_is(spark, bootstrap, topic, tmp_path):
    with Client(int(bootstrap.rpartition(":")[2])) as ask:
        create_topic(ask, topic, 1)

    def run():
        """Everything that is there by now, and no more."""
        stream = spark.readStream.format("kafka").options(**reader_options(bootstrap, topic)).load()
        query = (
            stream.selectExpr("cast(value as string) as value")
            .writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert query.awaitTermination(120)
        return sorted(row.value for row in spark.read.parquet(str(tmp_path / "out")).collect())

    confluent_client.produce(bootstrap, topic, [Record(b"1"), Record(b"2")], codec="zstd")
    assert run() == ["1", "2"]
    confluent_client.produce(bootstrap, topic, [Record(b"3")], codec="lz4")
    assert run() == ["1", "2", "3"]
