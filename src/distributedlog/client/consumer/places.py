"""Which broker leads which partition: a dictionary, made anew only when the metadata is new."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from distributedlog.client.cluster_client import ClusterClient
    from distributedlog.client.metadata import ClusterMetadata, TopicPartition


class Place(NamedTuple):
    leader_id: int
    leader_epoch: int


class Places:
    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self._seen: ClusterMetadata | None = None
        self._topics: dict[str, dict[int, Place]] = {}

    def of(self, partition: TopicPartition) -> Place | None:
        """None for a partition whose leader is not known, or which is not known at all."""
        metadata = self._client.metadata
        if metadata is not self._seen:
            self._seen = metadata
            self._topics.clear()
        topic, index = partition
        places = self._topics.get(topic)
        if places is None:
            known = metadata.topics.get(topic)
            places = self._topics[topic] = {
                each.index: Place(each.leader_id, each.leader_epoch)
                for each in (known.partitions if known is not None else ())
                if each.leader_id in metadata.brokers
            }
        return places.get(index)
