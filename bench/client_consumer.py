"""Reading 100-byte records through our consumer and through other libraries', from the same broker."""

import tempfile
from statistics import median

from bench.figure import Figure
from bench.loads import run_load
from bench.our_node import OurNode
from distributedlog.client.producer.producer import Producer

RECORD_SIZE = 100
TOPIC = "bench"
ROUNDS = 3
#: Enough that each takes some seconds; the slow ones get fewer.
RECORDS = {
    "ours_poll": 2_000_000,
    "ours_iteration": 2_000_000,
    "ours_async": 2_000_000,
    "ours_table": 2_000_000,
    "confluent": 2_000_000,
    "aiokafka": 600_000,
    "kafka_python": 300_000,
}
NAMES = {
    "ours_poll": "poll, per record",
    "ours_iteration": "for record in consumer",
    "ours_async": "await poll, per record",
    "ours_table": "poll_table",
}
#: By how much ours has to be faster than another library: (ours, theirs, how often as fast).
BARS = (
    ("ours_poll", "aiokafka", 1.5),
    ("ours_poll", "kafka_python", 5.0),
    ("ours_iteration", "aiokafka", None),
    ("ours_async", "aiokafka", 1.5),
    ("ours_table", "confluent", 5.0),
)
THEIRS = {
    "confluent": "confluent-kafka, consume(10000)",
    "aiokafka": "aiokafka, getmany(10000)",
    "kafka_python": "kafka-python, poll(10000)",
}
MILLION = 1e6


def collect(quick: bool = False) -> list[Figure]:
    """Clients take turns, and of each the median of its rounds counts."""
    rates = measure(quick)
    return [
        Figure(
            f"{NAMES[ours]}, and {theirs.replace('_', '-')}",
            rates[ours] / MILLION,
            "M records/s",
            ceiling=rates[theirs] / MILLION,
            ceiling_is=THEIRS[theirs],
            ratio_bar=bar,
        )
        for ours, theirs, bar in BARS
    ]


def measure(quick: bool) -> dict[str, float]:
    records = {client: 20_000 if quick else count for client, count in RECORDS.items()}
    with tempfile.TemporaryDirectory() as directory, OurNode(directory) as node:
        fill(node.bootstrap, max(records.values()))
        found: dict[str, list[float]] = {client: [] for client in records}
        for _ in range(1 if quick else ROUNDS):
            for client, count in records.items():
                load = run_load("load_consumers", client, node.bootstrap, TOPIC, count)
                found[client].append(load["records_per_second"])
    return {client: median(rates) for client, rates in found.items()}


def fill(bootstrap: str, records: int) -> None:
    with Producer(bootstrap, linger_ms=50) as producer:
        producer.send_many(TOPIC, [bytes(RECORD_SIZE)] * records)
