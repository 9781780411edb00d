"""BrokerRegistration (key 62), versions 0 to 4, flexible from 0.

A broker that starts makes itself known to the controller and gets its broker epoch (KIP-631). It
stays fenced until its heartbeats (key 63) say that it has caught up with the metadata.

- 1: a flag for brokers that migrate from ZooKeeper (KIP-866); Kafka 4 has none left
- 2: the ids of the data directories (KIP-858)
- 3: the epoch before this start, to recognise a clean shutdown (KIP-966)
- 4: features whose lowest supported level is 0, which older versions leave out (KAFKA-17011)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Int64, UInt16, Uuid, ignorable, versions


@dataclass(slots=True)
class RegisteredListener:
    name: str = ""
    host: str = ""
    port: UInt16 = 0
    security_protocol: Int16 = 0


@dataclass(slots=True)
class RegisteredFeature:
    name: str = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@dataclass(slots=True)
class BrokerRegistrationRequest:
    broker_id: Int32 = 0
    cluster_id: str = ""
    incarnation_id: Uuid = ZERO_UUID
    listeners: list[RegisteredListener] = field(default_factory=list)
    features: list[RegisteredFeature] = field(default_factory=list)
    rack: str | None = ""
    is_migrating_zk_broker: Annotated[bool, versions("1+")] = False
    log_dirs: Annotated[list[Uuid], versions("2+"), ignorable] = field(default_factory=list)
    previous_broker_epoch: Annotated[Int64, versions("3+"), ignorable] = -1


@dataclass(slots=True)
class BrokerRegistrationResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    broker_epoch: Int64 = -1
