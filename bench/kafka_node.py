"""Apache Kafka as a process, from the jars that `make peers` fetches, and Kafka's own load tools.

It runs as its own start script runs it: the G1 collector, a heap of 1 GiB, KRaft with broker and controller
in one process, and everything about durability and batching at its defaults.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

JARS = Path(__file__).parents[1] / ".peers" / "kafka"
BROKER_JAVA = ("java", "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
               "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
               "-Djava.awt.headless=true")  # fmt: skip
TOOL_JAVA = ("java", "-Xmx512M", "-Djava.awt.headless=true")
START_SECONDS_MAX = 90
_CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
_TOOLS = "org.apache.kafka.tools"


def is_available() -> bool:
    """Whether there are a Java and Kafka's jars."""
    return shutil.which("java") is not None and any(JARS.glob("kafka-tools-*.jar"))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class KafkaNode:
    """Started when made; `stop` it."""

    name = "Apache Kafka"

    def __init__(self, directory: str, settings: dict[str, str] | None = None) -> None:
        root = Path(directory)
        port, controller_port = _free_port(), _free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "log.dirs": str(root / "logs"),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **(settings or {}),
        }
        file = root / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        class_path = ("-cp", f"{JARS}/*")
        #: From nothing, as ours: a directory has to be formatted by a command of its own first.
        self.started = time.perf_counter()
        format_directory = ("kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", str(file))
        subprocess.run([*TOOL_JAVA, *class_path, *format_directory], check=True, capture_output=True)
        self._output = (root / "output.txt").open("wb")
        self.process = subprocess.Popen(
            [*BROKER_JAVA, *class_path, "kafka.Kafka", str(file)], stdout=self._output, stderr=self._output
        )
        while not self._listens():
            if self.process.poll() is not None or time.perf_counter() - self.started > START_SECONDS_MAX:
                self.stop()
                raise RuntimeError(f"Kafka did not start: {(root / 'output.txt').read_text()[-2000:]}")
            time.sleep(0.01)

    def _listens(self) -> bool:
        host, _, port = self.bootstrap.partition(":")
        try:
            with socket.create_connection((host, int(port)), timeout=1):
                return True
        except OSError:
            return False

    def resident_memory_mb(self) -> float:
        return resident_memory_mb(self.process.pid)

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def resident_memory_mb(pid: int) -> float:
    with open(f"/proc/{pid}/statm", "rb") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


_PRODUCED = re.compile(r"(\d+) records sent, ([\d.]+) records/sec")


def producer_performance(bootstrap: str, topic: str, records: int, record_size: int, acks: str) -> float:
    """Records a second that Kafka's ProducerPerformance gets, batching at the Java client's defaults."""
    done = _tool(
        "ProducerPerformance", "--topic", topic, "--num-records", str(records), "--record-size",
        str(record_size), "--throughput", "-1", "--producer-props", f"bootstrap.servers={bootstrap}",
        f"acks={acks}",
    )  # fmt: skip
    totals = _PRODUCED.findall(done)
    if not totals or int(totals[-1][0]) != records:
        raise RuntimeError(f"ProducerPerformance did not send everything: {done[-2000:]}")
    return float(totals[-1][1])


def consumer_performance(bootstrap: str, topic: str, records: int) -> float:
    """Records a second that Kafka's ConsumerPerformance fetches, without the time to join the group."""
    done = _tool(
        "ConsumerPerformance", "--bootstrap-server", bootstrap, "--topic", topic,
        "--num-records", str(records), "--timeout", "60000",
    )  # fmt: skip
    header, values = (line.split(", ") for line in done.strip().splitlines()[-2:])
    row = dict(zip(header, values, strict=True))
    if int(row["data.consumed.in.nMsg"]) < records:
        raise RuntimeError(f"ConsumerPerformance did not read everything: {done[-2000:]}")
    return float(row["fetch.nMsg.sec"])


def _tool(name: str, *arguments: str) -> str:
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [*TOOL_JAVA, "-cp", f"{JARS}/*", f"{_TOOLS}.{name}", *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            cwd=directory,
        )
    if done.returncode:
        raise RuntimeError(f"{name} failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout
