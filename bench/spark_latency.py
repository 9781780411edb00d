"""From a produced record to its committed result: a small stream through Spark, on one machine.

Every record has a key of its own, is sent alone, and the next one goes when the result of the last is there:
the clock runs from `send` until a reader of committed records has the result. The session has the
checkpoints that `local_session` offers where a sink fences.
"""

import statistics
import tempfile
import time
from typing import Any

from bench.figure import Figure
from bench.our_node import OurNode
from bench.spark_session import bench_session
from distributedlog import Consumer, Producer

FORMAT = "distributedlog"
RECORDS, RECORDS_QUICK = 60, 3
#: The first ones load and compile what the rest needs.
WARM_UP, WARM_UP_QUICK = 15, 1
STATELESS_MS_MAX, WINDOWED_MS_MAX = 200, 350
SECONDS_MAX = 120


def collect(quick: bool) -> list[Figure]:
    spark = bench_session(fast_checkpoints=True)
    try:
        with tempfile.TemporaryDirectory() as directory, OurNode(directory) as node:
            stateless = _median_ms(node.bootstrap, "plain", _pass_on(spark, node.bootstrap, "plain"), quick)
            windowed = _median_ms(node.bootstrap, "counts", _count(spark, node.bootstrap, "counts"), quick)
    finally:
        spark.stop()
    name = "from produce to committed result, p50"
    return [
        Figure(
            f"{name}, stateless, exactly once",
            stateless,
            "ms",
            bar=STATELESS_MS_MAX,
            higher_is_better=False,
        ),
        Figure(f"{name}, windowed count", windowed, "ms", bar=WINDOWED_MS_MAX, higher_is_better=False),
    ]


def _records(spark: Any, bootstrap: str, topic: str) -> Any:
    reader = spark.readStream.format(FORMAT).option("kafka.bootstrap.servers", bootstrap)
    return reader.option("subscribe", topic).option("startingOffsets", "earliest").load()


def _pass_on(spark: Any, bootstrap: str, topic: str) -> Any:
    def start(checkpoint: str) -> Any:
        writer = _records(spark, bootstrap, topic).select("key", "value").writeStream.format(FORMAT)
        options = {"kafka.bootstrap.servers": bootstrap, "topic": f"{topic}-out", "exactlyOnce": "true"}
        return writer.options(**options).option("checkpointLocation", checkpoint).start()

    return start


def _count(spark: Any, bootstrap: str, topic: str) -> Any:
    from pyspark.sql import functions as f

    def write(frame: Any, _: int) -> None:
        results = frame.selectExpr("key", "cast(count as string) as value")
        options = {"kafka.bootstrap.servers": bootstrap, "topic": f"{topic}-out"}
        results.write.format(FORMAT).options(**options).mode("append").save()

    def start(checkpoint: str) -> Any:
        records = _records(spark, bootstrap, topic).withWatermark("timestamp", "1 minute")
        counts = records.groupBy(f.window("timestamp", "1 minute"), "key").count()
        writer = counts.writeStream.outputMode("update").foreachBatch(write)
        return writer.option("checkpointLocation", checkpoint).start()

    return start


def _median_ms(bootstrap: str, topic: str, start: Any, quick: bool) -> float:
    warm_up, records = (WARM_UP_QUICK, RECORDS_QUICK) if quick else (WARM_UP, RECORDS)
    with (
        tempfile.TemporaryDirectory() as checkpoint,
        Producer(bootstrap, linger_ms=0) as producer,
        Consumer(bootstrap, isolation_level="read_committed", auto_offset_reset="earliest") as consumer,
    ):
        for name in (topic, f"{topic}-out"):
            producer.send(name, b"", key=b"first").result()
        consumer.assign([(f"{topic}-out", 0)])
        query = start(checkpoint)
        try:
            taken = [
                _milliseconds(producer, consumer, topic, b"%d" % number)
                for number in range(warm_up + records)
            ]
            query.processAllAvailable()  # a batch that is interrupted complains at length
        finally:
            query.stop()
    return statistics.median(taken[warm_up:])


def _milliseconds(producer: Producer, consumer: Consumer, topic: str, key: bytes) -> float:
    begun = time.perf_counter()
    producer.send(topic, b"value", key=key)
    while True:
        if any(record.key == key for record in consumer.poll(1.0)):
            return (time.perf_counter() - begun) * 1000
        if time.perf_counter() - begun > SECONDS_MAX:
            raise RuntimeError(f"no result of a record in {SECONDS_MAX} s")
