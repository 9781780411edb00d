"""Checks of the offsets that transactions commit for groups: the last committed ones hold, and no others.

A transaction whose end is not known may hold or not; until its answer came, so may one that is being
committed.
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, field

from tests.checkers.findings import Anomaly, Finding
from tests.checkers.world import NEVER

NO_OFFSET = -1


@dataclass(slots=True)
class _Positions:
    """A group's positions in one partition as transactions set them, in the order of their commits."""

    commits: list = field(default_factory=list)
    #: (transaction, offset, when it surely held)
    positions: list = field(default_factory=list)
    #: {offset: transaction}
    aborted: dict = field(default_factory=dict)

    def add(self, transaction, offset):
        if transaction.is_aborted:
            self.aborted[offset] = transaction
            return
        surely = min(transaction.committed, transaction.first_seen) if transaction.is_committed else NEVER
        self.commits.append(transaction.commit)
        self.positions.append((transaction, offset, surely))

    def at(self, since, until):
        """The position that surely held at `since` (or None), and those that may have come by `until`."""
        possible = []
        for place in range(bisect_left(self.commits, until) - 1, -1, -1):
            transaction, offset, surely = self.positions[place]
            if surely <= since:
                return (transaction, offset), possible
            possible.append((transaction, offset))
        return None, possible


def check_group_offsets(world, *, is_read_to_the_end):
    found = _positions(world.transactions.values())
    for event in world.group_offsets:
        for partition, offset in event.offsets.items():
            positions = found.get((event.group, partition)) or _Positions()
            yield from _check(event, partition, offset, positions, is_read_to_the_end)


def _positions(transactions):
    found = defaultdict(_Positions)
    for transaction in sorted(transactions, key=lambda each: each.commit):
        last = {
            (event.group, partition): offset
            for event in transaction.offsets
            for partition, offset in event.offsets.items()
        }
        for place, offset in last.items():
            found[place].add(transaction, offset)
    return found


def _check(event, partition, offset, positions, is_read_to_the_end):
    held, possible = positions.at(event.since, event.time)
    if offset == (NO_OFFSET if held is None else held[1]):
        return
    matching = [transaction for transaction, new_offset in possible if new_offset == offset]
    if matching:
        if len(matching) == 1 and is_read_to_the_end:
            yield from _records_missing(matching[0], event, partition, offset)
        return
    where = f"group {event.group} was told {offset} in {partition}"
    if held is not None and offset < held[1]:
        text = f"{where} after {held[0]} had set it to {held[1]}"
        yield Finding(Anomaly.STALE_OFFSETS, text, (event.time,))
    elif offset in positions.aborted:
        text = f"{where}, which is of {positions.aborted[offset]}, and that was not committed"
        yield Finding(Anomaly.ABORTED_OFFSETS, text, (event.time,))
    else:
        yield Finding(Anomaly.ABORTED_OFFSETS, f"{where}, which nobody has committed", (event.time,))


def _records_missing(transaction, event, partition, offset):
    """The offsets of a transaction hold, so it was committed, but its records are nowhere."""
    for write in transaction.writes:
        if write.first_seen == NEVER:
            text = f"group {event.group} was told {offset} in {partition} by it, and {write} was never seen"
            yield Finding(Anomaly.TORN_TRANSACTION, text, (write.time, event.time))
