"""The keys that a group may have of its own (config resource GROUP), and what the broker says of them: for
`consumer.session.timeout.ms` the default is ``group.consumer.session.timeout.ms``, and the bounds are
``group.consumer.min.session.timeout.ms`` and the same with ``max``.
"""

from collections.abc import Mapping
from typing import Any, Final

from distributedlog.broker.config import BrokerConfig
from distributedlog.log.config_key import ConfigKey, ConfigType, at_least
from distributedlog.log.errors import InvalidConfig

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
        ConfigKey(
            "consumer.assignment.interval.ms",
            ConfigType.INT,
            1_000,
            at_least(0),
            "The least time between two assignments of a group of the consumer protocol.",
        ),
    )
}


def broker_key_of(name: str) -> str:
    """The broker's key that gives a group's key its default."""
    return f"group.{name}"


def group_default(config: BrokerConfig, name: str) -> Any:
    """What a group's key has where the group says nothing."""
    return getattr(config, broker_key_of(name).replace(".", "_"))


def check_group_value(config: BrokerConfig, name: str, text: str) -> None:
    """InvalidConfig for a value that is none, or one outside of the broker's bounds."""
    value = GROUP_KEYS[name].parse(text)
    setting = name.removeprefix("consumer.").replace(".", "_")
    low = getattr(config, f"group_consumer_min_{setting}")
    high = getattr(config, f"group_consumer_max_{setting}")
    if not low <= value <= high:
        raise InvalidConfig(
            name, value, f"{name} = {value} is not possible: the broker allows {low} to {high}"
        )
