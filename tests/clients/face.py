"""What tests ask of a client library, whichever it is: a record in, a record out, a member of a group.

Each library has a module with ``produce``, ``consume``, ``offset_for_time`` and ``Member``
(`confluent_client`, `aiokafka_client`, `kafka_python_client`); `CLIENTS` has them by name. Whatever has no
common face (administration, statistics) is tested with the library's own in files of its own.
"""

import time
from dataclasses import dataclass, field

DEADLINE_SECONDS = 60
#: Short, so that groups notice changes soon.
HEARTBEAT_MS = 100
SESSION_TIMEOUT_MS = 6_000
RETRY_MS = 20


class Refused(Exception):
    """The broker said no; with Kafka's number of the error."""

    def __init__(self, code, text=""):
        super().__init__(f"error {code} {text}")
        self.code = code


@dataclass(frozen=True)
class Record:
    """What is given to a producer. Without a timestamp it takes the time of sending."""

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None


@dataclass(frozen=True)
class Consumed:
    """What a consumer gives."""

    offset: int
    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp_ms: int | None = None
    is_append_time: bool = False

    def as_record(self):
        return Record(self.value, self.key, self.headers, self.timestamp_ms)


@dataclass(frozen=True)
class Membership:
    """How a member takes part in a group. `pattern` is a subscription in place of `topics`."""

    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    assignor: str | None = None
    instance_id: str | None = None
    session_timeout_ms: int = SESSION_TIMEOUT_MS
    #: KIP-848, and which assignor of the broker's; only confluent-kafka knows it.
    is_new_protocol: bool = False


@dataclass
class Seen:
    """What a member noticed: how often it was given partitions, and the records it read."""

    assignments: int = 0
    records: list[tuple[str, int, int, bytes]] = field(
        default_factory=list
    )  # topic, partition, offset, value

    def values(self):
        return [value for *_, value in self.records]


def until(condition, *members):
    """Let the members turn until the condition holds."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        for member in members:
            member.turn()
