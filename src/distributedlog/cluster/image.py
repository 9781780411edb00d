"""What is true of the cluster at one offset of its metadata log [pure].

An image is never changed: `cluster/replay.py` makes the next one from this one and a few records. Whoever
holds an image may go on with it while others are made; two images are compared to find what has to be
done (`cluster/changes.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final

#: Topics that the broker itself writes: they answer as internal, and clients do not create them.
CONSUMER_OFFSETS_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
INTERNAL_TOPICS: Final = frozenset({CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC})

_NOTHING: Final[Mapping[Any, Any]] = MappingProxyType({})


class ResourceType(IntEnum):
    """What a configuration belongs to, by the numbers of the config APIs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True)
class PartitionImage:
    """One partition: who holds it, who leads it, and since which epoch."""

    index: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int


@dataclass(frozen=True, slots=True)
class TopicImage:
    """A topic. ``partitions[i].index == i``; ``configs`` holds what was set on it, as text."""

    name: str
    topic_id: bytes
    partitions: tuple[PartitionImage, ...] = ()
    configs: Mapping[str, str] = field(default_factory=lambda: _NOTHING)

    @property
    def is_internal(self) -> bool:
        return self.name in INTERNAL_TOPICS


@dataclass(frozen=True, slots=True)
class EndpointImage:
    listener: str
    host: str
    port: int


@dataclass(frozen=True, slots=True)
class BrokerImage:
    """A broker that has registered."""

    broker_id: int
    broker_epoch: int
    incarnation_id: bytes
    endpoints: tuple[EndpointImage, ...]
    rack: str | None
    fenced: bool


#: Of whom a quota is: (type, name) pairs in the order of their types, a None name for the default.
QuotaEntity = tuple[tuple[str, str | None], ...]
ConfigResource = tuple[int, str]


@dataclass(frozen=True, slots=True)
class ClusterImage:
    """The whole: topics by name and by id, brokers, configurations, quotas, features, producer ids.

    ``end_offset`` is the offset in the metadata log up to which it was made.
    """

    end_offset: int = 0
    topics_by_name: Mapping[str, TopicImage] = field(default_factory=lambda: _NOTHING)
    topics_by_id: Mapping[bytes, TopicImage] = field(default_factory=lambda: _NOTHING)
    brokers: Mapping[int, BrokerImage] = field(default_factory=lambda: _NOTHING)
    configs: Mapping[ConfigResource, Mapping[str, str]] = field(default_factory=lambda: _NOTHING)
    client_quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=lambda: _NOTHING)
    features: Mapping[str, int] = field(default_factory=lambda: _NOTHING)
    next_producer_id: int = 0

    def configs_of(self, resource_type: int, name: str) -> Mapping[str, str]:
        """What was set on a resource; empty when nothing was."""
        return self.configs.get((resource_type, name), _NOTHING)


EMPTY_IMAGE: Final = ClusterImage()
