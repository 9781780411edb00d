"""An image as the shortest list of records that makes it [pure]."""

from collections.abc import Iterator

from distributedlog.cluster.image import BrokerImage, ClusterImage, TopicImage
from distributedlog.wire.values.metadata_records import (
    BrokerEndpoint,
    ClientQuotaEntity,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    MetadataRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    TopicRecord,
)


def image_records(image: ClusterImage) -> Iterator[MetadataRecord]:
    """Replayed from nothing, these records give the image again."""
    for name, level in image.features.items():
        yield FeatureLevelRecord(name, level)
    for broker in image.brokers.values():
        yield _broker_record(broker)
    for topic in image.topics_by_id.values():
        yield from topic_records(topic)
    for (resource_type, resource_name), configs in image.configs.items():
        for name, value in configs.items():
            yield ConfigRecord(resource_type, resource_name, name, value)
    for entity, quotas in image.client_quotas.items():
        for key, limit in quotas.items():
            yield ClientQuotaRecord([ClientQuotaEntity(*part) for part in entity], key, limit)
    if image.next_producer_id:
        yield ProducerIdsRecord(next_producer_id=image.next_producer_id)


def topic_records(topic: TopicImage) -> Iterator[MetadataRecord]:
    """A topic and its partitions, without its configuration."""
    yield TopicRecord(topic.name, topic.topic_id)
    for partition in topic.partitions:
        yield PartitionRecord(
            partition_id=partition.index,
            topic_id=topic.topic_id,
            replicas=list(partition.replicas),
            isr=list(partition.isr),
            leader=partition.leader,
            leader_epoch=partition.leader_epoch,
            partition_epoch=partition.partition_epoch,
        )


def _broker_record(broker: BrokerImage) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker.broker_id,
        incarnation_id=broker.incarnation_id,
        broker_epoch=broker.broker_epoch,
        end_points=[BrokerEndpoint(point.listener, point.host, point.port) for point in broker.endpoints],
        rack=broker.rack,
        fenced=broker.fenced,
    )
