"""Every entry of a resource's configuration, with where its value comes from (KIP-226)."""

from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from distributedlog.broker.config import BROKER_KEYS, NOT_SET
from distributedlog.broker.dynamic_config import ALL_BROKERS
from distributedlog.broker.group_config import GROUP_KEYS, broker_key_of
from distributedlog.broker.topic_config import SYNONYMS, TOPIC_KEYS, default_value
from distributedlog.cluster.image import ResourceType
from distributedlog.log.config_key import ConfigKey

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker


class Source(IntEnum):
    """Kafka's numbers."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    GROUP_CONFIG = 8


class EntrySynonym(NamedTuple):
    """A place where the value might come from; the first of an entry's is where it does."""

    name: str
    value: str | None
    source: Source


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    source: Source
    synonyms: list[EntrySynonym]
    key: ConfigKey
    is_read_only: bool = False


def topic_entries(broker: "Broker", configs: Mapping[str, str]) -> list[ConfigEntry]:
    """Every key that a topic may have, for a topic on which these configs were set."""
    entries = []
    for name, key in TOPIC_KEYS.items():
        own, synonyms = None, []
        if name in configs:
            own = key.format(key.parse(configs[name]))
            synonyms.append(EntrySynonym(name, own, Source.DYNAMIC_TOPIC_CONFIG))
        for broker_key, _ in SYNONYMS.get(name, ()):
            synonyms += _broker_synonyms(broker, broker_key)
        source = synonyms[0].source if synonyms else Source.DEFAULT_CONFIG
        # A synonym is told in its own unit, as 168 of log.retention.hours.
        value = own if own is not None else key.format(default_value(broker.config, name))
        entries.append(ConfigEntry(name, value, source, synonyms, key))
    return entries


def broker_entries(broker: "Broker") -> list[ConfigEntry]:
    """Every key of this broker."""
    entries = []
    for name, key in BROKER_KEYS.items():
        synonyms = _broker_synonyms(broker, name)
        if synonyms:
            value, source = synonyms[0].value, synonyms[0].source
        else:
            value, source = None, Source.DEFAULT_CONFIG
        entries.append(ConfigEntry(name, value, source, synonyms, key, not key.is_dynamic))
    return entries


def all_brokers_entries(broker: "Broker") -> list[ConfigEntry]:
    """What was set for all brokers; nothing else belongs to this resource."""
    configs = broker.image.configs_of(ResourceType.BROKER, ALL_BROKERS)
    source = Source.DYNAMIC_DEFAULT_BROKER_CONFIG
    return [
        ConfigEntry(name, configs[name], source, [EntrySynonym(name, configs[name], source)], key)
        for name, key in BROKER_KEYS.items()
        if name in configs
    ]


def _broker_synonyms(broker: "Broker", name: str) -> list[EntrySynonym]:
    """Where the value of a broker's key may come from, what counts first. Empty when it is not set at all."""
    key = BROKER_KEYS[name]
    found = []
    for resource_name, source in (
        (str(broker.node_id), Source.DYNAMIC_BROKER_CONFIG),
        (ALL_BROKERS, Source.DYNAMIC_DEFAULT_BROKER_CONFIG),
    ):
        text = broker.image.configs_of(ResourceType.BROKER, resource_name).get(name)
        if text is not None:
            found.append(EntrySynonym(name, text, source))
    static: Any = getattr(broker.static_config, key.attribute)
    if static != key.default:
        found.append(EntrySynonym(name, key.format(static), Source.STATIC_BROKER_CONFIG))
    if key.default != NOT_SET:
        found.append(EntrySynonym(name, key.format(key.default), Source.DEFAULT_CONFIG))
    return found


def group_entries(broker: "Broker", group_id: str) -> list[ConfigEntry]:
    """Every key that a group may have."""
    configs = broker.image.configs_of(ResourceType.GROUP, group_id)
    entries = []
    for name, key in GROUP_KEYS.items():
        synonyms = _broker_synonyms(broker, broker_key_of(name))
        if name in configs:
            synonyms.insert(0, EntrySynonym(name, configs[name], Source.GROUP_CONFIG))
        entries.append(ConfigEntry(name, synonyms[0].value, synonyms[0].source, synonyms, key))
    return entries
