"""The logs follow the image: directories of new partitions, running configurations, deleted topics [io].

A partition's directory is made by a thread before its topic is promised to anybody: each costs a few trips
to the disk, and ``__consumer_offsets`` alone has fifty. What is deleted is renamed at once, so that its
name is free, and removed by a thread.
"""

import logging
import uuid
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from distributedlog.broker.auto_creation import auto_create
from distributedlog.broker.metadata_log import METADATA_TOPIC
from distributedlog.broker.topic_config import topic_settings
from distributedlog.cluster.changes import topic_changes
from distributedlog.cluster.image import ClusterImage, PartitionImage, TopicImage
from distributedlog.cluster.placement import new_partition
from distributedlog.cluster.topic_names import is_valid_name
from distributedlog.log import Files
from distributedlog.log.errors import InvalidConfig, LogError
from distributedlog.log.leader_epochs import (
    LEADER_EPOCH_CHECKPOINT,
    LeaderEpochCheckpoint,
    LeaderEpochFileCache,
)
from distributedlog.log.partition_metadata import PARTITION_METADATA, PartitionMetadata

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker

#: Directories made side by side: a journalling file system commits once for several.
LANES_MAX: Final = 8
STRAY_SUFFIX: Final = "-stray"

logger = logging.getLogger("distributedlog.broker")


class TopicLogs:
    """The only one who opens and deletes the logs of topics."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    # -- before a change is written -------------------------------------------------------------------

    def begin_prepare(self, old: ClusterImage, new: ClusterImage) -> Callable[[], None] | None:
        """Work for a thread that makes the directories of new partitions; None when there are none."""
        directory = self._broker.directory
        wanted = []
        for topic, partition in topic_changes(old, new).new_partitions:
            path = directory.path / f"{topic.name}-{partition.index}"
            if (
                self._broker.node_id not in partition.replicas
                or found_id(directory.files, path) == topic.topic_id
            ):
                continue
            directory.forget_offsets(topic.name, partition.index)
            wanted.append(_Wanted(path, topic.topic_id, partition.leader_epoch))
        if not wanted:
            return None
        return lambda: make_directories(directory.files, directory.path, wanted)

    # -- once it is true ------------------------------------------------------------------------------

    def follow(self, old: ClusterImage, new: ClusterImage) -> None:
        """Delete, open and reconfigure, so that the logs are what the image says."""
        changes = topic_changes(old, new)
        for topic in changes.gone:
            self._delete(topic)
        for topic, partition in changes.new_partitions:
            self._open(topic, partition)
        for topic in changes.reconfigured:
            self._configure(topic)

    def reconfigure_all(self) -> None:
        """The defaults have changed."""
        for topic in self._broker.image.topics_by_id.values():
            self._configure(topic)

    def _open(self, topic: TopicImage, partition: PartitionImage) -> None:
        broker = self._broker
        if broker.node_id not in partition.replicas:
            return
        try:
            settings = topic_settings(broker.config, topic.configs)
            broker.partitions.open(
                topic.name,
                partition.index,
                topic.topic_id,
                settings.log,
                settings.flush,
                leader_epoch=partition.leader_epoch,
            )
        except (LogError, OSError) as error:
            logger.error("partition %s-%s is not available: %s", topic.name, partition.index, error)

    def _configure(self, topic: TopicImage) -> None:
        try:
            settings = topic_settings(self._broker.config, topic.configs)
        except InvalidConfig as error:
            logger.error("topic %s keeps its configuration: %s", topic.name, error)
            return
        self._broker.partitions.configure(topic.name, settings.log, settings.flush)

    def create_internal_topic(self, name: str, done: Callable[[int], None]) -> None:
        """Make a topic of the broker's own if it is not there; ``done`` gets an error code."""
        if name in self._broker.image.topics_by_name:
            done(0)
            return
        auto_create(self._broker, [name], lambda codes: done(codes[name]))

    # -- deletion -------------------------------------------------------------------------------------

    def _delete(self, topic: TopicImage) -> None:
        broker = self._broker
        doomed: list[Path] = []
        for partition in broker.partitions.forget(topic.name):
            try:
                doomed.append(broker.directory.take_log_away(topic.name, partition.index))
            except (LogError, OSError) as error:
                logger.error("partition %s-%s is not deleted: %s", topic.name, partition.index, error)
        if not doomed:
            return
        directory = broker.directory

        def remove() -> None:
            directory.files.fsync_directory(directory.path)
            for path in doomed:
                directory.remove_directory(path)

        broker.scheduler.run_in_thread(
            remove,
            lambda _: logger.info("topic %s is deleted", topic.name),
            lambda error: logger.error("the files of topic %s are not removed: %s", topic.name, error),
        )

    # -- what a start finds ---------------------------------------------------------------------------

    def clear_strays(self, removed_topic_ids: Collection[bytes]) -> None:
        """Finish deletions that a crash interrupted. Other partitions that no topic knows are told of and
        left alone: they are somebody's data."""
        directory, strays = self._broker.directory, []
        doomed: list[Path] = []
        for topic, index in self._partitions_without_topic():
            path = directory.path / f"{topic}-{index}"
            if found_id(directory.files, path) in removed_topic_ids:
                doomed.append(path)
            else:
                strays.append(path.name)
        if strays:
            shown = ", ".join(strays[:5]) + (", ..." if len(strays) > 5 else "")
            logger.warning(
                "%d directories in %s belong to no topic of this cluster and are left alone: %s",
                len(strays),
                directory.path,
                shown,
            )
        for path in doomed:
            directory.remove_directory(path)

    def found_topics(self) -> list[TopicImage]:
        """Topics as the directory knows them, for a node that has no metadata yet: one that takes over the
        directory of an embedded `Log`. Only those of which every partition is there."""
        by_topic: dict[str, dict[int, bytes | None]] = {}
        directory = self._broker.directory
        for topic, index in self._partitions_without_topic():
            path = directory.path / f"{topic}-{index}"
            by_topic.setdefault(topic, {})[index] = found_id(directory.files, path)
        found = []
        for topic, ids in by_topic.items():
            topic_id = ids.get(0)
            whole = sorted(ids) == list(range(len(ids))) and len(set(ids.values())) == 1
            if topic_id is not None and whole and is_valid_name(topic):
                partitions = tuple(new_partition(index, [self._broker.node_id]) for index in sorted(ids))
                found.append(TopicImage(topic, topic_id, partitions))
        return found

    def _partitions_without_topic(self) -> list[tuple[str, int]]:
        topics = self._broker.image.topics_by_name
        return [
            (topic, index)
            for topic, index in self._broker.directory.partitions_on_disk()
            if topic != METADATA_TOPIC and (topic not in topics or index >= len(topics[topic].partitions))
        ]


