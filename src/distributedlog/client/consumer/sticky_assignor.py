"""[pure] Kafka's ``sticky``: as even as can be, and of all such ways one that moves few partitions.

Three steps. Each member keeps what it has, as far as it still wants it and no younger claim stands against
it. What is left goes to whoever has least. Then partitions move from who has more to who has less, along
chains of members where need be, until no chain evens out anything: that is the most even distribution there
is for these subscriptions, and only what makes it more even has moved.
"""

from __future__ import annotations

from collections import deque
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from distributedlog.client.metadata import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributedlog.client.consumer.subscriber import Subscriber


def assign_sticky(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """By member id. Topics that `partition_counts` does not know are left out."""
    members = sorted(subscribers, key=lambda subscriber: subscriber.place)
    if not members:
        return {}
    is_uniform = all(member.topics == members[0].topics for member in members)
    held = _what_is_kept(members, partition_counts)
    if is_uniform:
        _cut_to_fair_shares(members, held, partition_counts)
    _give_out_the_rest(members, held, partition_counts)
    if not is_uniform:
        _even_out(members, held)
    return {member_id: sorted(partitions) for member_id, partitions in held.items()}


def without_moves(
    subscribers: Sequence[Subscriber], assigned: Mapping[str, list[TopicPartition]]
) -> dict[str, list[TopicPartition]]:
    """What members of the cooperative protocol may get now: nothing that another one still reads.

    Whoever reads it lets it go when it hears of this, and joins again; the next round gives it away
    (KIP-429).
    """
    readers = {partition: member.member_id for member in subscribers for partition in member.owned}
    return {
        member_id: [each for each in partitions if readers.get(each, member_id) == member_id]
        for member_id, partitions in assigned.items()
    }


Held = dict[str, "set[TopicPartition]"]


def _what_is_kept(members: Sequence[Subscriber], partition_counts: Mapping[str, int]) -> Held:
    """Of two claims to a partition the one of the younger generation holds; of equal ones, neither."""
    claims: dict[TopicPartition, tuple[int, str | None]] = {}
    for member in members:
        for partition in member.owned:
            generation, _ = claims.get(partition, (-2, None))
            if member.generation > generation:
                claims[partition] = member.generation, member.member_id
            elif member.generation == generation:
                claims[partition] = generation, None
    held: Held = {}
    for member in members:
        held[member.member_id] = {
            partition
            for partition in member.owned
            if claims[partition][1] == member.member_id
            and partition.topic in member.topics
            and partition.partition < partition_counts.get(partition.topic, 0)
        }
    return held


def _cut_to_fair_shares(
    members: Sequence[Subscriber], held: Held, partition_counts: Mapping[str, int]
) -> None:
    """Where all want the same, nobody keeps more than its share; who has most keeps the larger ones."""
    total = sum(partition_counts.get(topic, 0) for topic in members[0].topics)
    share, larger_shares = divmod(total, len(members))
    for member in sorted(members, key=lambda member: -len(held[member.member_id])):
        mine = held[member.member_id]
        allowed = share + (larger_shares > 0)
        if len(mine) > share and larger_shares > 0:
            larger_shares -= 1
        for partition in sorted(mine)[allowed:]:
            mine.discard(partition)


def _give_out_the_rest(
    members: Sequence[Subscriber], held: Held, partition_counts: Mapping[str, int]
) -> None:
    """Partitions that few could read first; each to whoever could and has least."""
    taken = set().union(*held.values())
    readers: dict[str, list[tuple[int, int]]] = {}
    for topic in partition_counts:
        able = [rank for rank, member in enumerate(members) if topic in member.topics]
        if able:
            readers[topic] = [(0, rank) for rank in able]
    by_group: dict[tuple[int, ...], list[tuple[int, int]]] = {}
    for topic in sorted(readers, key=lambda topic: (len(readers[topic]), topic)):
        group = tuple(rank for _, rank in readers[topic])
        heap = by_group.get(group)
        if heap is None:  # topics with the same readers share a heap
            heap = by_group[group] = [(len(held[members[rank].member_id]), rank) for rank in group]
            heapify(heap)
        for index in range(partition_counts[topic]):
            partition = TopicPartition(topic, index)
            if partition in taken:
                continue
            while True:  # another heap may have given the member something meanwhile
                count, rank = heappop(heap)
                mine = held[members[rank].member_id]
                if count == len(mine):
                    break
                heappush(heap, (len(mine), rank))
            mine.add(partition)
            heappush(heap, (len(mine), rank))


def _even_out(members: Sequence[Subscriber], held: Held) -> None:
    """Move partitions along the shortest chains to members with two less, while there are such."""
    topics = {member.member_id: member.topics for member in members}
    settled: set[str] = set()
    while len(settled) < len(members):
        fullest = max(
            (member.member_id for member in members if member.member_id not in settled),
            key=lambda member_id: len(held[member_id]),
        )
        chain = _chain_down(fullest, topics, held)
        if chain is None:
            settled.add(fullest)
            continue
        for giver, partition, taker in chain:
            held[giver].discard(partition)
            held[taker].add(partition)
        settled.clear()


def _chain_down(
    start: str, topics: Mapping[str, frozenset[str]], held: Held
) -> list[tuple[str, TopicPartition, str]] | None:
    """Moves (from, what, to): one partition less for `start`, one more for somebody with two less."""
    came_by: dict[str, tuple[str, TopicPartition]] = {}
    waiting = deque([start])
    seen = {start}
    while waiting:
        giver = waiting.popleft()
        samples = {partition.topic: partition for partition in sorted(held[giver], reverse=True)}
        for taker in sorted(topics.keys() - seen, key=lambda member_id: (len(held[member_id]), member_id)):
            shared = sorted(topic for topic in samples if topic in topics[taker])
            if not shared:
                continue
            seen.add(taker)
            came_by[taker] = giver, samples[shared[0]]
            if len(held[taker]) + 2 <= len(held[start]):
                return _moves_to(taker, came_by)
            waiting.append(taker)
    return None


def _moves_to(
    end: str, came_by: Mapping[str, tuple[str, TopicPartition]]
) -> list[tuple[str, TopicPartition, str]]:
    moves = []
    while end in came_by:
        giver, partition = came_by[end]
        moves.append((giver, partition, end))
        end = giver
    return moves
