"""Faults put into right histories. Each function takes a `Plot` and gives the history with the fault in it,
or None where this history has no place for it.

A fault is what a client would have written down, had the broker made that mistake.
"""

from bisect import bisect_left
from collections import defaultdict
from dataclasses import replace
from random import Random

from tests.checkers.events import Commit, Committed, GroupOffsets, Poll, Send, Sent, StableOffsets
from tests.checkers.findings import Anomaly
from tests.checkers.world import NEVER, World

LAST_READER = "last reader"


class Plot:
    """A right history, and what is needed to choose where it goes wrong."""

    def __init__(self, history, seed):
        self.history = history
        self.world = World(history)
        self.random = Random(seed)

    def choose(self, candidates):
        candidates = list(candidates)
        return self.random.choice(candidates) if candidates else None

    def writes(self, condition):
        """One of the writes for which it holds."""
        return self.choose(write for write in self.world.writes.values() if condition(write))

    def polls_of(self, process):
        return [event for event in self.history if type(event) is Poll and event.process == process]

    # what may be done to a history

    def changed(self, change):
        """The history with each event replaced by what `change` makes of it; None takes it out."""
        return [event for event in map(change, self.history) if event is not None]

    def exchanged(self, old, new):
        return self.changed(lambda event: new if event is old else event)

    def with_records(self, change, processes=None):
        """Each poll's records in each partition become `change(partition, records)`."""

        def change_poll(event):
            if type(event) is not Poll or (processes is not None and event.process not in processes):
                return event
            records = {name: change(name, list(found)) for name, found in event.records.items()}
            return replace(event, records={name: found for name, found in records.items() if found})

        return self.changed(change_poll)

    def without_values(self, values, processes=None):
        """These values are seen by nobody, or not by these processes."""
        return self.with_records(
            lambda _, records: [record for record in records if record[1] not in values], processes
        )

    def with_record(self, poll, partition, offset, value):
        """One more record in a poll, where it belongs by its offset."""
        records = list(poll.records[partition])
        records.insert(bisect_left([offset for offset, _ in records], offset), (offset, value))
        return self.exchanged(poll, replace(poll, records={**poll.records, partition: records}))


def is_seen(write):
    return write.offset is not None and write.first_seen < NEVER


def was_promised(write):
    """Seen, and its transaction's commit was acknowledged: without the latter it need not be seen."""
    return is_seen(write) and write.transaction.committed < NEVER


def _last_seen(plot):
    """The last offset that was seen of each partition."""
    last = defaultdict(int)
    for write in plot.world.writes.values():
        if is_seen(write):
            last[write.partition] = max(last[write.partition], write.offset)
    return last


def lost_write(plot):
    last = _last_seen(plot)
    write = plot.writes(lambda each: was_promised(each) and each.offset < last[each.partition])
    return write and plot.without_values({write.value})


def unseen(plot):
    last = _last_seen(plot)
    write = plot.writes(lambda each: was_promised(each) and each.offset == last[each.partition])
    return write and plot.without_values({write.value})


def aborted_read(plot):
    write = plot.writes(lambda each: each.transaction.aborted < NEVER and each.offset is not None)
    if write is None:
        return None
    polls = [poll for poll in plot.polls_of(LAST_READER) if write.partition in poll.records]
    poll = plot.choose(polls)
    return poll and plot.with_record(poll, write.partition, write.offset, write.value)


def early_read(plot):
    write = plot.writes(is_seen)
    late = 1 + max(event.time for event in plot.history)

    def change(event):
        if type(event) in (Commit, Committed) and event.transaction == write.transaction.name:
            return replace(event, time=late + (type(event) is Committed))
        return event

    return write and plot.changed(change)


def phantom(plot):
    write = plot.writes(is_seen)
    return write and plot.with_records(
        lambda _, records: [
            (offset, "never sent" if value == write.value else value) for offset, value in records
        ]
    )


def duplicate(plot):
    write = plot.writes(is_seen)
    polls = [poll for poll in plot.polls_of(LAST_READER) if write and write.partition in poll.records]
    if not polls:
        return None
    again = 1 + max(offset for poll in polls for offset, _ in poll.records[write.partition])
    return plot.with_record(polls[-1], write.partition, again, write.value)


