"""Every way of being a member of a group: a library, one of its assignors, and the protocol."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from tests.clients import distributedlog_client
from tests.clients.clients import CLIENTS
from tests.clients.face import Membership, until

MEMBERS = {**CLIENTS, "distributedlog": distributedlog_client}
ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Kind:
    library: str
    assignor: str
    is_new_protocol: bool = False

    def __str__(self):
        return f"{self.library}-{'kip-848-' if self.is_new_protocol else ''}{self.assignor}"

    @property
    def joins_in_two_steps(self):
        """Cooperative assignors first let partitions go and give them away in another rebalance (KIP-429)."""
        return self.assignor == "cooperative-sticky"

    def membership(self, group, *topics, **more):
        return Membership(group, topics, assignor=self.assignor, is_new_protocol=self.is_new_protocol, **more)


KINDS = [
    Kind("confluent-kafka", "range"),
    Kind("confluent-kafka", "roundrobin"),
    Kind("confluent-kafka", "cooperative-sticky"),
    Kind("confluent-kafka", "uniform", is_new_protocol=True),
    Kind("confluent-kafka", "range", is_new_protocol=True),
    Kind("aiokafka", "range"),
    Kind("aiokafka", "roundrobin"),
    Kind("aiokafka", "sticky"),
    Kind("kafka-python", "range"),
    Kind("kafka-python", "roundrobin"),
    Kind("kafka-python", "cooperative-sticky"),
    Kind("distributedlog", "range"),
    Kind("distributedlog", "roundrobin"),
    Kind("distributedlog", "sticky"),
    Kind("distributedlog", "cooperative-sticky"),
    Kind("distributedlog", "uniform", is_new_protocol=True),
    Kind("distributedlog", "range", is_new_protocol=True),
]
#: One for each library and protocol, where the assignor is not what matters.
KINDS_OF_CLIENTS = [
    Kind("confluent-kafka", "range"),
    Kind("confluent-kafka", "cooperative-sticky"),
    Kind("confluent-kafka", "uniform", is_new_protocol=True),
    Kind("aiokafka", "range"),
    Kind("kafka-python", "range"),
    Kind("kafka-python", "cooperative-sticky"),
    Kind("distributedlog", "range"),
    Kind("distributedlog", "cooperative-sticky"),
    Kind("distributedlog", "uniform", is_new_protocol=True),
]
#: One for each library, and one of KIP-848.
KINDS_OF_LIBRARIES = [kind for kind in KINDS_OF_CLIENTS if not kind.joins_in_two_steps]
of_every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
of_every_client = pytest.mark.parametrize("kind", KINDS_OF_CLIENTS, ids=str)
of_every_library = pytest.mark.parametrize("kind", KINDS_OF_LIBRARIES, ids=str)


@contextmanager
def membership_of(bootstrap, kind, membership):
    """A member that is closed in the end, unless the test has closed it."""
    member = MEMBERS[kind.library].Member(bootstrap, membership)
    try:
        yield member
    finally:
        member.close()


@contextmanager
def member_process(bootstrap, kind, membership):
    """A member in a process of its own, that may be killed; its partitions are printed when they change."""
    arguments = [MEMBERS[kind.library].__name__, bootstrap, json.dumps(asdict(membership))]
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests" / "support")))
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.clients.member_process", *arguments],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )
    os.set_blocking(process.stdout.fileno(), False)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def share_out(partitions, *members):
    """Let the members turn until they have all the partitions among them, each its own, and none is idle."""

    def is_shared():
        held = [member.partitions for member in members]
        return (
            all(held)
            and set().union(*held) == partitions
            and sum(map(len, held)) == len(partitions)
            and all(member.assignments for member in members)
        )

    until(is_shared, *members)


def go_on(*members):
    """Some heartbeats long: whatever else would happen, happens."""
    for _ in range(10):
        for member in members:
            member.turn()
