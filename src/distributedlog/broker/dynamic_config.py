"""The broker's configuration as it is: what it was started with, and over that what the metadata says.

A value set for this broker goes before one set for all brokers, and that before the one it was started with.
"""

from dataclasses import replace
from typing import Any

from distributedlog.broker.config import BROKER_KEYS, BrokerConfig
from distributedlog.cluster.image import ClusterImage, ResourceType

#: The resource name under which the configuration of all brokers is kept.
ALL_BROKERS = ""


def effective_config(static: BrokerConfig, image: ClusterImage, node_id: int) -> BrokerConfig:
    """The configuration that counts. Keys of another version of the software are passed over."""
    changed = {
        **image.configs_of(ResourceType.BROKER, ALL_BROKERS),
        **image.configs_of(ResourceType.BROKER, str(node_id)),
    }
    if not changed:
        return static
    keys = {name: BROKER_KEYS[name] for name in changed if name in BROKER_KEYS}
    values: dict[str, Any] = {key.attribute: key.parse(changed[name]) for name, key in keys.items()}
    return replace(static, **values)