def duplicate_effect(plot):
    write = plot.writes(lambda each: each.effect is not None and each.first_seen < NEVER)
    if write is None:
        return None
    other = plot.writes(lambda each: each.first_seen < NEVER and each.value != write.value)
    return plot.changed(
        lambda event: (
            replace(event, effect=write.effect)
            if type(event) is Send and event.value == other.value
            else event
        )
    )


def inconsistent_offsets(plot):
    write = plot.writes(is_seen)
    if write is None:
        return None
    other = plot.writes(
        lambda each: is_seen(each) and each.partition == write.partition and each is not write
    )
    return other and plot.changed(
        lambda event: (
            replace(event, offset=write.offset)
            if type(event) is Sent and event.value == other.value
            else event
        )
    )


def poll_skip(plot):
    """A reader does not get the first record of a poll which is not its first."""
    return _skip(plot, lambda polls: polls[1:], lambda count: 0 if count > 1 else None)


def internal_poll_skip(plot):
    """A reader does not get a record in the middle of a poll."""
    return _skip(
        plot, lambda polls: polls, lambda count: plot.random.randrange(1, count - 1) if count > 2 else None
    )


def _skip(plot, polls_of, place_of):
    for process in plot.random.sample(["reader-1", "reader-2", LAST_READER], 3):
        poll = plot.choose(polls_of([poll for poll in plot.polls_of(process) if poll.records]))
        partition = poll and plot.choose(poll.records)
        place = poll and place_of(len(poll.records[partition]))
        if place is None:
            continue
        records = list(poll.records[partition])
        _, value = records.pop(place)
        if was_promised(plot.world.writes[value]):
            return plot.exchanged(poll, replace(poll, records={**poll.records, partition: records}))
    return None


def nonmonotonic_poll(plot):
    """A reader gets a poll's records once more."""
    poll = plot.choose(poll for poll in plot.polls_of(LAST_READER) if poll.records)
    return poll and [*plot.history, replace(poll, time=plot.history[-1].time + 1)]


def internal_nonmonotonic_poll(plot):
    polls = [poll for poll in plot.polls_of(LAST_READER) if any(len(x) > 1 for x in poll.records.values())]
    poll = plot.choose(polls)
    if poll is None:
        return None
    partition = plot.choose(name for name, records in poll.records.items() if len(records) > 1)
    records = {**poll.records, partition: list(reversed(poll.records[partition]))}
    return plot.exchanged(poll, replace(poll, records=records))


def nonmonotonic_send(plot):
    return _exchanged_sends(plot, within_one=False)


def internal_nonmonotonic_send(plot):
    return _exchanged_sends(plot, within_one=True)


def _exchanged_sends(plot, *, within_one):
    """Two records of one producer come to lie the other way round, for everybody."""
    first = plot.writes(is_seen)
    second = first and plot.writes(
        lambda each: (
            is_seen(each)
            and (each.process, each.partition) == (first.process, first.partition)
            and (each.transaction is first.transaction) == within_one
            and each is not first
        )
    )
    if not second:
        return None
    other = {first.value: second.value, second.value: first.value}

    def change(event):
        if type(event) is Sent and event.value in other:
            return replace(event, offset=plot.world.writes[other[event.value]].offset)
        if type(event) is Poll:
            records = {
                name: [(offset, other.get(value, value)) for offset, value in found]
                for name, found in event.records.items()
            }
            return replace(event, records=records)
        return event

    return plot.changed(change)


def circular_flow(plot):
    """Who wrote something has read what was made of it, in the transaction in which it was written."""
    edges = [
        (plot.world.writes[value].transaction, poll.transaction)
        for poll in plot.world.polls_in_transactions
        for records in poll.records.values()
        for _, value in records
    ]
    edges = [(writer, plot.world.transactions[reader]) for writer, reader in edges]
    edge = plot.choose(
        (writer, reader) for writer, reader in edges if any(is_seen(write) for write in reader.writes)
    )
    if edge is None:
        return None
    writer, reader = edge
    write = next(write for write in reader.writes if is_seen(write))
    poll = Poll(
        plot.history[-1].time + 1, "late", 0, {write.partition: [(write.offset, write.value)]}, writer.name
    )
    return [*plot.history, poll]


