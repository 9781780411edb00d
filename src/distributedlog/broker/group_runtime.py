"""The group coordinators of this broker, and what they know of it: its topics and its configuration."""

import logging
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING
from uuid import UUID

from distributedlog.broker.coordinator_runtime import CoordinatorRuntime
from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC, ClusterImage

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.group_shard import GroupShard
    from distributedlog.broker.partition import Partition
    from distributedlog.groups import GroupConfig, TopicsImage

logger = logging.getLogger("distributedlog.broker")


class GroupRuntime(CoordinatorRuntime["GroupShard"]):
    """One coordinator per partition of ``__consumer_offsets``."""

    topic = CONSUMER_OFFSETS_TOPIC

    def __init__(self, broker: "Broker") -> None:
        super().__init__(broker)
        self._topics: TopicsImage | None = None
        self._config: GroupConfig | None = None

    def _new_shard(self, partition: "Partition") -> "GroupShard":
        from distributedlog.broker.group_shard import GroupShard  # noqa: PLC0415 - not on the way to the start

        if self._config is None:
            self._config = self._group_config()
        return GroupShard(partition, self._broker.scheduler, self._config, self._new_id, self.topics_image)

    def _image_changed(self, old: ClusterImage, new: ClusterImage) -> None:
        if old.topics_by_id is not new.topics_by_id:
            self._topics = None
        super()._image_changed(old, new)

    def _follow(self, old: ClusterImage, new: ClusterImage) -> None:
        self._follow_config()
        if any(topic_id not in new.topics_by_id for topic_id in old.topics_by_id):
            self._sweep(deque(self._shards.values()))

    def _sweep(self, shards: "deque[GroupShard]") -> None:
        """Have deleted topics' offsets deleted, one partition per turn of the loop."""
        if shards and self._is_running:
            try:
                shards.popleft().follow_topics()
            except Exception:
                logger.exception("the offsets of deleted topics could not be deleted")
            self._broker.scheduler.call_soon(lambda: self._sweep(shards))

    # -- what coordinators know of the broker -----------------------------------------------------------

    def topics_image(self) -> "TopicsImage":
        """The cluster's topics as coordinators see them; the same object until topics change."""
        if self._topics is None:
            from distributedlog.groups import Topic, TopicsImage  # noqa: PLC0415 - as above

            image = self._broker.image
            topics = (
                Topic(each.name, each.topic_id, len(each.partitions)) for each in image.topics_by_id.values()
            )
            self._topics = TopicsImage(topics, image.end_offset)
        return self._topics

    def _group_config(self) -> "GroupConfig":
        from distributedlog.broker.group_settings import group_settings  # noqa: PLC0415 - as above

        return group_settings(self._broker.config, self._broker.image)

    def _follow_config(self) -> None:
        if not self._shards:
            return
        config = self._group_config()
        if config != self._config:
            self._config = config
            for shard in self._shards.values():
                shard.configure(config)

    def _new_id(self) -> str:
        return str(UUID(int=self._broker.chance.getrandbits(128), version=4))

    # -- for metrics ------------------------------------------------------------------------------------

    def committed_offsets(self) -> Iterator[tuple[str, str, int, int]]:
        """Group, topic, partition and offset of every commit there is."""
        for shard in self._shards.values():
            for group_id, topics in shard.coordinator.state.offsets.committed.items():
                for topic, partitions in topics.items():
                    for index, committed in partitions.items():
                        yield group_id, topic, index, committed.offset
