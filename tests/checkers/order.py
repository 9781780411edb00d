"""Checks of order: along a partition for who reads, and along what was sent for who writes."""

from tests.checkers.findings import Anomaly, Finding


def check_order(world):
    for reading in world.readings:
        yield from _along(world, reading)
    yield from _sends(world)


def _along(world, reading):
    """Each step from one record to the next goes on, and over nothing that had to be read."""
    before = None if reading.start is None else reading.start - 1
    previous_poll = None
    for poll, records in reading.polls:
        is_internal = False
        for offset, value in records:
            if before is not None:
                finding = _step(world, reading, before, offset, value, is_internal)
                if finding is not None:
                    anomaly, text = finding
                    times = (poll.time,) if previous_poll is None else (previous_poll.time, poll.time)
                    yield Finding(anomaly, text, times)
            before, is_internal = offset, True
        previous_poll = poll


def _step(world, reading, before, offset, value, is_internal):
    who = f"{reading.process} in {reading.partition}"
    if offset <= before:
        kind = Anomaly.INTERNAL_NONMONOTONIC_POLL if is_internal else Anomaly.NONMONOTONIC_POLL
        return kind, f"{who} got {value}@{offset} after it had been at {before}"
    skipped = world.visible_between(
        reading.partition, before, offset, is_read_committed=reading.is_read_committed
    )
    if skipped is None:
        return None
    kind = Anomaly.INTERNAL_POLL_SKIP if is_internal else Anomaly.POLL_SKIP
    missed = ", ".join(sorted(world.values_at.get((reading.partition, skipped), {})))
    return kind, f"{who} went from {before} to {value}@{offset} over {missed}@{skipped}"


def _sends(world):
    """What one process sends into one partition comes to lie in that order, as acknowledgements tell."""
    lanes = {}
    for write in world.writes.values():
        if write.offset is not None:
            lane = lanes.setdefault((write.process, write.partition), _Lane())
            yield from lane.step(write)


class _Lane:
    """One process's writes into one partition, in the order of sending."""

    __slots__ = ("before", "highest", "highest_of_earlier")

    def __init__(self):
        self.before = None
        self.highest = None
        #: Of all transactions before the one of `before`.
        self.highest_of_earlier = None

    def step(self, write):
        before = self.before
        if before is not None and before.transaction is not None and before.transaction is write.transaction:
            if write.offset <= before.offset:
                yield _misplaced(Anomaly.INTERNAL_NONMONOTONIC_SEND, before, write)
        else:
            self.highest_of_earlier = self.highest
        if self.highest_of_earlier is not None and write.offset <= self.highest_of_earlier.offset:
            yield _misplaced(Anomaly.NONMONOTONIC_SEND, self.highest_of_earlier, write)
        if self.highest is None or write.offset > self.highest.offset:
            self.highest = write
        self.before = write


def _misplaced(kind, before, write):
    return Finding(kind, f"{write.process} sent {before} and then {write}", (before.time, write.time))
