"""What the coordinator knows of the cluster's topics: an immutable image, handed in by the broker."""

from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple

from distributedlog.wire.schema import ZERO_UUID


class Topic(NamedTuple):
    """A topic by both of its names, and its size."""

    name: str
    topic_id: bytes
    partitions: int


class TopicsImage:
    """All topics at one version of the metadata."""

    __slots__ = ("_by_id", "_by_name", "version")

    def __init__(self, topics: Iterable[Topic] = (), version: int = 0) -> None:
        self.version = version
        self._by_name = {topic.name: topic for topic in topics}
        self._by_id = {topic.topic_id: topic for topic in self._by_name.values()}

    def named(self, name: str) -> Topic | None:
        """The topic of this name."""
        return self._by_name.get(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        """The topic of this id."""
        return self._by_id.get(topic_id)

    def id_of(self, name: str) -> bytes:
        """The id of a topic, or the zero id."""
        topic = self._by_name.get(name)
        return ZERO_UUID if topic is None else topic.topic_id

    def ids(self) -> Iterable[bytes]:
        """The ids of all topics."""
        return self._by_id.keys()

    def names(self) -> Iterable[str]:
        """The names of all topics."""
        return self._by_name.keys()

    def __len__(self) -> int:
        return len(self._by_name)


def metadata_hash(names: Iterable[str], image: TopicsImage) -> int:
    """A signed 64-bit fingerprint of the subscribed topics that exist: name, id and size.

    It tells a later coordinator whether the topics are those that the last assignment knew. It means
    something only to whoever wrote it; Kafka's is another (XXH3), and where one takes over from the other
    the group is assigned once more. 0 stands for no topics.
    """
    digest = blake2b(digest_size=8)
    known = False
    for name in sorted(set(names)):
        topic = image.named(name)
        if topic is not None:
            known = True
            encoded = name.encode()
            digest.update(len(encoded).to_bytes(4))
            digest.update(encoded)
            digest.update(topic.topic_id)
            digest.update(topic.partitions.to_bytes(4))
    return int.from_bytes(digest.digest(), signed=True) if known else 0
