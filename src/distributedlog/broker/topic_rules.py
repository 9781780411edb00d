"""What the controller asks of this broker before it decides about topics: defaults, keys, ids."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from distributedlog.broker.config_entries import topic_entries
from distributedlog.broker.topic_config import topic_settings
from distributedlog.cluster.create_topics import TopicRules
from distributedlog.cluster.refused import Refused
from distributedlog.log.errors import InvalidConfig
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k19_create_topics import CreatableTopicResultConfig
from distributedlog.wire.schema import ZERO_UUID

if TYPE_CHECKING:
    import random

    from distributedlog.broker.broker import Broker

#: Kafka keeps this id for the metadata log.
_METADATA_TOPIC_ID = (1).to_bytes(16)


def topic_rules(broker: "Broker") -> TopicRules:
    """The rules as they are now."""
    config = broker.config

    def check(configs: Mapping[str, str]) -> None:
        try:
            topic_settings(config, configs)
        except InvalidConfig as error:
            raise Refused(ErrorCode.INVALID_CONFIG, error.reason) from None

    def describe(configs: Mapping[str, str]) -> list[CreatableTopicResultConfig]:
        return [
            CreatableTopicResultConfig(entry.name, entry.value, False, int(entry.source), False)
            for entry in topic_entries(broker, configs)
        ]

    return TopicRules(
        brokers=broker_ids(broker),
        num_partitions=config.num_partitions,
        replication_factor=config.default_replication_factor,
        check_configs=check,
        describe=describe,
        new_topic_id=lambda: new_uuid(broker.chance),
    )


def broker_ids(broker: "Broker") -> list[int]:
    """The brokers that may hold partitions."""
    return sorted({broker.node_id, *broker.image.brokers})


def new_uuid(chance: "random.Random") -> bytes:
    """A random id, none of those that have a meaning, and none that begins with a dash when it is written
    as text: Kafka's tools would take it for an option."""
    while True:
        value = bytearray(chance.randbytes(16))
        value[6] = value[6] & 0x0F | 0x40
        value[8] = value[8] & 0x3F | 0x80
        made = bytes(value)
        if made not in (ZERO_UUID, _METADATA_TOPIC_ID) and value[0] >> 2 != 62:
            return made