def torn_transaction(plot):
    """A part of a transaction is seen by nobody."""
    transactions = [
        each
        for each in plot.world.transactions.values()
        if each.first_seen < NEVER and len([write for write in each.writes if is_seen(write)]) > 1
    ]
    transaction = plot.choose(transactions)
    if transaction is None:
        return None
    writes = [write.value for write in transaction.writes]
    return plot.without_values(set(plot.random.sample(writes, plot.random.randrange(1, len(writes)))))


def hanging_transaction(plot):
    """A partition cannot be read beyond a transaction that is long over."""
    event = plot.choose(event for event in plot.history if type(event) is StableOffsets)
    over = {}
    for transaction in plot.world.transactions.values():
        later = [
            each.first_seen
            for each in plot.world.transactions.values()
            if each.producer == transaction.producer and each.begun > transaction.begun
        ]
        over[transaction.name] = min(later, default=NEVER)
    write = event and plot.writes(
        lambda each: each.offset is not None and over[each.transaction.name] <= event.since
    )
    if not write:
        return None
    offsets = {**event.offsets, write.partition: write.offset}
    return plot.exchanged(event, replace(event, offsets=offsets))


def torn_offsets(plot):
    """The offsets of a group's last transaction hold, and its records are nowhere."""
    last = plot.history[-1]
    moving = [each for each in plot.world.transactions.values() if each.offsets and not each.is_aborted]
    if not moving:
        return None
    transaction = max(moving, key=lambda each: each.commit)
    offset = _offsets_of(transaction)
    if not transaction.writes or [_offsets_of(each) for each in moving].count(offset) > 1:
        return None
    history = [
        event
        for event in plot.without_values({write.value for write in transaction.writes})
        if not (type(event) is Committed and event.transaction == transaction.name)
    ]
    return [*history[:-1], replace(last, offsets={"in-0": offset})]


def _offsets_of(transaction):
    [offset] = transaction.offsets[-1].offsets.values()
    return offset


def aborted_offsets(plot):
    """A group goes on from where a transaction that was aborted had come to."""
    with_offsets = [each for each in plot.world.transactions.values() if each.offsets]
    committed = {_offsets_of(each) for each in with_offsets if not each.is_aborted}
    found = plot.choose(
        (event, _offsets_of(each))
        for event in plot.history
        if type(event) is GroupOffsets
        for each in with_offsets
        if each.aborted < event.since
        and _offsets_of(each) not in committed
        and _offsets_of(each) > max(event.offsets.values())
    )
    return found and plot.exchanged(found[0], replace(found[0], offsets={"in-0": found[1]}))


def stale_offsets(plot):
    """A group is sent back to where it was before."""
    found = plot.choose(
        (event, _offsets_of(each))
        for event in plot.history
        if type(event) is GroupOffsets
        for each in plot.world.transactions.values()
        if each.offsets and each.committed < event.since
    )
    if found is None:
        return None
    event, offset = found
    return plot.exchanged(event, replace(event, offsets={"in-0": plot.random.randrange(-1, offset)}))


PLANTED = {
    lost_write: Anomaly.LOST_WRITE,
    unseen: Anomaly.UNSEEN,
    aborted_read: Anomaly.ABORTED_READ,
    early_read: Anomaly.EARLY_READ,
    phantom: Anomaly.PHANTOM,
    duplicate: Anomaly.DUPLICATE,
    duplicate_effect: Anomaly.DUPLICATE,
    inconsistent_offsets: Anomaly.INCONSISTENT_OFFSETS,
    poll_skip: Anomaly.POLL_SKIP,
    internal_poll_skip: Anomaly.INTERNAL_POLL_SKIP,
    nonmonotonic_poll: Anomaly.NONMONOTONIC_POLL,
    internal_nonmonotonic_poll: Anomaly.INTERNAL_NONMONOTONIC_POLL,
    nonmonotonic_send: Anomaly.NONMONOTONIC_SEND,
    internal_nonmonotonic_send: Anomaly.INTERNAL_NONMONOTONIC_SEND,
    circular_flow: Anomaly.CIRCULAR_FLOW,
    torn_transaction: Anomaly.TORN_TRANSACTION,
    hanging_transaction: Anomaly.TORN_TRANSACTION,
    torn_offsets: Anomaly.TORN_TRANSACTION,
    aborted_offsets: Anomaly.ABORTED_OFFSETS,
    stale_offsets: Anomaly.STALE_OFFSETS,
}
