"""Reading with Spark: our source against Spark's connector, in one session, from one broker.

Both read the same topics in turns; of the rounds the best of each counts. The connector's jars are what
``sh peers/fetch.sh`` fetches; without them ours is measured alone. The session is that of
`local_session` on two cores, which the broker shares.
"""

import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.figure import Figure
from bench.our_node import OurNode
from bench.spark_fill import fill
from bench.spark_session import JARS, bench_session
from distributedlog.records import Compression

RECORDS = 10_000_000
RECORDS_QUICK = 20_000
ROUNDS = 2
CONNECTOR = "Spark's own connector for Kafka (JVM), same topic, same broker, same session"
MILLION = 1e6
TRICKLE_SECONDS = 6.0
OURS, THEIRS = "distributedlog", "kafka"


class Bench:
    """One session and one broker with the topics."""

    def __init__(self, spark: Any, bootstrap: str, records: int, rounds: int) -> None:
        self.spark = spark
        self.bootstrap = bootstrap
        self.records = records
        self.rounds = rounds
        self.formats = [OURS, THEIRS] if any(JARS.glob("spark-sql-kafka*.jar")) else [OURS]

    def frame(self, format_name: str, topic: str, **options: str) -> Any:
        reader = self.spark.read.format(format_name).option("kafka.bootstrap.servers", self.bootstrap)
        return reader.options(**options).option("subscribe", topic).load()

    def seconds(self, frame: Any) -> float:
        begun = time.perf_counter()
        frame.write.format("noop").mode("overwrite").save()
        return time.perf_counter() - begun

    def in_turns(self, measure: Callable[[str], float]) -> list[float]:
        """The highest of the rounds for each format."""
        results = [[measure(name) for name in self.formats] for _ in range(self.rounds)]
        return [max(each) for each in zip(*results, strict=True)]

    def figure(self, name: str, rates: list[float], bar: float) -> Figure:
        """Ours by the connector's."""
        if len(rates) == 1:
            return Figure(name, rates[0] / MILLION, "M rows/s")
        theirs = rates[1] / MILLION
        return Figure(
            name, rates[0] / MILLION, "M rows/s", ceiling=theirs, ceiling_is=CONNECTOR, ratio_bar=bar
        )

    def batch(self, topic: str, **ours: str) -> list[float]:
        """Rows a second into the noop sink; `ours` are options of our source alone."""

        def measure(name: str) -> float:
            frame = self.frame(name, topic, **(ours if name == OURS else {}))
            columns = ours.get("columns")
            return self.records / self.seconds(frame.select(columns.split(",")) if columns else frame)

        return self.in_turns(measure)

    def time_range(self, topic: str, first_ms: int, last_ms: int, **ours: str) -> list[float]:
        """One in a hundred records, from the middle; by rows of the whole topic a second."""
        middle, hundredth = (first_ms + last_ms) // 2, (last_ms - first_ms) // 100

        def measure(name: str) -> float:
            frame = self.frame(name, topic, **(ours if name == OURS else {})).where(
                f"timestamp >= timestamp_millis({middle}) "
                f"and timestamp < timestamp_millis({middle + hundredth})"
            )
            return self.records / self.seconds(frame)

        return self.in_turns(measure)

    def stream(self, topic: str) -> list[float]:
        """Rows a second while there is always more, in batches of a quarter of all."""

        def measure(name: str) -> float:
            with tempfile.TemporaryDirectory() as checkpoint:
                reader = self.spark.readStream.format(name).option("kafka.bootstrap.servers", self.bootstrap)
                frame = (
                    reader.option("subscribe", topic)
                    .option("startingOffsets", "earliest")
                    .option("maxOffsetsPerTrigger", str(self.records // 4))
                    .load()
                )
                query = (
                    frame.writeStream.format("noop")
                    .option("checkpointLocation", checkpoint)
                    .trigger(availableNow=True)
                    .start()
                )
                query.awaitTermination()
                batches = [entry for entry in query.recentProgress if entry["numInputRows"]]
            rows = sum(entry["numInputRows"] for entry in batches)
            milliseconds = sum(entry["durationMs"]["triggerExecution"] for entry in batches)
            return float(rows / milliseconds * 1000)

        return self.in_turns(measure)

    def batch_ms(self, source: str, topic: str, seconds: float) -> float:
        """The median of micro-batches of a few records each."""
        reader = self.spark.readStream.format(source)
        if source == "rate":
            frame = reader.option("rowsPerSecond", 1000).load()
        else:
            frame = reader.option("kafka.bootstrap.servers", self.bootstrap).option("subscribe", topic).load()
        with tempfile.TemporaryDirectory() as checkpoint, Trickle(self.bootstrap, topic):
            query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
            query.awaitTermination(int(seconds))
            batches = [entry for entry in query.recentProgress if entry["numInputRows"]][3:]
            query.stop()
        times = sorted(entry["durationMs"]["triggerExecution"] for entry in batches)
        return float(times[len(times) // 2]) if times else float("nan")


class Trickle:
    """A record every few milliseconds, as long as it lasts."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        from confluent_kafka import Producer

        self._producer = Producer({"bootstrap.servers": bootstrap})
        self._topic = topic
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self._done.wait(0.005):
            self._producer.produce(self._topic, b"x" * 100)
            self._producer.poll(0)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()
        self._producer.flush()


def worker_memory_mb() -> float:
    """The most that any Python worker of this process's session has had in memory."""
    parents: dict[int, int] = {}
    peaks: dict[int, float] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines() if ":\t" in line)
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        pid = int(fields["Pid"])
        parents[pid] = int(fields["PPid"])
        if b"pyspark" in command and b"java" not in command.split(b"\0")[0] and "VmHWM" in fields:
            peaks[pid] = int(fields["VmHWM"].split()[0]) / 1024
    import os

    def is_ours(pid: int) -> bool:
        while pid > 1:
            pid = parents.get(pid, 0)
            if pid == os.getpid():
                return True
        return False

    return max((peak for pid, peak in peaks.items() if is_ours(pid)), default=float("nan"))


def collect(quick: bool = False) -> list[Figure]:
    records = RECORDS_QUICK if quick else RECORDS
    with tempfile.TemporaryDirectory() as directory, OurNode(directory, {"log.flush": "os"}) as node:
        first, last = fill(node.bootstrap, "plain", records, Compression.NONE)
        fill(node.bootstrap, "lz4", records, Compression.LZ4)
        fill(node.bootstrap, "trickle", RECORDS_QUICK, Compression.NONE)
        spark = bench_session()
        bench = Bench(spark, node.bootstrap, records, 1 if quick else ROUNDS)
        for name in bench.formats:
            bench.seconds(bench.frame(name, "trickle"))  # the first of each loads what it needs
        figures = [
            bench.figure("batch read, 100-byte values", bench.batch("plain"), 1.5),
            bench.figure("batch read, lz4", bench.batch("lz4"), 1.5),
            bench.figure(
                "batch read, offset and timestamp", bench.batch("plain", columns="offset,timestamp"), 3
            ),
            bench.figure("batch read, 1 % by time", bench.time_range("plain", first, last), 3),
            bench.figure(
                "batch read, 1 % by time, timestamps in order",
                bench.time_range("plain", first, last, timestampDisorder="0ms"),
                3,
            ),
            bench.figure("streaming read", bench.stream("plain"), 1),
        ]
        local = bench.records / bench.seconds(bench.frame(OURS, "plain", localDataDirectory=directory))
        figures += [
            Figure("batch read, from the broker's files", local / MILLION, "M rows/s"),
            *_overhead(bench, 2.0 if quick else TRICKLE_SECONDS),
            Figure("memory of a Python worker", worker_memory_mb(), "MB", bar=400, higher_is_better=False),
        ]
        spark.stop()
    absolute = figures[0].value
    return [Figure("batch read, rows", absolute, "M rows/s", bar=2.5), *figures]


def _overhead(bench: Bench, seconds: float) -> list[Figure]:
    rate = bench.batch_ms("rate", "trickle", seconds)
    ours = bench.batch_ms(OURS, "trickle", seconds)
    more = Figure("micro-batch over Spark's rate source", ours - rate, "ms", bar=60, higher_is_better=False)
    return [more, Figure("micro-batch of the rate source", rate, "ms", higher_is_better=False)]
