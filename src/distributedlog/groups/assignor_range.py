"""The ``range`` assignor: of every topic, each member gets one share of neighbouring partitions.

Members that read the same topics of the same size get the same partition numbers of each, so that the
topics can be joined. Members keep what they have as far as their share allows, in ascending order.
"""

from distributedlog.groups.assignment import Assignment, GroupSpec, frozen


def assign_range(spec: GroupSpec) -> dict[str, Assignment]:
    """Share out topic by topic. Members come in the order of their ids, so that topics agree."""
    members = sorted(spec.members)
    assigned: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in members}
    for topic in sorted(spec.partitions):
        readers = [member_id for member_id in members if topic in spec.members[member_id].topic_ids]
        if readers:
            for member_id, partitions in _share(spec, topic, readers).items():
                assigned[member_id][topic] = partitions
    return {member_id: frozen(topics) for member_id, topics in assigned.items()}


def _share(spec: GroupSpec, topic: bytes, readers: list[str]) -> dict[str, set[int]]:
    size = spec.partitions[topic]
    quota, extras = divmod(size, len(readers))
    kept: dict[str, set[int]] = {}
    keeps_extra: set[str] = set()
    taken: set[int] = set()
    for member_id in readers:
        had = sorted(
            p for p in spec.members[member_id].assigned.get(topic, ()) if p < size and p not in taken
        )
        keep = had[:quota]
        if len(had) > quota and extras:
            extras -= 1
            keeps_extra.add(member_id)
            keep = had[: quota + 1]
        kept[member_id] = set(keep)
        taken.update(keep)

    free = iter([partition for partition in range(size) if partition not in taken])
    for member_id in readers:
        due = quota + (member_id in keeps_extra)
        if extras and member_id not in keeps_extra:
            extras -= 1
            due += 1
        for _ in range(due - len(kept[member_id])):
            kept[member_id].add(next(free))
    return kept
