"""The way from one image and some records to the next image [pure].

Replaying is total: the records of our own log always fit, and a record that does not (of a topic that is
not there) is an error of whoever wrote the log, told by `MetadataError`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from distributedlog.cluster.image import (
    BrokerImage,
    ClusterImage,
    ConfigResource,
    EndpointImage,
    PartitionImage,
    QuotaEntity,
    ResourceType,
    TopicImage,
)
from distributedlog.wire.values.metadata_records import (
    NO_LEADER_CHANGE,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
)

Key = TypeVar("Key")
Value = TypeVar("Value")


class MetadataError(Exception):
    """A metadata record that contradicts what was recorded before it."""


def replay(image: ClusterImage, records: Iterable[MetadataRecord], end_offset: int) -> ClusterImage:
    """The image after these records. Nothing of the old one is changed, and what did not change is shared."""
    delta = _Delta(image)
    for record in records:
        delta.take(record)
    return delta.image(end_offset)


class _Delta:
    """Copies of the tables that change, made when the first record asks for them."""

    def __init__(self, image: ClusterImage) -> None:
        self._base = image
        self._topics: dict[bytes, TopicImage | None] = {}
        self._new_partitions: dict[bytes, dict[int, PartitionImage]] = {}
        self._names = dict(image.topics_by_name)
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self._quotas: dict[QuotaEntity, dict[str, float]] = {}
        self._brokers: dict[int, BrokerImage] | None = None
        self._features: dict[str, int] | None = None
        self._next_producer_id = image.next_producer_id

    def take(self, record: MetadataRecord) -> None:
        match record:
            case TopicRecord():
                self._add_topic(record)
            case PartitionRecord():
                self._partitions_of(record.topic_id)[record.partition_id] = PartitionImage(
                    record.partition_id,
                    tuple(record.replicas),
                    tuple(record.isr),
                    record.leader,
                    record.leader_epoch,
                    record.partition_epoch,
                )
            case PartitionChangeRecord():
                self._change_partition(record)
            case RemoveTopicRecord():
                self._remove_topic(record.topic_id)
            case ConfigRecord():
                self._change_config(record)
            case ClientQuotaRecord():
                self._change_quota(record)
            case FeatureLevelRecord():
                self._change_feature(record)
            case ProducerIdsRecord():
                self._next_producer_id = record.next_producer_id
            case RegisterBrokerRecord():
                self._register(record)
            case UnregisterBrokerRecord():
                self._broker_table().pop(record.broker_id, None)

    # -- topics ---------------------------------------------------------------------------------------

    def _topic(self, topic_id: bytes) -> TopicImage:
        topic = self._topics[topic_id] if topic_id in self._topics else self._base.topics_by_id.get(topic_id)
        if topic is None:
            raise MetadataError(f"there is no topic of id {topic_id.hex()}")
        return topic

    def _add_topic(self, record: TopicRecord) -> None:
        if record.name in self._names:
            raise MetadataError(f"topic {record.name!r} is there already")
        topic = TopicImage(record.name, bytes(record.topic_id))
        self._topics[topic.topic_id] = topic
        self._names[topic.name] = topic
        self._new_partitions[topic.topic_id] = {}

    def _partitions_of(self, topic_id: bytes) -> dict[int, PartitionImage]:
        topic_id = bytes(topic_id)
        partitions = self._new_partitions.get(topic_id)
        if partitions is None:
            topic = self._topic(topic_id)
            partitions = {partition.index: partition for partition in topic.partitions}
            self._new_partitions[topic_id] = partitions
            self._topics[topic_id] = topic
        return partitions

    def _change_partition(self, record: PartitionChangeRecord) -> None:
        partitions = self._partitions_of(record.topic_id)
        old = partitions.get(record.partition_id)
        if old is None:
            raise MetadataError(f"topic {record.topic_id.hex()} has no partition {record.partition_id}")
        leader_changes = record.leader not in (NO_LEADER_CHANGE, old.leader)
        partitions[record.partition_id] = PartitionImage(
            old.index,
            old.replicas if record.replicas is None else tuple(record.replicas),
            old.isr if record.isr is None else tuple(record.isr),
            record.leader if leader_changes else old.leader,
            old.leader_epoch + leader_changes,
            old.partition_epoch + 1,
        )

    def _remove_topic(self, topic_id: bytes) -> None:
        topic = self._topic(topic_id)
        self._topics[topic.topic_id] = None
        self._new_partitions.pop(topic.topic_id, None)
        del self._names[topic.name]
        self._configs[ResourceType.TOPIC, topic.name] = {}

    # -- all else -------------------------------------------------------------------------------------

    def _change_config(self, record: ConfigRecord) -> None:
        resource = (record.resource_type, record.resource_name)
        if resource not in self._configs:
            self._configs[resource] = dict(self._base.configs.get(resource, ()))
        if record.value is None:
            self._configs[resource].pop(record.name, None)
        else:
            self._configs[resource][record.name] = record.value

    def _change_quota(self, record: ClientQuotaRecord) -> None:
        entity = tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
        if entity not in self._quotas:
            self._quotas[entity] = dict(self._base.client_quotas.get(entity, ()))
        if record.remove:
            self._quotas[entity].pop(record.key, None)
        else:
            self._quotas[entity][record.key] = record.value

    def _change_feature(self, record: FeatureLevelRecord) -> None:
        if self._features is None:
            self._features = dict(self._base.features)
        if record.feature_level == 0:
            self._features.pop(record.name, None)
        else:
            self._features[record.name] = record.feature_level

    def _broker_table(self) -> dict[int, BrokerImage]:
        if self._brokers is None:
            self._brokers = dict(self._base.brokers)
        return self._brokers

    def _register(self, record: RegisterBrokerRecord) -> None:
        self._broker_table()[record.broker_id] = BrokerImage(
            record.broker_id,
            record.broker_epoch,
            bytes(record.incarnation_id),
            tuple(EndpointImage(point.name, point.host, point.port) for point in record.end_points),
            record.rack,
            record.fenced,
        )

    # -- the result -----------------------------------------------------------------------------------

    def image(self, end_offset: int) -> ClusterImage:
        base = self._base
        configs = _changed(base.configs, self._configs)
        by_id = dict(base.topics_by_id)
        by_name = self._names
        for resource_type, name in self._configs:
            named = by_name.get(name)
            if resource_type == ResourceType.TOPIC and named is not None:
                self._topics.setdefault(named.topic_id, named)
        for topic_id, topic in self._topics.items():
            if topic is None:
                by_id.pop(topic_id, None)
                continue
            finished = replace(
                topic,
                partitions=self._finished_partitions(topic),
                configs=configs.get((ResourceType.TOPIC, topic.name), {}),
            )
            by_id[topic_id] = by_name[topic.name] = finished
        return ClusterImage(
            end_offset=end_offset,
            topics_by_name=by_name if self._topics else base.topics_by_name,
            topics_by_id=by_id if self._topics else base.topics_by_id,
            brokers=base.brokers if self._brokers is None else self._brokers,
            configs=configs,
            client_quotas=_changed(base.client_quotas, self._quotas),
            features=base.features if self._features is None else self._features,
            next_producer_id=self._next_producer_id,
        )

    def _finished_partitions(self, topic: TopicImage) -> tuple[PartitionImage, ...]:
        partitions = self._new_partitions.get(topic.topic_id)
        if partitions is None:
            return topic.partitions
        if sorted(partitions) != list(range(len(partitions))):
            raise MetadataError(f"the partitions of topic {topic.name!r} are not numbered from 0 on")
        return tuple(partitions[index] for index in range(len(partitions)))


def _changed(
    base: Mapping[Key, Mapping[str, Value]], changes: dict[Key, dict[str, Value]]
) -> Mapping[Key, Mapping[str, Value]]:
    """The table with the changed entries in it, and those that became empty gone from it."""
    if not changes:
        return base
    table = {**base, **changes}
    return {key: entries for key, entries in table.items() if entries}
