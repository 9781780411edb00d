"""Topics that nobody asked to create, made because somebody wants to use them."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.topic_rules import topic_rules
from distributedlog.cluster.create_topics import create_topics
from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC, ClusterImage
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from distributedlog.wire.values.metadata_records import MetadataRecord

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker

logger = logging.getLogger("distributedlog.broker")

NONE, EXISTS = int(ErrorCode.NONE), int(ErrorCode.TOPIC_ALREADY_EXISTS)


def auto_create(broker: "Broker", names: Sequence[str], done: Callable[[Mapping[str, int]], None]) -> None:
    """Create those that are not there; ``done`` gets an error code for each name, 0 also for one that
    somebody else has made meanwhile."""
    request = CreateTopicsRequest([wanted_topic(name, broker.config) for name in names])

    def decide(image: ClusterImage) -> tuple[Mapping[str, int], Sequence[MetadataRecord]]:
        results, records = create_topics(image, request, topic_rules(broker))
        codes = {result.name: result.error_code for result in results}
        return {name: NONE if code == EXISTS else code for name, code in codes.items()}, records

    def failed(error: BaseException) -> None:
        logger.error("topics %s could not be created: %s", ", ".join(names)[:500], error)
        done(dict.fromkeys(names, int(ErrorCode.KAFKA_STORAGE_ERROR)))

    broker.controller.submit(decide, done, failed)


def wanted_topic(name: str, config: BrokerConfig) -> CreatableTopic:
    """A topic as it is made on demand: by the broker's defaults, or as a coordinator needs its own."""
    configs: dict[str, object] = {}
    partitions = replicas = -1
    if name == CONSUMER_OFFSETS_TOPIC:
        partitions, replicas = config.offsets_topic_num_partitions, config.offsets_topic_replication_factor
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": config.offsets_topic_segment_bytes,
        }
    elif name == TRANSACTION_STATE_TOPIC:
        partitions = config.transaction_state_log_num_partitions
        replicas = config.transaction_state_log_replication_factor
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": config.transaction_state_log_min_isr,
            "segment.bytes": config.transaction_state_log_segment_bytes,
            "unclean.leader.election.enable": "false",
        }
    return CreatableTopic(
        name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(key, str(value)) for key, value in configs.items()],
    )
