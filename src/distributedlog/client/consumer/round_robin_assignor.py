"""[pure] Kafka's ``roundrobin``: all partitions in order, dealt to the members in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from distributedlog.client.metadata import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from distributedlog.client.consumer.subscriber import Subscriber


def assign_round_robin(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """By member id. Who does not read a topic is passed over."""
    assigned: dict[str, list[TopicPartition]] = {subscriber.member_id: [] for subscriber in subscribers}
    in_order = sorted(subscribers, key=lambda subscriber: subscriber.place)
    wanted = set().union(*(subscriber.topics for subscriber in subscribers))
    turn = 0
    for topic in sorted(wanted & set(partition_counts)):
        for index in range(partition_counts[topic]):
            while topic not in in_order[turn % len(in_order)].topics:
                turn += 1
            assigned[in_order[turn % len(in_order)].member_id].append(TopicPartition(topic, index))
            turn += 1
    return assigned
