"""What a history says happened, put together in one pass: transactions, writes, and who read what.

The checks look at this and not at the events.
"""

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field

from tests.checkers.events import (
    Abort,
    Aborted,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    GroupOffsets,
    InvalidHistory,
    NotSent,
    Poll,
    Send,
    Sent,
    StableOffsets,
)

NEVER = float("inf")


@dataclass(slots=True, eq=False)
class Write:
    """A record that was handed to a producer; outside of a transaction an acknowledged one is committed."""

    partition: str
    value: str
    process: str
    time: int
    transaction: "Transaction | None"
    effect: str | None
    offset: int | None = None
    is_refused: bool = False
    #: Where readers found it, and when one who reads committed data first did.
    seen_at: list = field(default_factory=list)
    first_seen: float = NEVER

    @property
    def is_committed(self):
        """Surely committed: readers of committed data have to get it."""
        if self.transaction is None:
            return self.offset is not None or self.first_seen < NEVER
        return self.transaction.is_committed

    @property
    def places(self):
        """The offsets that are known of it."""
        return self.seen_at if self.offset is None else [self.offset, *self.seen_at]

    def __str__(self):
        where = f"{self.partition}@{self.offset}" if self.offset is not None else self.partition
        return (
            f"{self.value} of {self.transaction} ({where})" if self.transaction else f"{self.value} ({where})"
        )


@dataclass(slots=True, eq=False)
class Transaction:
    """`commit`, `committed`, `abort` and `aborted` are times: when it was asked for, and when it was
    answered.
    """

    name: str
    producer: str
    begun: int
    commit: float = NEVER
    committed: float = NEVER
    abort: float = NEVER
    aborted: float = NEVER
    writes: list = field(default_factory=list)
    offsets: list = field(default_factory=list)
    first_seen: float = NEVER

    @property
    def is_committed(self):
        """Acknowledged, or seen by a reader of committed data after the commit was asked for."""
        if self.is_aborted:
            return False
        return self.committed < NEVER or self.commit <= self.first_seen < NEVER

    @property
    def is_aborted(self):
        """It cannot have been committed: it was aborted, or nobody ever asked for the commit."""
        return self.aborted < NEVER or self.commit == NEVER

    def __str__(self):
        return f"transaction {self.name}"


@dataclass(slots=True)
class Reading:
    """One process's way through one partition from an assignment to the next."""

    process: str
    partition: str
    is_read_committed: bool
    start: int | None
    #: (poll event, its records of this partition)
    polls: list = field(default_factory=list)

    @property
    def interval(self):
        """The offsets that were passed: from the start up to behind the last record."""
        if not self.polls:
            return None
        start = self.polls[0][1][0][0] if self.start is None else self.start
        return start, max(offset for offset, _ in self.polls[-1][1]) + 1


