"""The ``uniform`` assignor where members read different topics.

Everybody keeps what it has, free partitions go to the reader that has the least, and then partitions move
from who has more to who has at least two less, until no such move is left. Every move makes the sum of the
squares of the members' sizes smaller, so there is an end.
"""

from distributedlog.groups.assignment import Assignment, GroupSpec, frozen

Partition = tuple[bytes, int]


def assign_uniform_mixed(spec: GroupSpec) -> dict[str, Assignment]:
    """Share out as evenly as the subscriptions allow."""
    readers: dict[bytes, list[str]] = {}
    for member_id in sorted(spec.members):
        for topic in spec.members[member_id].topic_ids & spec.partitions.keys():
            readers.setdefault(topic, []).append(member_id)

    owned = _keep(spec, readers)
    _hand_out(spec, readers, owned)
    _balance(readers, owned)

    result: dict[str, Assignment] = {}
    for member_id, partitions in owned.items():
        by_topic: dict[bytes, set[int]] = {}
        for topic, index in partitions:
            by_topic.setdefault(topic, set()).add(index)
        result[member_id] = frozen(by_topic)
    return result


def _keep(spec: GroupSpec, readers: dict[bytes, list[str]]) -> dict[str, set[Partition]]:
    owned: dict[str, set[Partition]] = {member_id: set() for member_id in sorted(spec.members)}
    taken: set[Partition] = set()
    for member_id, partitions in owned.items():
        for topic, indexes in spec.members[member_id].assigned.items():
            if member_id not in readers.get(topic, ()):
                continue
            for index in indexes:
                if index < spec.partitions[topic] and (topic, index) not in taken:
                    partitions.add((topic, index))
        taken |= partitions
    return owned


def _hand_out(spec: GroupSpec, readers: dict[bytes, list[str]], owned: dict[str, set[Partition]]) -> None:
    """Topics with the fewest readers come first: what few can take is to be settled before the rest."""
    taken = {partition for partitions in owned.values() for partition in partitions}
    for topic in sorted(readers, key=lambda topic: (len(readers[topic]), -spec.partitions[topic], topic)):
        for index in range(spec.partitions[topic]):
            if (topic, index) not in taken:
                least = min(readers[topic], key=lambda member_id: len(owned[member_id]))
                owned[least].add((topic, index))


def _balance(readers: dict[bytes, list[str]], owned: dict[str, set[Partition]]) -> None:
    moved = True
    while moved:
        moved = False
        for giver in sorted(owned, key=lambda member_id: -len(owned[member_id])):
            for partition in sorted(owned[giver]):
                taker = min(readers[partition[0]], key=lambda member_id: len(owned[member_id]))
                if len(owned[giver]) >= len(owned[taker]) + 2:
                    owned[giver].remove(partition)
                    owned[taker].add(partition)
                    moved = True
