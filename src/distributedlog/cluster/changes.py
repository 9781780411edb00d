"""What differs between two images, as far as somebody has to do something about it [pure]."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from distributedlog.cluster.image import ClusterImage, PartitionImage, TopicImage


@dataclass(slots=True)
class TopicChanges:
    """Topics that are gone, partitions that are new, topics whose configuration is another one."""

    gone: list[TopicImage] = field(default_factory=list)
    new_partitions: list[tuple[TopicImage, PartitionImage]] = field(default_factory=list)
    reconfigured: list[TopicImage] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.gone or self.new_partitions or self.reconfigured)


def topic_changes(old: ClusterImage, new: ClusterImage) -> TopicChanges:
    """Topics are told apart by their ids: one that was deleted and made again is another one."""
    changes = TopicChanges()
    if old.topics_by_id is new.topics_by_id:
        return changes
    for topic_id, topic in old.topics_by_id.items():
        if topic_id not in new.topics_by_id:
            changes.gone.append(topic)
    for topic in _changed_topics(old, new):
        before = old.topics_by_id.get(topic.topic_id)
        known = 0 if before is None else len(before.partitions)
        changes.new_partitions.extend((topic, partition) for partition in topic.partitions[known:])
        if before is not None and before.configs != topic.configs:
            changes.reconfigured.append(topic)
    return changes


def _changed_topics(old: ClusterImage, new: ClusterImage) -> Iterator[TopicImage]:
    for topic_id, topic in new.topics_by_id.items():
        if old.topics_by_id.get(topic_id) is not topic:
            yield topic
