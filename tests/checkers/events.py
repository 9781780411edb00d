"""What a run writes down: one event for each thing that a client asked, was told, or saw.

Times are nanoseconds of one clock that all processes of the run share. An event about a question that waits
for an answer is written twice: before it is asked (`Send`, `Commit`, `Abort`), and when the answer is there
(`Sent`, `Committed`, `Aborted`). What was asked and never answered may have happened or not. Reading has
one event, when it is done, and says `since` when it was under way.

Values are unique in a history. A partition is a name of its own, as ``accounts-0``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class InvalidHistory(ValueError):
    """What was written down cannot have been meant: the recorder is wrong, not the broker."""


@dataclass(frozen=True, slots=True)
class Event:
    """`process` is whoever wrote it down: one thread of work, with one thing after the other."""

    time: int
    process: str


@dataclass(frozen=True, slots=True)
class Begin(Event):
    """A transaction begins; `producer` is its transactional id, whichever process holds it."""

    transaction: str
    producer: str = ""


@dataclass(frozen=True, slots=True)
class Send(Event):
    """A record is handed to the producer. `effect` names what it stands for, where that may be tried again
    with another value: only one of these may come to be visible."""

    partition: str
    value: str
    transaction: str | None = None
    effect: str | None = None


@dataclass(frozen=True, slots=True)
class Sent(Event):
    """The record was acknowledged."""

    partition: str
    value: str
    offset: int


@dataclass(frozen=True, slots=True)
class NotSent(Event):
    """The record was refused: nothing of it can be in the log. Where that is not sure, nothing is written."""

    partition: str
    value: str


@dataclass(frozen=True, slots=True)
class CommitOffsets(Event):
    """A group's next offsets are handed to the transaction."""

    transaction: str
    group: str
    offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Commit(Event):
    """The transaction is about to be committed."""

    transaction: str


@dataclass(frozen=True, slots=True)
class Committed(Event):
    transaction: str


@dataclass(frozen=True, slots=True)
class Abort(Event):
    """The transaction is about to be aborted."""

    transaction: str


@dataclass(frozen=True, slots=True)
class Aborted(Event):
    """The transaction was aborted, or is known never to have been committed."""

    transaction: str


@dataclass(frozen=True, slots=True)
class Assign(Event):
    """From here on the process reads these partitions, from these offsets (None where it is not known)."""

    positions: Mapping[str, int | None]
    is_read_committed: bool = True


@dataclass(frozen=True, slots=True)
class Poll(Event):
    """Records that one poll returned, by partition: offset and value. `transaction` is the one within which
    they are read, if what is read there goes into what is written."""

    since: int
    records: Mapping[str, Sequence[tuple[int, str]]]
    transaction: str | None = None


@dataclass(frozen=True, slots=True)
class StableOffsets(Event):
    """How far partitions could be read by readers of committed data."""

    since: int
    offsets: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class GroupOffsets(Event):
    """The offsets that a group was told it had committed, none of them pending; -1 for none."""

    since: int
    group: str
    offsets: Mapping[str, int] = field(default_factory=dict)


EVENT_TYPES = (
    Begin, Send, Sent, NotSent, CommitOffsets, Commit, Committed, Abort, Aborted, Assign, Poll,
    StableOffsets, GroupOffsets,
)  # fmt: skip
