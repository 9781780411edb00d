"""The producer beside other producers of Python: one broker, one run, 100-byte records, `acks=all`."""

import asyncio
import subprocess
import sys
import tempfile

from bench.figure import Figure
from bench.loads import run_load
from bench.our_node import OurNode
from distributedlog.client import ClusterClient
from distributedlog.client.topics import create_topic

ROUNDS = 3
RETENTION_BYTES = 256 * 1024 * 1024
IMPORT_MS_MAX = 60.0

Rates = dict[str, float]


def collect(quick: bool = False) -> list[Figure]:
    """All figures of the producer; ``quick`` only shows that they can be measured."""
    with tempfile.TemporaryDirectory() as directory, OurNode(directory) as node:
        rates, latencies = measure(node.bootstrap, quick)
    return [
        against("send, each with its future", rates, "ours", "aiokafka", 1.5),
        against("send, each with its future", rates, "ours", "kafka_python", 5.0),
        against("send of AsyncProducer", rates, "ours_async", "aiokafka", 1.5),
        against("send_table", rates, "table", "confluent", 5.0),
        Figure(
            "one record produced and acknowledged, p50",
            latencies["ours_latency"],
            "ms",
            ceiling=latencies["confluent_latency"],
            ceiling_is="confluent-kafka",
            ratio_bar=1.0,
            higher_is_better=False,
        ),
        Figure(
            "import of distributedlog",
            min(import_ms("import distributedlog") for _ in range(1 if quick else 5)),
            "ms",
            bar=IMPORT_MS_MAX,
            higher_is_better=False,
        ),
        Figure(
            "import of distributedlog and its Producer",
            min(import_ms("from distributedlog import Producer") for _ in range(1 if quick else 5)),
            "ms",
            higher_is_better=False,
        ),
    ]


def measure(bootstrap: str, quick: bool) -> tuple[Rates, Rates]:
    """The best of some rounds in turns, so that what else the machine does hits all alike."""
    counts = {"ours": 300_000, "ours_async": 300_000, "table": 1_000_000, "aiokafka": 150_000}
    counts |= {"kafka_python": 60_000, "confluent": 500_000}
    rates: Rates = {}
    latencies: Rates = {}
    for number in range(1 if quick else ROUNDS):
        for action, count in counts.items():
            topic = made(bootstrap, f"{action}-{number}")
            result = run_load("load_producers", action, bootstrap, topic, 1000 if quick else count)
            rates[action] = max(rates.get(action, 0.0), result["records_per_second"])
        for action in ("ours_latency", "confluent_latency"):
            topic = made(bootstrap, f"{action}-{number}")
            result = run_load("load_producers", action, bootstrap, topic, 100 if quick else 2000)
            latencies[action] = min(latencies.get(action, float("inf")), result["p50_ms"])
    return rates, latencies


def made(bootstrap: str, name: str) -> str:
    async def work() -> None:
        async with ClusterClient(bootstrap) as client:
            configs = {"retention.bytes": str(RETENTION_BYTES), "segment.bytes": str(RETENTION_BYTES // 4)}
            await create_topic(client, name, partitions=1, configs=configs)

    asyncio.run(work())
    return name


def against(name: str, rates: Rates, our_action: str, other: str, bar: float) -> Figure:
    """Ours in records a second, and how many times the other's it is."""
    return Figure(
        f"{name}, against {other.replace('_', '-')}",
        rates[our_action],
        "records/s",
        ceiling=rates[other],
        ceiling_is=f"{other.replace('_', '-')} in the same run",
        ratio_bar=bar,
    )


def import_ms(statement: str) -> float:
    code = f"import time; begun = time.perf_counter(); {statement}; print(time.perf_counter() - begun)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout) * 1e3


if __name__ == "__main__":
    for figure in collect("--quick" in sys.argv):
        print(figure.name, round(figure.value, 3), figure.unit, figure.ceiling, figure.ratio, figure.met)
