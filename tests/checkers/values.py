"""Checks of single records: is each that should be seen there, and only those, once, at one place?"""

from collections import defaultdict

from tests.checkers.findings import Anomaly, Finding
from tests.checkers.world import NEVER


def check_values(world, *, is_read_to_the_end):
    yield from _missing(world, is_read_to_the_end)
    yield from _not_committed(world)
    yield from _phantoms(world)
    yield from _duplicates(world)
    yield from _inconsistent_offsets(world)


def _missing(world, is_read_to_the_end):
    for write in world.writes.values():
        if not write.is_committed or write.first_seen < NEVER:
            continue
        if write.offset is not None and world.was_passed(write.partition, write.offset):
            yield Finding(Anomaly.LOST_WRITE, f"{write} was read past and never seen", (write.time,))
        elif is_read_to_the_end:
            yield Finding(Anomaly.UNSEEN, f"{write} was never seen", (write.time,))


def _not_committed(world):
    for write in world.writes.values():
        transaction = write.transaction
        if transaction is None or write.first_seen == NEVER:
            continue
        times = (write.time, int(write.first_seen))
        if transaction.is_aborted:
            how = "aborted" if transaction.aborted < NEVER else "never asked to be committed"
            yield Finding(Anomaly.ABORTED_READ, f"{write} was seen, and it was {how}", times)
        elif write.first_seen < transaction.commit:
            yield Finding(Anomaly.EARLY_READ, f"{write} was seen before its commit was asked for", times)


def _phantoms(world):
    for partition, offset, value, time in world.phantoms:
        yield Finding(Anomaly.PHANTOM, f"{value} at {partition}@{offset} was never sent there", (time,))
    for write in world.writes.values():
        if write.is_refused and write.seen_at:
            yield Finding(Anomaly.PHANTOM, f"{write} was refused and is at {write.seen_at}", (write.time,))


def _duplicates(world):
    by_effect = defaultdict(list)
    for write in world.writes.values():
        if len(places := set(write.places)) > 1:
            text = f"{write.value} is in {write.partition} at {', '.join(map(str, sorted(places)))}"
            yield Finding(Anomaly.DUPLICATE, text, (write.time,))
        if write.effect is not None and write.first_seen < NEVER:
            by_effect[write.effect].append(write)
    for effect, writes in by_effect.items():
        if len(writes) > 1:
            text = f"{effect} came about by {', '.join(map(str, writes))}"
            yield Finding(Anomaly.DUPLICATE, text, tuple(write.time for write in writes))


def _inconsistent_offsets(world):
    for (partition, offset), values in world.values_at.items():
        if len(values) > 1:
            text = f"{partition}@{offset} held {', '.join(sorted(values))}"
            yield Finding(Anomaly.INCONSISTENT_OFFSETS, text, tuple(values.values()))
