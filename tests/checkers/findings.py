"""What a history may have that it must not, by the names that Jepsen's tests of Kafka gave it."""

import enum
from dataclasses import dataclass


class Anomaly(enum.Enum):
    LOST_WRITE = "a committed record that nobody saw although somebody read beyond it"
    ABORTED_READ = "a reader of committed data saw a record that was never committed (G1a)"
    EARLY_READ = "a reader of committed data saw a record before its commit was asked for"
    PHANTOM = "a record that nobody sent, or that was refused"
    DUPLICATE = "one value at two offsets, or one effect by two visible records"
    INCONSISTENT_OFFSETS = "two values at one offset"
    POLL_SKIP = "a reader went on behind a record that it should have got"
    INTERNAL_POLL_SKIP = "a reader was not given such a record in the middle of a poll"
    NONMONOTONIC_POLL = "a reader went back"
    INTERNAL_NONMONOTONIC_POLL = "a reader was taken back in the middle of a poll"
    NONMONOTONIC_SEND = "a producer's records lie in another order than it sent them in"
    INTERNAL_NONMONOTONIC_SEND = "a transaction's records lie in another order than it sent them in"
    UNSEEN = "a committed record that nobody ever saw, and nobody read beyond it"
    CIRCULAR_FLOW = "transactions that have each read what the others wrote (G1c)"
    TORN_TRANSACTION = "a part of a transaction became visible, and another did not"
    ABORTED_OFFSETS = "a group was told offsets that were never committed"
    STALE_OFFSETS = "a group was told older offsets than those it had committed"


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` says where; `times` are those of the events that show it."""

    anomaly: Anomaly
    text: str
    times: tuple[int, ...] = ()

    def __str__(self):
        return f"{self.anomaly.name}: {self.text}"
