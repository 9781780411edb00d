"""[pure] The offset of a stream as its checkpoint keeps it: JSON with a version in it.

    {"version": 1, "topics": {"orders": {"id": "3f…", "offsets": {"0": 17, "1": 4}, "begins": {"1": 0}}}}

``id`` tells a topic from another one of the same name that was made after it was deleted. ``begins`` is where
partitions start that the offset before did not have; it stands in the checkpoint so that a batch which is
run again reads the same. Without a version it is the JSON of Spark's own Kafka source.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from distributedlog.client import TopicPartition
from distributedlog.spark.errors import SparkSourceError

VERSION: Final = 1
UNKNOWN_ID: Final = ""


class UnreadableOffset(SparkSourceError):
    """What the checkpoint holds is no offset of this source, or of a later version of it."""


@dataclass(frozen=True, slots=True)
class TopicOffsets:
    """By partition; all of them are offsets of the next record to read."""

    topic_id: str
    offsets: Mapping[int, int]
    begins: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamOffset:
    """By topic."""

    topics: Mapping[str, TopicOffsets]

    def start_of(self, partition: TopicPartition, topic_id: str) -> int | None:
        """Where the batch behind this offset reads on; None for what it knows nothing of."""
        topic = self.topics.get(partition.topic)
        if topic is None or not same_topic(topic.topic_id, topic_id):
            return None
        return topic.offsets.get(partition.partition)

    def partitions(self) -> dict[TopicPartition, int]:
        return {
            TopicPartition(name, index): offset
            for name, topic in self.topics.items()
            for index, offset in topic.offsets.items()
        }

    def to_json(self) -> dict[str, Any]:
        """Always the same for the same offset: Spark compares the texts."""
        topics = {}
        for name in sorted(self.topics):
            topic = self.topics[name]
            entry: dict[str, Any] = {"id": topic.topic_id, "offsets": _numbers(topic.offsets)}
            if topic.begins:
                entry["begins"] = _numbers(topic.begins)
            topics[name] = entry
        return {"version": VERSION, "topics": topics}


def same_topic(one: str, other: str) -> bool:
    """Whether the ids are of one topic, as far as anybody knows: old brokers and checkpoints have none."""
    return one == other or UNKNOWN_ID in {one.strip("0"), other.strip("0")}


def parse_offset(value: Any) -> StreamOffset:
    """UnreadableOffset for anything that `to_json`, or Spark's own source, has not written."""
    if not isinstance(value, dict):
        raise UnreadableOffset(f"the checkpoint has {value!r} in place of an offset")
    if "version" not in value:
        return StreamOffset(
            {name: TopicOffsets(UNKNOWN_ID, _parse(partitions, value)) for name, partitions in value.items()}
        )
    version = value["version"]
    if type(version) is not int or version < 1 or not isinstance(value.get("topics"), dict):
        raise UnreadableOffset(f"the checkpoint has {value!r} in place of an offset")
    if version > VERSION:
        raise UnreadableOffset(
            f"the checkpoint was written by a later distributedlog (its offsets have version {version}, "
            f"this one reads up to {VERSION}): pip install --upgrade distributedlog"
        )
    topics = {}
    for name, topic in value["topics"].items():
        if not isinstance(topic, dict) or not isinstance(topic.get("id"), str):
            raise UnreadableOffset(f"the checkpoint has {value!r} in place of an offset")
        begins = _parse(topic.get("begins", {}), value)
        topics[name] = TopicOffsets(topic["id"], _parse(topic.get("offsets"), value), begins)
    return StreamOffset(topics)


def _parse(partitions: Any, whole: Any) -> dict[int, int]:
    try:
        found = {int(index): offset for index, offset in partitions.items()}
    except (AttributeError, ValueError):
        found = {-1: -1}
    if not all(index >= 0 and type(offset) is int and offset >= 0 for index, offset in found.items()):
        raise UnreadableOffset(f"the checkpoint has {whole!r} in place of an offset")
    return found


def _numbers(by_partition: Mapping[int, int]) -> dict[str, int]:
    return {str(index): by_partition[index] for index in sorted(by_partition)}
