"""Histories of a system that makes no mistake: a model of a log with transactions, and processes that use it.

The processes take turns at random, with a seed, so that everything overlaps that may: commits with polls,
markers of one partition with readers of another, crashes with all of it.
"""

from dataclasses import dataclass, field
from random import Random

from tests.checkers.events import (
    Abort,
    Aborted,
    Assign,
    Begin,
    Commit,
    CommitOffsets,
    Committed,
    GroupOffsets,
    Poll,
    Send,
    Sent,
    StableOffsets,
)

GROUP = "workers"
INPUT, OUTPUT = "in-0", ("out-0", "out-1", "out-2")


@dataclass
class _Open:
    """A transaction in the model."""

    name: str
    first_offsets: dict = field(default_factory=dict)
    offsets: dict = field(default_factory=dict)


class Model:
    """Partitions with their last stable offsets, a group's offsets, and what was written down."""

    def __init__(self, seed):
        self.random = Random(seed)
        self.history = []
        self.time = 0
        self.logs = {partition: [] for partition in (INPUT, *OUTPUT)}  # value or None (a marker), transaction
        self.open = []
        self.aborted = set()
        self.group_offsets = {INPUT: 0}
        self.value_count = 0

    def record(self, kind, process, *arguments, **named):
        self.history.append(kind(self.now(), process, *arguments, **named))

    def now(self):
        self.time += 1
        return self.time

    def new_value(self):
        self.value_count += 1
        return f"v{self.value_count}"

    def append(self, partition, value, transaction):
        log = self.logs[partition]
        log.append((value, transaction.name))
        transaction.first_offsets.setdefault(partition, len(log) - 1)
        return len(log) - 1

    def stable_offset(self, partition):
        first = [each.first_offsets[partition] for each in self.open if partition in each.first_offsets]
        return min(first, default=len(self.logs[partition]))

    def end(self, transaction, *, is_committed):
        """The markers go to one partition after the other; between them others have their turn."""
        if not is_committed:
            self.aborted.add(transaction.name)
        for partition in self.random.sample(
            sorted(transaction.first_offsets), len(transaction.first_offsets)
        ):
            del transaction.first_offsets[partition]
            self.logs[partition].append((None, transaction.name))
            yield
        if is_committed:
            self.group_offsets.update(transaction.offsets)
        self.open.remove(transaction)

    def read(self, partition, start, count_max):
        """Committed records from `start` on, and where to go on."""
        found, offset, end = [], start, self.stable_offset(partition)
        while offset < end and len(found) < count_max:
            value, name = self.logs[partition][offset]
            if value is not None and name not in self.aborted:
                found.append((offset, value))
            offset += 1
        return found, offset

    # who uses it

    def producer(self, process, transactions, partitions):
        for number in range(transactions):
            transaction = _Open(f"{process}/{number}")
            self.open.append(transaction)
            self.record(Begin, process, transaction.name)
            yield
            for _ in range(self.random.randrange(1, 6)):
                yield from self.send(process, transaction, self.random.choice(partitions))
            yield from self.finish(process, transaction)

    def send(self, process, transaction, partition, effect=None):
        value = self.new_value()
        self.record(Send, process, partition, value, transaction.name, effect)
        yield
        offset = self.append(partition, value, transaction)
        yield
        self.record(Sent, process, partition, value, offset)

    def finish(self, process, transaction):
        """Commit, abort, or go down in the middle of it; whether it was committed."""
        what = self.random.choices(
            ("commit", "abort", "lost commit", "lost", "commit late"), (60, 20, 8, 4, 8)
        )[0]
        if what in ("lost", "abort"):
            if what == "abort":
                self.record(Abort, process, transaction.name)
            yield from self.end(transaction, is_committed=False)
            if what == "abort":
                self.record(Aborted, process, transaction.name)
            return False
        self.record(Commit, process, transaction.name)
        yield
        is_committed = what != "lost commit" or self.random.random() < 0.5
        if what == "commit late":  # the answer comes before the markers
            self.group_offsets.update(transaction.offsets)
            self.record(Committed, process, transaction.name)
        yield from self.end(transaction, is_committed=is_committed)
        if what == "commit":
            self.record(Committed, process, transaction.name)
        return is_committed

    def worker(self, process, transactions):
        """Consume, transform, produce, with the offsets in the transaction."""
        position = None
        for number in range(transactions):
            if position is None:
                since = self.now()
                yield
                position = self.group_offsets[INPUT]
                self.record(GroupOffsets, process, since, GROUP, {INPUT: position if position else -1})
                self.record(Assign, process, {INPUT: position})
            transaction = _Open(f"{process}/{number}")
            self.open.append(transaction)
            self.record(Begin, process, transaction.name)
            since = self.now()
            yield
            records, position = self.read(INPUT, position, self.random.randrange(1, 5))
            self.record(Poll, process, since, {INPUT: records}, transaction.name)
            for _, value in records:
                yield from self.send(process, transaction, self.random.choice(OUTPUT), f"made of {value}")
            if position:
                self.record(CommitOffsets, process, transaction.name, GROUP, {INPUT: position})
                transaction.offsets[INPUT] = position
            if not (yield from self.finish(process, transaction)):
                position = None

    def reader(self, process, polls, partitions, count_max=8):
        positions = dict.fromkeys(partitions, 0)
        self.record(Assign, process, dict(positions))
        for _ in range(polls):
            yield
            since, found = self.now(), {}
            for partition in self.random.sample(partitions, self.random.randrange(1, len(partitions) + 1)):
                records, positions[partition] = self.read(partition, positions[partition], count_max)
                found[partition] = records
                yield
            self.record(Poll, process, since, {name: records for name, records in found.items() if records})
            if self.random.random() < 0.2:
                since = self.now()
                yield
                stable = {partition: self.stable_offset(partition) for partition in partitions}
                self.record(StableOffsets, process, since, stable)


def right_history(seed, *, size=30):
    """A history with about 25 events for each of `size`, in which everything is as it should be."""
    model = Model(seed)
    everything = (INPUT, *OUTPUT)
    running = [
        model.producer("producer-1", size, (INPUT, *OUTPUT)),
        model.producer("producer-2", size, (INPUT, *OUTPUT)),
        model.worker("worker", size),
        model.reader("reader-1", size, everything),
        model.reader("reader-2", size, everything),
    ]
    while running:
        process = model.random.choice(running)
        if next(process, running) is running:
            running.remove(process)
    longest = max(map(len, model.logs.values()))
    for _ in model.reader("last reader", 8 * (longest // 50 + 2), everything, count_max=50):
        pass
    since = model.now()
    position = model.group_offsets[INPUT]
    model.record(GroupOffsets, "last reader", since, GROUP, {INPUT: position if position else -1})
    return model.history
