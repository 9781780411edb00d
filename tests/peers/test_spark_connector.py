"""A job written for Spark's own Kafka connector runs here by changing the name of the format."""

import json
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from distributedlog.spark.local_session import local_session
from distributedlog.spark.stream_offsets import parse_offset
from distributedlog.testing import EmbeddedBroker

JARS = Path(__file__).parents[2] / ".peers" / "spark"
FORMATS = ("kafka", "distributedlog")
NOW_MS = int(time.time() * 1000) - 60_000


@pytest.fixture(scope="module")
def spark():
    jars = ",".join(map(str, sorted(JARS.glob("*.jar"))))
    session = local_session("local[2]", settings={"spark.jars": jars, "spark.log.level": "ERROR"})
    yield session
    session.stop()


@pytest.fixture(scope="module")
def servers():
    """A broker with a topic of everything that a record may have."""
    with EmbeddedBroker() as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        stamped = {"message.timestamp.type": "LogAppendTime"}
        new = [NewTopic("orders", 2, 1), NewTopic("stamped", 1, 1, config=stamped)]
        for future in admin.create_topics(new).values():
            future.result()
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "compression.type": "zstd"})
        for index in range(200):
            producer.produce(
                "orders" if index % 10 else "stamped",
                None if index % 7 == 0 else f"value {index} é".encode(),
                key=None if index % 3 else f"key {index}".encode(),
                partition=index % 2 if index % 10 else 0,
                timestamp=NOW_MS + index,
                headers=[("a", b"1"), ("a", None), ("ü", b"")] if index % 4 == 0 else None,
            )
        producer.flush()
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "t"})
        producer.init_transactions(30)
        for ends in ("abort_transaction", "commit_transaction", "abort_transaction"):
            producer.begin_transaction()
            for index in range(5):
                producer.produce("orders", f"{ends} {index}".encode(), partition=0, timestamp=NOW_MS + index)
            producer.flush()
            getattr(producer, ends)(30)
        yield broker.bootstrap_servers


def the_job(reader, servers, **options):
    """What a team has written: only the format's name is not in it."""
    options = {
        "kafka.bootstrap.servers": servers,
        "startingOffsets": "earliest",
        "includeHeaders": "true",
        "failOnDataLoss": "true",
        "kafka.session.timeout.ms": "30000",
        # Their default reads what was aborted, too; a job with transactions sets this.
        "kafka.isolation.level": "read_committed",
        **options,
    }
    return reader.options(**options).load()


@pytest.mark.parametrize(
    "options",
    [
        {"subscribe": "orders,stamped"},
        {"subscribePattern": "ord.*", "minPartitions": "5"},
        {"assign": '{"orders": [1]}', "endingOffsets": '{"orders": {"1": 40}}'},
        {"subscribe": "orders", "startingOffsets": '{"orders": {"0": 11, "1": -2}}'},
        {"subscribe": "orders", "startingTimestamp": str(NOW_MS + 100), "endingTimestamp": str(NOW_MS + 150)},
    ],
)
def test_a_batch_has_the_same_schema_and_rows(spark, servers, options):
    theirs, ours = (the_job(spark.read.format(name), servers, **options) for name in FORMATS)
    assert ours.schema == theirs.schema
    order = ["topic", "partition", "offset"]
    rows = ours.orderBy(order).collect()
    assert rows == theirs.orderBy(order).collect()
    assert rows


def test_a_stream_has_the_same_rows(spark, servers, tmp_path):
    found = {}
    for name in FORMATS:
        stream = the_job(
            spark.readStream.format(name), servers, subscribe="orders,stamped", maxOffsetsPerTrigger="50"
        )
        query = (
            stream.writeStream.format("parquet")
            .option("path", str(tmp_path / name))
            .option("checkpointLocation", str(tmp_path / f"{name}-checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(100)
        written = spark.read.parquet(str(tmp_path / name))
        found[name] = written.orderBy("topic", "partition", "offset").collect()
    assert found["distributedlog"] == found["kafka"]
    assert len(found["kafka"]) == 205


def test_the_other_sources_offsets_are_understood(spark, servers, tmp_path):
    stream = the_job(spark.readStream.format("kafka"), servers, subscribe="orders")
    query = (
        stream.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(100)
    last = json.loads((tmp_path / "offsets" / "0").read_text().splitlines()[-1])
    assert set(parse_offset(last).topics) == {"orders"}
