"""[pure] Kafka's ``range``: each topic's partitions in order, cut into one run for each of its readers."""

from collections.abc import Mapping, Sequence

from distributedlog.client.consumer.subscriber import Subscriber
from distributedlog.client.metadata import TopicPartition

RANGE_NAME = "range"


def assign_ranges(
    subscribers: Sequence[Subscriber], partition_counts: Mapping[str, int]
) -> dict[str, list[TopicPartition]]:
    """By member id. The first readers of a topic get one partition more where it does not divide evenly.

    Topics that `partition_counts` does not know are left out.
    """
    assigned: dict[str, list[TopicPartition]] = {subscriber.member_id: [] for subscriber in subscribers}
    in_order = sorted(subscribers, key=lambda subscriber: subscriber.place)
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
