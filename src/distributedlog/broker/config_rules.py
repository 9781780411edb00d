"""What may be changed by AlterConfigs, and on what: the broker's side of `cluster/alter_configs.py`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from distributedlog.broker.config import BROKER_KEYS, BrokerConfig, broker_key
from distributedlog.broker.dynamic_config import ALL_BROKERS, effective_config
from distributedlog.broker.group_config import GROUP_KEYS, check_group_value
from distributedlog.broker.topic_config import TOPIC_KEYS, default_value, topic_settings
from distributedlog.cluster.image import ClusterImage, ConfigResource, ResourceType
from distributedlog.cluster.refused import Refused
from distributedlog.cluster.replay import replay
from distributedlog.cluster.topic_names import check_name
from distributedlog.log.config_key import ConfigType
from distributedlog.log.errors import InvalidConfig
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.values.metadata_records import ConfigRecord

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker


class BrokerConfigRules:
    """`ConfigRules` of one broker, by its configuration as it is now."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def list_default(self, resource: ConfigResource, name: str) -> tuple[str, ...] | None:
        resource_type, _ = resource
        config = self._broker.config
        if resource_type == ResourceType.TOPIC and name in TOPIC_KEYS:
            if TOPIC_KEYS[name].type is ConfigType.LIST:
                return tuple(default_value(config, name))
        elif resource_type == ResourceType.BROKER and name in BROKER_KEYS:
            key = BROKER_KEYS[name]
            if key.type is ConfigType.LIST:
                return tuple(getattr(config, key.attribute))
        return None

    def check(
        self,
        image: ClusterImage,
        resource: ConfigResource,
        changed: Sequence[str],
        configs: Mapping[str, str],
    ) -> None:
        try:
            match resource[0]:
                case ResourceType.TOPIC:
                    self._check_topic(image, resource[1], configs)
                case ResourceType.BROKER:
                    self._check_broker(image, resource[1], changed, configs)
                case ResourceType.GROUP:
                    _check_group(self._broker.config, resource[1], configs)
                case _:
                    raise Refused(
                        ErrorCode.INVALID_REQUEST,
                        f"resources of type {resource[0]} have no configuration here",
                    )
        except InvalidConfig as error:
            # Kafka's controller knows the keys of topics and groups, and leaves those of brokers to them.
            is_broker = resource[0] == ResourceType.BROKER
            code = ErrorCode.INVALID_REQUEST if is_broker else ErrorCode.INVALID_CONFIG
            raise Refused(code, error.reason) from None

    def _check_topic(self, image: ClusterImage, name: str, configs: Mapping[str, str]) -> None:
        if not name:
            raise Refused(ErrorCode.INVALID_REQUEST, "there are no defaults of topics but the brokers'")
        check_name(name)
        if name not in image.topics_by_name:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic_settings(self._broker.config, configs)

    def _check_broker(
        self, image: ClusterImage, name: str, changed: Sequence[str], configs: Mapping[str, str]
    ) -> None:
        if name not in (ALL_BROKERS, str(self._broker.node_id)):
            raise Refused(ErrorCode.INVALID_REQUEST, f"there is no broker {name[:50]!r}")
        fixed = [key for key in changed if not broker_key(key).is_dynamic]
        if fixed:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"{', '.join(fixed)} cannot be changed while the broker runs"
            )
        for key, text in configs.items():
            broker_key(key, text).parse(text)
        # What it would all be together: limits that contradict each other are found here.
        resource = (int(ResourceType.BROKER), name)
        old = image.configs_of(*resource)
        records = [ConfigRecord(*resource, key, text) for key, text in configs.items()]
        records += [ConfigRecord(*resource, key, None) for key in old if key not in configs]
        after = replay(image, records, image.end_offset)
        config = effective_config(self._broker.static_config, after, self._broker.node_id)
        topic_settings(config, {})


def _check_group(config: BrokerConfig, name: str, configs: Mapping[str, str]) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "a group's name cannot be empty")
    for key, text in configs.items():
        if key not in GROUP_KEYS:
            known = ", ".join(GROUP_KEYS)
            raise InvalidConfig(
                key, text, f"there is no group configuration {key[:200]!r}: there are {known}"
            )
        check_group_value(config, key, text)
