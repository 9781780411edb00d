"""Frames written as Spark's users write them; what comes to lie in the topics is read by our client."""

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql.functions import col, concat, lit
from tests.spark.sink_tools import committed, values

from distributedlog.client.producer.partitioners import by_murmur2
from distributedlog.spark import register


@pytest.fixture
def write(spark, bootstrap):
    register(spark)

    def run(frame, **options):
        frame.write.format("distributedlog").mode("append").options(
            **{"kafka.bootstrap.servers": bootstrap, **options}
        ).save()

    return run


def numbers(spark, count, partitions=3):
    frame = spark.range(0, count, 1, partitions)
    return frame.select(col("id").cast("string").alias("key"), concat(lit("v"), "id").alias("value"))


def group_names(bootstrap):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return [group.group_id for group in admin.list_consumer_groups().result().valid]


@pytest.mark.parametrize("exactly_once", ["false", "true"])
def test_all_rows_are_there_once_and_in_the_partitions_of_their_keys(
    spark, topics, topic, write, bootstrap, exactly_once
):
    topics.create(topic, partitions=4)
    write(numbers(spark, 30_000), topic=topic, exactlyOnce=exactly_once, **{"kafka.compression.type": "lz4"})
    records = committed(bootstrap, topic)
    assert values(records) == {b"v%d" % number: 1 for number in range(30_000)}
    assert all(record.value == b"v" + record.key for record in records)
    assert not any(name.startswith("distributedlog-spark-batch-") for name in group_names(bootstrap))


def test_every_column_counts(spark, topics, topic, write, bootstrap):
    topics.create(topic, partitions=3)
    frame = spark.sql(
        f"select '{topic}' topic, cast('k' as binary) key, 'v' value, 2 partition, "
        "timestamp_millis(1700000000123) timestamp, "
        "array(named_struct('key', 'h', 'value', cast('x' as binary))) headers, 'more' other"
    )
    write(frame)
    [record] = committed(bootstrap, topic)
    assert (record.key, record.value, record.timestamp) == (b"k", b"v", 1_700_000_000_123)
    assert tuple(record.headers) == (("h", b"x"),)


def test_a_frame_that_failed_has_left_nothing(spark, topics, topic, write, bootstrap):
    """The last row of one task cannot be written: exactly-once means nothing of the others either."""
    topics.create(topic, partitions=2)
    frame = spark.sql(
        "select 'v' value, cast(if(id = 999, 7, null) as int) partition from range(0, 1000, 1, 4)"
    )
    with pytest.raises(Exception, match="partition 7 of topic"):
        write(frame, topic=topic, exactlyOnce="true")
    assert not committed(bootstrap, topic)


@pytest.mark.parametrize(
    ("sql", "options", "words"),
    [
        ("select 1.5 value", {"topic": "t"}, "column 'value' is decimal"),
        ("select 'v' value", {}, "no topic is named"),
        ("select 'v' value", {"topic": "t", "exactlyOnc": "true"}, "did you mean 'exactlyOnce'"),
        ("select repeat('x', 2000000) value", {"topic": "large"}, "kafka.max.request.size"),
        ("select 'v' value", {"topic": "bad name"}, "bad name"),
        (
            "select 'v' value",
            {"topic": "t", "exactlyOnce": "true", "kafka.transaction.timeout.ms": "999999999"},
            "transaction.max.timeout.ms",
        ),
    ],
)
def test_what_cannot_be_written_is_told(spark, write, sql, options, words):
    with pytest.raises(Exception) as failure:
        write(spark.sql(sql), **options)
    assert words in str(failure.value)


def test_a_broker_that_is_not_there_is_told(spark, free_address):
    register(spark)
    writer = (
        spark.sql("select 'v' value")
        .write.format("distributedlog")
        .mode("append")
        .options(
            **{
                "kafka.bootstrap.servers": free_address,
                "kafka.delivery.timeout.ms": "200",
                "topic": "t",
            }
        )
    )
    with pytest.raises(Exception, match=r"[Cc]onnection refused"):
        writer.save()


def test_partition_of_a_key_is_kafkas(spark, topics, topic, write, spark_broker):
    from confluent_kafka import Consumer, TopicPartition

    topics.create(topic, partitions=5)
    write(numbers(spark, 200), topic=topic)
    consumer = Consumer({"bootstrap.servers": spark_broker.bootstrap_servers, "group.id": topic})
    consumer.assign([TopicPartition(topic, index, 0) for index in range(5)])
    left = 200
    while left:
        for message in consumer.consume(left, timeout=10):
            assert message.partition() == by_murmur2(topic, message.key(), 5)
            left -= 1
    consumer.close()
