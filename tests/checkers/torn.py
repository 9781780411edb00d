"""Torn transactions: all of a transaction is to be seen, or nothing.

Kafka writes a transaction's markers to its partitions one after the other, and a reader of a partition
waits for all transactions there that began earlier. So for a while a part may be seen and the rest not yet;
it must come. What is over when the producer's next transaction is visible is the transaction itself: no
partition may wait for it.
"""

from collections import defaultdict

from tests.checkers.findings import Anomaly, Finding
from tests.checkers.world import NEVER


def check_torn(world, *, is_read_to_the_end):
    for transaction in world.transactions.values():
        if transaction.first_seen < NEVER:
            yield from _parts_missing(world, transaction, is_read_to_the_end)
    yield from _late_parts(world)


def _parts_missing(world, transaction, is_read_to_the_end):
    seen = next(write for write in transaction.writes if write.first_seen < NEVER)
    for write in transaction.writes:
        if write.first_seen < NEVER:
            continue
        if is_read_to_the_end or (
            write.offset is not None and world.was_passed(write.partition, write.offset)
        ):
            text = f"{seen} was seen, and {write} never"
            yield Finding(Anomaly.TORN_TRANSACTION, text, (int(transaction.first_seen), write.time))


def _late_parts(world):
    """A partition's last stable offset stands at the record of a transaction that must be over."""
    over = _moments_when_over(world.transactions.values())
    for event in world.stable_offsets:
        for partition, offset in event.offsets.items():
            for value in world.values_at.get((partition, offset), ()):
                write = world.writes.get(value)
                if write is None or write.transaction is None:
                    continue
                if over[write.transaction.name] <= event.since:
                    text = (
                        f"{partition} was readable only up to {write} when a later transaction of "
                        f"{write.transaction.producer} had been seen"
                    )
                    yield Finding(Anomaly.TORN_TRANSACTION, text, (write.time, event.time))


def _moments_when_over(transactions):
    """By a transaction's name: when the first was seen of those that its producer began later."""
    by_producer, over = defaultdict(list), {}
    for transaction in transactions:
        by_producer[transaction.producer].append(transaction)
    for of_producer in by_producer.values():
        moment = NEVER
        for transaction in sorted(of_producer, key=lambda each: each.begun, reverse=True):
            over[transaction.name] = moment
            moment = min(moment, transaction.first_seen)
    return over