def found_id(files: Files, path: Path) -> bytes | None:
    """The topic id in a partition's directory; None when there is none to be read."""
    try:
        topic_id = PartitionMetadata(files, path / PARTITION_METADATA).read()
    except (LogError, OSError):
        return None
    return None if topic_id is None else topic_id.bytes


class _Wanted:
    __slots__ = ("leader_epoch", "path", "topic_id")

    def __init__(self, path: Path, topic_id: bytes, leader_epoch: int) -> None:
        self.path = path
        self.topic_id = topic_id
        self.leader_epoch = leader_epoch


def make_directories(files: Files, parent: Path, wanted: Sequence[_Wanted]) -> None:
    """Make the partitions' directories with what tells whose they are, all of it on the disk at the end."""
    if len(wanted) == 1:
        _make_directory(files, wanted[0])
    else:
        with ThreadPoolExecutor(min(LANES_MAX, len(wanted)), "distributedlog-directories") as pool:
            list(pool.map(lambda one: _make_directory(files, one), wanted))
    files.fsync_directory(parent)


def _make_directory(files: Files, wanted: _Wanted) -> None:
    metadata = PartitionMetadata(files, wanted.path / PARTITION_METADATA)
    if wanted.path.exists():
        # Another topic's of the same name, one that this cluster does not know: put aside, not taken over.
        aside = wanted.path.with_name(f"{wanted.path.name}.{uuid.uuid4().hex}{STRAY_SUFFIX}")
        files.rename(wanted.path, aside)
        logger.warning("%s belonged to another topic and is now %s", wanted.path, aside.name)
    files.mkdir(wanted.path)
    metadata.write(uuid.UUID(bytes=wanted.topic_id))
    epochs = LeaderEpochFileCache()
    epochs.assign(wanted.leader_epoch, 0)
    LeaderEpochCheckpoint(files, wanted.path / LEADER_EPOCH_CHECKPOINT).write(epochs)
