"""Apache Kafka itself, from the jars that `make peers` has put into .peers/kafka."""

import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

JARS = Path(__file__).parents[2] / ".peers" / "kafka"
JAVA = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512m", "-cp", f"{JARS}/*"]
START_SECONDS_MAX = 60
RECORD_LINE = re.compile(
    r"\| offset: (?P<offset>\d+) (?P<kind>CreateTime|LogAppendTime): (?P<timestamp>-?\d+) "
    r"keySize: (?P<key_size>-?\d+) valueSize: (?P<value_size>-?\d+) "
    r"sequence: (?P<sequence>-?\d+) headerKeys: \[(?P<header_keys>.*?)\]"
    r"(?: endTxnMarker: (?P<marker>\w+) coordinatorEpoch: \d+)?"
    r"(?: key: (?P<key>.*?))?(?: payload: (?P<payload>.*))?"
)


class PeerMissing(Exception):
    """What has to be installed or fetched first."""


def require():
    if shutil.which("java") is None:
        raise PeerMissing("the peer tests need Java 17 or later; this machine has no `java` on its path")
    if not list(JARS.glob("kafka-tools-*.jar")):
        raise PeerMissing(f"Apache Kafka is not in {JARS}; `make peers` fetches it")


@dataclass(frozen=True)
class DumpedRecord:
    offset: int
    timestamp: int
    key: str | None
    value: str | None
    header_keys: tuple[str, ...]
    marker: str | None


def dump_log_segments(directory, *options):
    """Kafka's own reading of a partition directory: its output and its complaints."""
    suffixes = (".log", ".index", ".timeindex", ".snapshot", ".txnindex")
    files = sorted(path for path in Path(directory).iterdir() if path.suffix in suffixes)
    return subprocess.run(
        [*JAVA, "org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log",
         "--files", ",".join(map(str, files)), *options],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


def complaints(dumped):
    """The lines of a dump in which Kafka says that something is wrong.

    For every segment but the first it says that its first offset is not consecutive to -1; that is an
    oddity of the tool, which begins counting anew in each file.
    """
    lines = []
    if dumped.returncode:
        lines.append(f"exit code {dumped.returncode}")
    for line in dumped.stderr.splitlines():
        if line and not line.startswith("Non-consecutive offsets in ") and "-1 is followed by" not in line:
            lines.append(line)
    lines += [line for line in dumped.stdout.splitlines() if "isvalid: false" in line or "Found " in line]
    return lines


def dumped_records(output):
    records = []
    for line in output.splitlines():
        if line.startswith("| offset: "):
            match = RECORD_LINE.fullmatch(line)
            assert match, line
            header_keys = tuple(filter(None, match["header_keys"].split(",")))
            records.append(
                DumpedRecord(
                    int(match["offset"]), int(match["timestamp"]), match["key"], match["payload"],
                    header_keys, match["marker"],
                )
            )  # fmt: skip
    return records


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class KafkaBroker:
    """One node that is broker and controller at once, on free loopback ports."""

    def __init__(self, directory: Path, **config):
        self.directory = directory
        self.log_directory = directory / "logs"
        self.output_path = directory / "output.txt"
        self.port = free_port()
        controller_port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self.process = None
        directory.mkdir(parents=True, exist_ok=True)
        self._properties = directory / "server.properties"
        properties = {
            "process.roles": "broker,controller",
            "node.id": 1,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "log.dirs": self.log_directory,
            "offsets.topic.replication.factor": 1,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": 1,
            "transaction.state.log.min.isr": 1,
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            "log.segment.bytes": 1024 * 1024,
            **{name.replace("_", "."): value for name, value in config.items()},
        }
        self._properties.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
        if not (self.log_directory / "meta.properties").exists():
            self._java("kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c",
                       str(self._properties))  # fmt: skip

    def _java(self, *arguments):
        done = subprocess.run([*JAVA, *arguments], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode:
            raise RuntimeError(f"{arguments[0]} failed:\n{done.stdout}{done.stderr}")

    def start(self):
        with open(self.output_path, "ab") as output:
            self.process = subprocess.Popen(
                [*JAVA, "kafka.Kafka", str(self._properties)], stdout=output, stderr=output
            )
        deadline = time.monotonic() + START_SECONDS_MAX
        while not self._answers():
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"Kafka did not start:\n{self.output_path.read_text()[-5000:]}")
            threading.Event().wait(0.1)

    def _answers(self):
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                pass
            return bool(AdminClient({"bootstrap.servers": self.bootstrap}).list_topics(timeout=5).brokers)
        except (OSError, KafkaException):
            return False

    def stop(self):
        """A clean stop, as a service manager would do it."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(timeout=60)

    def kill(self):
        if self.process is not None and self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait(timeout=60)

    def create_topic(self, name, **config):
        from confluent_kafka.admin import AdminClient, NewTopic

        topic = NewTopic(name, 1, 1, config={key.replace("_", "."): str(v) for key, v in config.items()})
        admin = AdminClient({"bootstrap.servers": self.bootstrap})  # it cancels its work when it goes away
        admin.create_topics([topic])[name].result(timeout=30)

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        finally:
            self.kill()
