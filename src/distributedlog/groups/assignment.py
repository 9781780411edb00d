"""Partitions as the coordinator counts them, and the question that an assignor answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

#: topic id to partitions: what a member is to have
Assignment = Mapping[bytes, frozenset[int]]

#: topic id to partition to the epoch in which the member got it
OwnedPartitions = Mapping[bytes, Mapping[int, int]]

EMPTY_ASSIGNMENT: Assignment = {}


@dataclass(frozen=True, slots=True)
class MemberSpec:
    """What an assignor knows of a member: the topics it reads, and what it is to have up to now."""

    topic_ids: frozenset[bytes]
    assigned: Assignment


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """The whole question. ``partitions`` has every topic that any member reads, with its size."""

    members: Mapping[str, MemberSpec]
    partitions: Mapping[bytes, int]

    @property
    def is_homogeneous(self) -> bool:
        """Whether all members read the same topics."""
        specs = iter(self.members.values())
        first = next(specs, None)
        return first is None or all(spec.topic_ids == first.topic_ids for spec in specs)


#: A pure function: the same question has the same answer, which has an entry for every member.
Assignor = Callable[[GroupSpec], dict[str, Assignment]]


def frozen(assignment: Mapping[bytes, set[int]]) -> Assignment:
    """An assignment that is finished; topics without partitions drop out."""
    return {topic: frozenset(partitions) for topic, partitions in assignment.items() if partitions}