class World:
    """All that a history says."""

    def __init__(self, history):
        self.transactions = {}
        self.writes = {}
        self.readings = []
        self.stable_offsets = []
        self.group_offsets = []
        #: {(partition, offset): {value: time}}, from acknowledgements and polls.
        self.values_at = defaultdict(dict)
        #: Values that nobody sent: (partition, offset, value, time).
        self.phantoms = []
        self.polls_in_transactions = []
        self._open_readings = {}
        self._isolation = {}
        for event in sorted(history, key=lambda event: event.time):
            _HANDLERS[type(event)](self, event)
        self._visible = {True: self._offsets(committed_only=True), False: self._offsets(committed_only=False)}
        self._passed = self._merge_intervals()

    # what the checks ask

    def visible_between(self, partition, low, high, *, is_read_committed):
        """The first offset in (low, high) that such a reader had to get; None where there is none."""
        offsets = self._visible[is_read_committed].get(partition, ())
        place = bisect_right(offsets, low)
        return offsets[place] if place < len(offsets) and offsets[place] < high else None

    def was_passed(self, partition, offset):
        """Whether anybody who reads committed data read beyond this offset, having begun before it."""
        starts, ends = self._passed.get(partition, ((), ()))
        place = bisect_right(starts, offset) - 1
        return place >= 0 and offset < ends[place]

    # what the events say

    def _transaction(self, name):
        try:
            return self.transactions[name]
        except KeyError:
            raise InvalidHistory(f"transaction {name!r} was never begun") from None

    def _write(self, event):
        write = self.writes.get(event.value)
        if write is None or write.partition != event.partition:
            raise InvalidHistory(f"{event.value!r} was never sent to {event.partition}")
        return write

    def _begin(self, event):
        if event.transaction in self.transactions:
            raise InvalidHistory(f"transaction {event.transaction!r} was begun twice")
        producer = event.producer or event.process
        self.transactions[event.transaction] = Transaction(event.transaction, producer, event.time)

    def _send(self, event):
        if event.value in self.writes:
            raise InvalidHistory(f"{event.value!r} was sent twice: values have to be unique")
        transaction = None if event.transaction is None else self._transaction(event.transaction)
        write = Write(event.partition, event.value, event.process, event.time, transaction, event.effect)
        self.writes[event.value] = write
        if transaction is not None:
            transaction.writes.append(write)

    def _sent(self, event):
        self._write(event).offset = event.offset
        self.values_at[event.partition, event.offset].setdefault(event.value, event.time)

    def _not_sent(self, event):
        self._write(event).is_refused = True

    def _commit_offsets(self, event):
        self._transaction(event.transaction).offsets.append(event)

    def _commit(self, event):
        self._transaction(event.transaction).commit = event.time

    def _committed(self, event):
        self._transaction(event.transaction).committed = event.time

    def _abort(self, event):
        self._transaction(event.transaction).abort = event.time

    def _aborted(self, event):
        self._transaction(event.transaction).aborted = event.time

    def _assign(self, event):
        self._isolation[event.process] = event.is_read_committed
        for key in [key for key in self._open_readings if key[0] == event.process]:
            del self._open_readings[key]
        for partition, start in event.positions.items():
            self._open_reading(event.process, partition, start)

    def _open_reading(self, process, partition, start):
        reading = Reading(process, partition, self._isolation.get(process, True), start)
        self._open_readings[process, partition] = reading
        self.readings.append(reading)
        return reading

    def _poll(self, event):
        is_read_committed = self._isolation.get(event.process, True)
        if event.transaction is not None:
            self.polls_in_transactions.append(event)
        for partition, records in event.records.items():
            if not records:
                continue
            reading = self._open_readings.get((event.process, partition))
            if reading is None:
                reading = self._open_reading(event.process, partition, None)
            reading.polls.append((event, records))
            for offset, value in records:
                self._see(event.time, partition, offset, value, is_read_committed)

    def _see(self, time, partition, offset, value, is_read_committed):
        self.values_at[partition, offset].setdefault(value, time)
        write = self.writes.get(value)
        if write is None or write.partition != partition:
            self.phantoms.append((partition, offset, value, time))
            return
        if offset not in write.seen_at:
            write.seen_at.append(offset)
        if is_read_committed and time < write.first_seen:
            write.first_seen = time
            transaction = write.transaction
            if transaction is not None and time < transaction.first_seen:
                transaction.first_seen = time

    def _stable_offsets(self, event):
        self.stable_offsets.append(event)

    def _group_offsets(self, event):
        self.group_offsets.append(event)

    # what follows from it

    def _offsets(self, *, committed_only):
        found = defaultdict(set)
        for write in self.writes.values():
            if write.is_committed if committed_only else write.offset is not None or write.seen_at:
                found[write.partition].update(write.places)
        return {partition: sorted(offsets) for partition, offsets in found.items()}

    def _merge_intervals(self):
        intervals = defaultdict(list)
        for reading in self.readings:
            if reading.is_read_committed and reading.polls:
                intervals[reading.partition].append(reading.interval)
        merged = {}
        for partition, found in intervals.items():
            starts, ends = [], []
            for start, end in sorted(found):
                if starts and start <= ends[-1]:
                    ends[-1] = max(ends[-1], end)
                else:
                    starts.append(start)
                    ends.append(end)
            merged[partition] = starts, ends
        return merged


_HANDLERS = {
    Begin: World._begin,
    Send: World._send,
    Sent: World._sent,
    NotSent: World._not_sent,
    CommitOffsets: World._commit_offsets,
    Commit: World._commit,
    Committed: World._committed,
    Abort: World._abort,
    Aborted: World._aborted,
    Assign: World._assign,
    Poll: World._poll,
    StableOffsets: World._stable_offsets,
    GroupOffsets: World._group_offsets,
}  # fmt: skip
