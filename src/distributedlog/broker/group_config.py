"""The keys that a group may have of its own (config resource GROUP), and their defaults in the broker's."""

from collections.abc import Mapping
from typing import Any, Final

from distributedlog.broker.config import BrokerConfig
from distributedlog.log.config_key import ConfigKey, ConfigType, at_least

GROUP_KEYS: Final[Mapping[str, ConfigKey]] = {
    key.name: key
    for key in (
        ConfigKey(
            "consumer.session.timeout.ms",
            ConfigType.INT,
            45_000,
            at_least(1),
            "Time for which a member of the consumer protocol may be silent.",
        ),
        ConfigKey(
            "consumer.heartbeat.interval.ms",
            ConfigType.INT,
            5_000,
            at_least(1),
            "How often a member of the consumer protocol is told to speak up.",
        ),
    )
}


def group_default(config: BrokerConfig, name: str) -> Any:
    """What a group's key has where the group says nothing."""
    return getattr(config, f"group_{GROUP_KEYS[name].attribute}")
