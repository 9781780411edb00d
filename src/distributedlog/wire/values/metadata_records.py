"""The records of the metadata log (``__cluster_metadata``), in KRaft's own format.

A record has no key; its value is a frame: three unsigned varints (the frame's version 1, the record's
type, the version of the type) and then the message, which is flexible in every version. So Kafka's dump
tool reads our metadata log with ``--cluster-metadata-decoder``.
"""

from dataclasses import dataclass, field
from typing import Annotated, Any, Final, NamedTuple

from distributedlog.wire.codec import codec_of
from distributedlog.wire.errors import EncodeError, ProtocolError
from distributedlog.wire.primitives import Buffer, long_varint, read_varint
from distributedlog.wire.schema import ZERO_UUID, Int8, Int16, Int32, Int64, UInt16, Uuid, tagged, versions

FRAME_VERSION: Final = 1

#: `PartitionChangeRecord.leader` of a change that leaves the leader as it is.
NO_LEADER_CHANGE: Final = -2


@dataclass(slots=True)
class BrokerEndpoint:
    name: str = ""
    host: str = ""
    port: UInt16 = 0
    security_protocol: Int16 = 0


@dataclass(slots=True)
class BrokerFeature:
    name: str = ""
    min_supported_version: Int16 = 0
    max_supported_version: Int16 = 0


@dataclass(slots=True)
class RegisterBrokerRecord:
    """A broker has joined, or has come back with another life (``incarnation_id``)."""

    broker_id: Int32 = 0
    is_migrating_zk_broker: Annotated[bool, versions("2+")] = False
    incarnation_id: Uuid = ZERO_UUID
    broker_epoch: Int64 = 0
    end_points: list[BrokerEndpoint] = field(default_factory=list)
    features: list[BrokerFeature] = field(default_factory=list)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: Annotated[bool, versions("1+")] = False
    log_dirs: Annotated[list[Uuid], tagged(0, "3+")] = field(default_factory=list)


@dataclass(slots=True)
class UnregisterBrokerRecord:
    broker_id: Int32 = 0
    broker_epoch: Int64 = 0


@dataclass(slots=True)
class TopicRecord:
    """A topic, to which `PartitionRecord`s of the same id give its partitions."""

    name: str = ""
    topic_id: Uuid = ZERO_UUID


@dataclass(slots=True)
class PartitionRecord:
    partition_id: Int32 = -1
    topic_id: Uuid = ZERO_UUID
    replicas: list[Int32] = field(default_factory=list)
    isr: list[Int32] = field(default_factory=list)
    removing_replicas: list[Int32] = field(default_factory=list)
    adding_replicas: list[Int32] = field(default_factory=list)
    leader: Int32 = -1
    leader_recovery_state: Annotated[Int8, tagged(0, "0+")] = 0
    leader_epoch: Int32 = -1
    partition_epoch: Int32 = -1
    directories: Annotated[list[Uuid], versions("1+")] = field(default_factory=list)


@dataclass(slots=True)
class ConfigRecord:
    """One entry of a resource's configuration; a null value takes it away."""

    resource_type: Int8 = 0
    resource_name: str = ""
    name: str = ""
    value: str | None = ""


@dataclass(slots=True)
class PartitionChangeRecord:
    """What changed of a partition; a null or a default says that this did not."""

    partition_id: Int32 = -1
    topic_id: Uuid = ZERO_UUID
    isr: Annotated[list[Int32] | None, tagged(0, "0+")] = None
    leader: Annotated[Int32, tagged(1, "0+")] = NO_LEADER_CHANGE
    replicas: Annotated[list[Int32] | None, tagged(2, "0+")] = None


@dataclass(slots=True)
class RemoveTopicRecord:
    """The topic is gone, with its partitions and its configuration."""

    topic_id: Uuid = ZERO_UUID


@dataclass(slots=True)
class FeatureLevelRecord:
    name: str = ""
    feature_level: Int16 = 0


@dataclass(slots=True)
class ClientQuotaEntity:
    """One part of whom a quota is for; a null name is the default of its type."""

    entity_type: str = ""
    entity_name: str | None = None


@dataclass(slots=True)
class ClientQuotaRecord:
    entity: list[ClientQuotaEntity] = field(default_factory=list)
    key: str = ""
    value: float = 0.0
    remove: bool = False


@dataclass(slots=True)
class ProducerIdsRecord:
    """All producer ids below ``next_producer_id`` have been given to brokers."""

    broker_id: Int32 = 0
    broker_epoch: Int64 = -1
    next_producer_id: Int64 = 0


class MetadataRecordType(NamedTuple):
    """The number of a type of record, its class, and the newest version that we know of it."""

    number: int
    record_class: type[Any]
    last: int


_TYPES: Final = (
    MetadataRecordType(0, RegisterBrokerRecord, 3),
    MetadataRecordType(1, UnregisterBrokerRecord, 0),
    MetadataRecordType(2, TopicRecord, 0),
    MetadataRecordType(3, PartitionRecord, 1),
    MetadataRecordType(4, ConfigRecord, 0),
    MetadataRecordType(5, PartitionChangeRecord, 1),
    MetadataRecordType(9, RemoveTopicRecord, 0),
    MetadataRecordType(12, FeatureLevelRecord, 0),
    MetadataRecordType(14, ClientQuotaRecord, 0),
    MetadataRecordType(15, ProducerIdsRecord, 0),
)
_BY_CLASS: Final = {record_type.record_class: record_type for record_type in _TYPES}
_BY_NUMBER: Final = {record_type.number: record_type for record_type in _TYPES}

MetadataRecord = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | RemoveTopicRecord
    | FeatureLevelRecord
    | ClientQuotaRecord
    | ProducerIdsRecord
)


def encode_metadata_record(record: MetadataRecord) -> bytes:
    """The value of a record of the metadata log."""
    record_type = _BY_CLASS.get(type(record))
    if record_type is None:
        raise EncodeError(f"{type(record).__name__} is no record of the metadata log")
    head = b"".join(map(long_varint, (FRAME_VERSION, record_type.number, record_type.last)))
    return head + codec_of(record_type.record_class, record_type.last, True).encode(record)


def decode_metadata_record(data: Buffer) -> MetadataRecord:
    """The record in a value. A type or a version that is not known raises ``ProtocolError``: a node that
    steps over metadata which it does not understand would serve a cluster that is not there."""
    position = 0
    numbers = []
    for _ in range(3):
        number, position = _read_varint(data, position)
        numbers.append(number)
    frame_version, type_number, version = numbers
    if frame_version != FRAME_VERSION:
        raise ProtocolError(f"a metadata record has frame version {frame_version}, not {FRAME_VERSION}")
    record_type = _BY_NUMBER.get(type_number)
    if record_type is None or version > record_type.last:
        raise ProtocolError(f"metadata record type {type_number} in version {version} is not known")
    record: MetadataRecord
    record, end = codec_of(record_type.record_class, version, True).decode(data, position)
    if end != len(data):
        raise ProtocolError(f"a metadata record of type {type_number} ends {len(data) - end} bytes too early")
    return record


def _read_varint(data: Buffer, position: int) -> tuple[int, int]:
    try:
        first = data[position]
        return (first, position + 1) if first < 0x80 else read_varint(data, position + 1, first)
    except IndexError:
        raise ProtocolError(f"a metadata record of {len(data)} bytes ends within its frame") from None
