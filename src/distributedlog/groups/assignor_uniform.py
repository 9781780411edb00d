"""The ``uniform`` assignor: all members get as many partitions, give or take one, and keep what they can.

Balance goes before stickiness: a member gives up no more than what it has above its share.
"""

from distributedlog.groups.assignment import Assignment, GroupSpec, frozen
from distributedlog.groups.assignor_uniform_mixed import assign_uniform_mixed

Partition = tuple[bytes, int]


def assign_uniform(spec: GroupSpec) -> dict[str, Assignment]:
    """Share out all partitions of all topics at once."""
    if not spec.members:
        return {}
    return _assign_same_topics(spec) if spec.is_homogeneous else assign_uniform_mixed(spec)


def _assign_same_topics(spec: GroupSpec) -> dict[str, Assignment]:
    members = sorted(spec.members)
    topics = sorted(spec.members[members[0]].topic_ids & spec.partitions.keys())
    everything = [(topic, index) for topic in topics for index in range(spec.partitions[topic])]
    existing = set(everything)

    had: dict[str, list[Partition]] = {}
    taken: set[Partition] = set()
    for member_id in members:
        assigned = spec.members[member_id].assigned
        mine = [(topic, index) for topic in topics for index in sorted(assigned.get(topic, ()))]
        had[member_id] = [p for p in mine if p in existing and p not in taken]
        taken.update(had[member_id])

    # Those who have more than the others may stay the ones who have one more.
    quota, extras = divmod(len(everything), len(members))
    by_size = sorted(members, key=lambda member_id: -len(had[member_id]))
    due = {member_id: quota + (place < extras) for place, member_id in enumerate(by_size)}

    kept = {member_id: had[member_id][: due[member_id]] for member_id in members}
    owned = {partition for partitions in kept.values() for partition in partitions}
    free = iter([partition for partition in everything if partition not in owned])
    result: dict[str, Assignment] = {}
    for member_id in members:
        by_topic: dict[bytes, set[int]] = {}
        missing = due[member_id] - len(kept[member_id])
        for topic, index in [*kept[member_id], *(next(free) for _ in range(missing))]:
            by_topic.setdefault(topic, set()).add(index)
        result[member_id] = frozen(by_topic)
    return result
