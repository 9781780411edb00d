"""From the command to the first acknowledged record, and what an idle node holds in memory."""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any

from bench.figure import Figure
from distributedlog.records import encode_batch
from distributedlog.wire import decode_response, encode_request
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic

COMMAND = (sys.executable, "-m", "distributedlog.cli.main", "start")
PRODUCE, METADATA = 0, 3


class Node:
    """``dlog start`` as a process, and one connection to it."""

    def __init__(self, directory: str) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [*COMMAND, "--data", directory, "--listen", "127.0.0.1:0", "--set", "console.level=error"],
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        match = re.search(rb":(\d+)\s*$", line)
        if match is None:
            raise RuntimeError(f"the node did not start: {line!r}")
        self.ready = time.perf_counter()
        self._socket = socket.create_connection(("127.0.0.1", int(match[1])))

    def resident_memory_mb(self) -> float:
        with open(f"/proc/{self._process.pid}/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def produce_one(self, topic: str) -> float:
        """Have the topic made, append one record with acks=all; the moment of its acknowledgement."""
        request = MetadataRequest([MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
        while self._ask(METADATA, 9, request).topics[0].error_code:
            pass
        batch = bytes(encode_batch([(1_700_000_000_000, b"key", b"value", ())]))
        data = TopicProduceData(topic, partition_data=[PartitionProduceData(0, batch)])
        response = self._ask(PRODUCE, 9, ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data]))
        acknowledged = time.perf_counter()
        if response.responses[0].partition_responses[0].error_code:
            raise RuntimeError(f"the record was not taken: {response}")
        return acknowledged

    def _ask(self, api_key: int, version: int, message: Any) -> Any:
        self._socket.sendall(encode_request(api_key, version, 1, "bench", message))
        with self._socket.makefile("rb") as stream:
            size = int.from_bytes(stream.read(4))
            return decode_response(api_key, version, stream.read(size))[1]

    def stop(self) -> float:
        """Seconds from the signal to the end."""
        self._socket.close()
        start = time.perf_counter()
        self._process.terminate()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return time.perf_counter() - start


def interpreter_seconds() -> float:
    """What a process that does nothing costs."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    return time.perf_counter() - start


def collect(quick: bool) -> list[Figure]:
    ready, first, idle, after, stopped = [], [], [], [], []
    for _ in range(1 if quick else 7):
        with tempfile.TemporaryDirectory() as directory:
            node = Node(directory)
            idle.append(node.resident_memory_mb())
            first.append(node.produce_one("first") - node.started)
            ready.append(node.ready - node.started)
            after.append(node.resident_memory_mb())
            stopped.append(node.stop())
    bare = min(interpreter_seconds() for _ in range(1 if quick else 7))
    nothing = "a Python process that does nothing"
    lower: dict[str, Any] = {"higher_is_better": False}
    return [
        Figure(
            "command to ready line", min(ready) * 1e3, "ms", ceiling=bare * 1e3, ceiling_is=nothing, **lower
        ),
        Figure("command to first acknowledged record", min(first) * 1e3, "ms", bar=500, **lower),
        Figure("idle memory", min(idle), "MB", bar=60, **lower),
        Figure("memory after the first record", min(after), "MB", bar=60, **lower),
        Figure("SIGTERM to the end", min(stopped) * 1e3, "ms", **lower),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    for figure in collect(parser.parse_args().quick):
        print(f"{figure.name:40} {figure.value:8.1f} {figure.unit}")
