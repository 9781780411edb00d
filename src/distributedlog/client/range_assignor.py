"""[pure] Kafka's ``range``: each topic's partitions in order, cut into one run for each of its readers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from distributedlog.client.metadata import TopicPartition

RANGE_NAME = "range"


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member with the topics it wants. Static members keep their place by their instance id."""

    member_id: str
    topics: frozenset[str]
    instance_id: str | None = None


def assign_ranges(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """By member id. The first readers of a topic get one partition more where it does not divide evenly.

    Topics that `partition_counts` does not know are left out.
    """
    assigned: dict[str, list[TopicPartition]] = {subscriber.member_id: [] for subscriber in subscribers}
    in_order = sorted(subscribers, key=_place)
    for topic in sorted(partition_counts):
        readers = [subscriber for subscriber in in_order if topic in subscriber.topics]
        if not readers:
            continue
        share, remainder = divmod(partition_counts[topic], len(readers))
        start = 0
        for number, reader in enumerate(readers):
            end = start + share + (number < remainder)
            assigned[reader.member_id] += (TopicPartition(topic, index) for index in range(start, end))
            start = end
    return assigned


def _place(subscriber: Subscriber) -> tuple[bool, str]:
    """Static members first, in the order of their instance ids; then the others by member id."""
    return subscriber.instance_id is None, subscriber.instance_id or subscriber.member_id
