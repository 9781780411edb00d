"""Clients of other languages, each behind a program that `make peers` makes (`peers/java`, `go`, `node`).

All programs take the same words: ``PROGRAM ACTION BOOTSTRAP TOPIC …``, and answer in lines of JSON.

produce CODEC       records from standard input, a line each; tells partition and offset of each
consume COUNT       so many records from the beginning
group GROUP COUNT   the same as a member of a group, which then commits and leaves
admin               makes the topic, asks for and changes its settings, adds partitions, deletes it
"""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from kafka_peer import JARS, JAVA, PeerMissing

PEERS = JARS.parent
NODE_PROGRAMS = Path(__file__).parents[2] / "peers" / "node"
SECONDS_MAX = 120
EVERY_CODEC = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class Program:
    name: str
    #: Without this tool of the machine it is left out.
    tool: str
    command: tuple[str, ...]
    #: There when `make peers` has made it.
    made: Path
    codecs: tuple[str, ...] = EVERY_CODEC

    def __str__(self):
        return self.name

    def run(self, action, bootstrap, topic, *arguments, records=()):
        """What it told, each line's object."""
        done = subprocess.run(
            [*self.command, action, bootstrap, topic, *map(str, arguments)],
            input="".join(json.dumps(record) + "\n" for record in records),
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            env={**os.environ, "NODE_PACKAGES": str(PEERS / "node")},
            check=False,
        )
        assert done.returncode == 0, f"{self.name} {action} failed:\n{done.stdout}{done.stderr}"
        return [json.loads(line) for line in done.stdout.splitlines()]


_JAVA_PATH = f"{PEERS / 'java'}{os.pathsep}{JARS}/*"
JAVA_CLIENT = Program(
    "java", "java", (*JAVA[:-2], "-cp", _JAVA_PATH, "JavaClient"), PEERS / "java" / "JavaClient.class"
)
ALL = (
    JAVA_CLIENT,
    Program("franz-go", "go", (str(PEERS / "go" / "franz"),), PEERS / "go" / "franz"),
    Program("sarama", "go", (str(PEERS / "go" / "sarama"),), PEERS / "go" / "sarama"),
    Program(
        # Its other codecs are packages of other people.
        "kafkajs", "node", ("node", str(NODE_PROGRAMS / "kafkajs.js")),
        PEERS / "node" / "node_modules" / "kafkajs", codecs=("none", "gzip"),
    ),
)  # fmt: skip
LEFT_OUT = tuple(program for program in ALL if shutil.which(program.tool) is None)
PROGRAMS = tuple(program for program in ALL if program not in LEFT_OUT)


def require():
    for program in PROGRAMS:
        if not program.made.exists():
            raise PeerMissing(f"{program.name} is not in {program.made}; `make peers` fetches it")
