"""The group coordinators of this broker, and what they know of it: its topics and its configuration."""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from uuid import UUID

from distributedlog.broker.coordinator_runtime import CoordinatorRuntime
from distributedlog.broker.pending import Pending
from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC, ClusterImage
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext
    from distributedlog.broker.group_shard import GroupShard
    from distributedlog.broker.partition import Partition
    from distributedlog.broker.partition_verification import Answer, ClientAbility
    from distributedlog.groups import GroupConfig, TopicsImage
    from distributedlog.wire.k28_txn_offset_commit import TxnOffsetCommitRequest

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

    # -- transactions -----------------------------------------------------------------------------------

    def commit_in_transaction(
        self,
        context: "RequestContext",
        request: "TxnOffsetCommitRequest",
        ability: "ClientAbility",
        refuse: Callable[[ErrorCode], Any],
    ) -> Any:
        """The answer of the group's coordinator, once that of the transaction has said that the offsets'
        partition is part of it."""
        from distributedlog.broker.partition_verification import NO_SEQUENCE, Question  # noqa: PLC0415
        from distributedlog.coordination import client_error  # noqa: PLC0415 - as above

        shard, error = self._shard_of(request.group_id)
        if shard is None:
            return refuse(error)
        pending = Pending()

        def verified(answers: "list[Answer]") -> None:
            [answer] = answers
            if isinstance(answer, ErrorCode):
                pending.complete(refuse(_in_groups_words(client_error(answer))))
            elif shard.refusal is not ErrorCode.NONE:
                pending.complete(refuse(shard.refusal))
            else:
                shard.handle_verified(self._context(context, pending), request, answer)

        self._broker.verifier.ask(
            Question(
                request.transactional_id,
                request.producer_id,
                request.producer_epoch,
                ability,
                [(shard.partition, NO_SEQUENCE)],
            ),
            verified,
        )
        return pending

    def is_ready(self, index: int) -> bool:
        """Whether the coordinator of a partition has read all of its log."""
        shard = self._shards.get(index)
        return shard is not None and shard.refusal is ErrorCode.NONE

    def end_transaction(self, index: int, producer_id: int, is_committed: bool) -> None:
        """A marker was appended to a partition whose coordinator is ready."""
        self._shards[index].coordinator.replay_end_transaction(producer_id, is_committed)

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


def _in_groups_words(error: ErrorCode) -> ErrorCode:
    """A transaction's coordinator that gave no answer in time is, to a client, one that is not ready."""
    return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if error is ErrorCode.NETWORK_EXCEPTION else error
