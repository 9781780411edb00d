"""What sharing an fsync is worth: fifty producers that each wait for the disk, against an fsync for each."""

import sys
import tempfile
from pathlib import Path

from bench import bare_files
from bench.figure import Figure
from bench.loads import run_load
from bench.our_node import COMMAND, OurNode
from bench.raw_client import RawClient
from distributedlog.records import encode_batch

PRODUCERS = 50
SLOW_FSYNC_MS = 2
ONE_AT_A_TIME = "one request after another, each with an fsync of its own, in the same run"
SETTINGS = {"log.flush": "ack"}


def collect(quick: bool) -> list[Figure]:
    slow = (sys.executable, "-m", "bench.slow_disk_node", str(SLOW_FSYNC_MS), "start")
    return [
        _figure("this disk", COMMAND, quick),
        _figure(f"an fsync of {SLOW_FSYNC_MS} ms more", slow, quick, bar=10),
        _bare_fsync(quick),
    ]


def _figure(disk: str, command: tuple[str, ...], quick: bool, bar: float | None = None) -> Figure:
    with tempfile.TemporaryDirectory() as directory, OurNode(directory, SETTINGS, command=command) as node:
        client = RawClient(node.bootstrap)
        client.create_topics({"acks": 1})
        client.close()

        def rate(connections: int) -> float:
            options = ("--connections", connections, "--seconds", 0.3 if quick else 4)
            return float(run_load("load_requests", node.bootstrap, "acks", *options)["requests_per_second"])

        rounds = [(rate(1), rate(PRODUCERS)) for _ in range(1 if quick else 2)]
    alone, together = (max(each) for each in zip(*rounds, strict=True))
    return Figure(
        f"flush=ack, {PRODUCERS} producers, {disk}",
        together,
        "requests/s",
        ceiling=alone,
        ceiling_is=ONE_AT_A_TIME,
        ratio_bar=bar,
    )


def _bare_fsync(quick: bool) -> Figure:
    batch = bytes(encode_batch([(1_700_000_000_000, None, bytes(100), ())]))
    count = 50 if quick else 2000
    with tempfile.TemporaryDirectory() as directory:
        seconds = bare_files.write_seconds(Path(directory) / "bare", batch, count, sync=True)
    return Figure("a bare write and fsync of this disk", seconds / count * 1e6, "µs", higher_is_better=False)
