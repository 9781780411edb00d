"""From the broker's configuration and what was set on groups to what coordinators go by."""

from dataclasses import fields
from typing import Any, Final

from distributedlog.broker.config import BrokerConfig
from distributedlog.broker.group_config import GROUP_KEYS
from distributedlog.cluster.image import ClusterImage, ResourceType
from distributedlog.groups import GroupConfig, GroupOverrides, MigrationPolicy

_OWN_FIELDS: Final = frozenset(field.name for field in fields(GroupConfig)) & frozenset(
    field.name for field in fields(BrokerConfig)
)
_OVERRIDES: Final = frozenset(field.name for field in fields(GroupOverrides))


def group_settings(config: BrokerConfig, image: ClusterImage) -> GroupConfig:
    """Names are the same on both sides; settings that the broker has no key for keep their default."""
    values: dict[str, Any] = {name: getattr(config, name) for name in _OWN_FIELDS}
    values["group_consumer_migration_policy"] = MigrationPolicy(config.group_consumer_migration_policy)
    overrides = {
        name: _overrides(configs)
        for (resource_type, name), configs in image.configs.items()
        if resource_type == ResourceType.GROUP
    }
    return GroupConfig(**values, overrides=overrides)


def _overrides(configs: Any) -> GroupOverrides:
    values: dict[str, Any] = {}
    for name, text in configs.items():
        key = GROUP_KEYS.get(name)
        if key is not None and key.attribute in _OVERRIDES:
            values[key.attribute] = key.parse(text)
    return GroupOverrides(**values)
