"""Writing with Spark: our sink against Spark's connector, and exactly-once against at-least-once.

All write to topics of one broker, which has the two cores in common with the session. The connector's jars
are what ``sh peers/fetch.sh`` fetches; without them ours is measured alone.
"""

import tempfile
import time
from typing import Any

from bench.figure import Figure
from bench.our_node import OurNode
from bench.spark_fill import create
from bench.spark_session import JARS, bench_session
from bench.spark_source import CONNECTOR, MILLION, OURS, THEIRS, Trickle
from distributedlog.client import ClientSettings, parse_bootstrap
from distributedlog.client.blocking_connection import BlockingConnection

RECORDS = 10_000_000
RECORDS_QUICK = 20_000
ROWS_A_BATCH = 500_000
ROWS_A_BATCH_QUICK = 5_000
BATCHES = 8
#: The first ones load and compile what the rest needs.
WARM_UP = 2
SMALL_BATCHES = 40
VALUE = "x" * 100
AT_LEAST_ONCE = "the same sink at least once, same session"


class Bench:
    """One session and one broker; every measurement has a topic of its own."""

    def __init__(self, spark: Any, bootstrap: str, quick: bool) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.quick = quick
        self.formats = [OURS, THEIRS] if any(JARS.glob("spark-sql-kafka*.jar")) else [OURS]
        self._topics = 0

    def new_topic(self) -> str:
        self._topics += 1
        topic = f"written-{self._topics}"
        connection = BlockingConnection.open(parse_bootstrap(self.bootstrap)[0], ClientSettings())
        create(connection, topic)
        connection.close()
        return topic

    def batch(self, name: str, records: int, **options: str) -> float:
        """Rows a second of one write."""
        frame = self.spark.range(0, records, 1, 2).selectExpr("cast(id as string) key", f"'{VALUE}' value")
        writer = frame.write.format(name).mode("append").option("topic", self.new_topic())
        begun = time.perf_counter()
        writer.option("kafka.bootstrap.servers", self.bootstrap).options(**options).save()
        return records / (time.perf_counter() - begun)

    def batches(self, rounds: int, **options: str) -> list[float]:
        """The best of some rounds in turns, for each format."""
        records = RECORDS_QUICK if self.quick else RECORDS
        results = [[self.batch(name, records, **options) for name in self.formats] for _ in range(rounds)]
        return [max(each) for each in zip(*results, strict=True)]

    def stream(self, name: str, rows: int, **options: str) -> float:
        """Rows a second of a stream that always has more, in batches of so many."""
        frame = self.spark.readStream.format("rate-micro-batch").options(rowsPerBatch=rows, numPartitions=2)
        rows_of_stream = frame.load().selectExpr("cast(value as string) key", f"'{VALUE}' value")
        entries = self._run(rows_of_stream, name, BATCHES + WARM_UP, **options)[WARM_UP:]
        milliseconds = sum(entry["durationMs"]["triggerExecution"] for entry in entries)
        return float(sum(entry["numInputRows"] for entry in entries) / milliseconds * 1000)

    def small_batch_ms(self, source: str, sink: str, **options: str) -> float:
        """The median of micro-batches of a few records each."""
        topic = self.new_topic()
        with Trickle(self.bootstrap, topic):
            reader = self.spark.readStream.format(source)
            if source == "rate":
                frame = reader.option("rowsPerSecond", 1000).load()
            else:
                reader = reader.option("kafka.bootstrap.servers", self.bootstrap).option("subscribe", topic)
                frame = reader.load().select("key", "value")
            entries = self._run(frame, sink, 12 if self.quick else SMALL_BATCHES, **options)[5:]
        times = sorted(entry["durationMs"]["triggerExecution"] for entry in entries)
        return float(times[len(times) // 2])

    def _run(self, frame: Any, name: str, batches: int, **options: str) -> list[Any]:
        """The progress of so many batches with rows in them."""
        with tempfile.TemporaryDirectory() as checkpoint:
            writer = frame.writeStream.format(name).option("checkpointLocation", checkpoint)
            if name != "noop":
                writer = writer.option("kafka.bootstrap.servers", self.bootstrap)
                writer = writer.option("topic", self.new_topic()).options(**options)
            query = writer.start()
            try:
                while True:
                    entries = [entry for entry in query.recentProgress if entry["numInputRows"]]
                    if len(entries) >= batches:
                        return entries
                    query.awaitTermination(1)  # raises what the query failed of
            finally:
                query.stop()


def collect(quick: bool = False) -> list[Figure]:
    with tempfile.TemporaryDirectory() as directory, OurNode(directory, {"log.flush": "os"}) as node:
        spark = bench_session(fast_checkpoints=True)
        bench = Bench(spark, node.bootstrap, quick)
        for name in bench.formats:
            bench.batch(name, RECORDS_QUICK)  # the first of each loads what it needs
        figures = [
            *_against_connector("batch write, 100-byte values", bench.batches(1 if quick else 2)),
            *_against_connector(
                "batch write, lz4", bench.batches(1 if quick else 2, **{"kafka.compression.type": "lz4"})
            ),
            _exactly_once(bench),
            *_overhead(bench),
        ]
        spark.stop()
    return figures


def _against_connector(name: str, rates: list[float]) -> list[Figure]:
    ours = rates[0] / MILLION
    if len(rates) == 1:
        return [Figure(name, ours, "M rows/s")]
    theirs = rates[1] / MILLION
    return [Figure(name, ours, "M rows/s", ceiling=theirs, ceiling_is=CONNECTOR, ratio_bar=1.0)]


def _exactly_once(bench: Bench) -> Figure:
    rows = ROWS_A_BATCH_QUICK if bench.quick else ROWS_A_BATCH
    plain = bench.stream(OURS, rows) / MILLION
    exact = bench.stream(OURS, rows, exactlyOnce="true") / MILLION
    return Figure(
        "streaming write, exactly once",
        exact,
        "M rows/s",
        ceiling=plain,
        ceiling_is=AT_LEAST_ONCE,
        ratio_bar=0.75,
    )


def _overhead(bench: Bench) -> list[Figure]:
    bare = bench.small_batch_ms("rate", "noop")
    both = bench.small_batch_ms(OURS, OURS)
    exact = bench.small_batch_ms(OURS, OURS, exactlyOnce="true")
    name = "micro-batch of source and sink over rate to noop"
    return [
        Figure(name, both - bare, "ms", bar=60, higher_is_better=False),
        Figure(f"{name}, exactly once", exact - bare, "ms", bar=60, higher_is_better=False),
        Figure("micro-batch of rate to noop", bare, "ms", higher_is_better=False),
    ]
