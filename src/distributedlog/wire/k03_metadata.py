"""Metadata (key 3), versions 0 to 13, flexible from 9.

Tells which brokers there are, and who leads the partitions of the topics asked for. A null list of
topics asks for all of them; an empty one asks for none, except in version 0, which knows no null and
where empty means all. May create the topics that it names.

- 1: racks, the controller, which topics are internal
- 2: the cluster's id
- 4: ``allow_auto_topic_creation``
- 5: offline replicas
- 7: leader epochs (KIP-320)
- 8: authorized operations, where asked for; the lowest int32 stands for "not asked"
- 10: topic ids in the response; in the request they stand on the wire, but brokers obey them from 12 on
- 11: no authorized operations of the cluster any more, DescribeCluster has them (KIP-700)
- 12: topics may be asked for by id, with a null name
- 13: an error of the whole response
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import ZERO_UUID, Int16, Int32, Uuid, ignorable, nullable, versions


@dataclass(slots=True)
class MetadataRequestTopic:
    topic_id: Annotated[Uuid, versions("10+"), ignorable] = ZERO_UUID
    name: Annotated[str | None, nullable("10+")] = ""


@dataclass(slots=True)
class MetadataRequest:
    topics: Annotated[list[MetadataRequestTopic] | None, nullable("1+")] = field(default_factory=list)
    allow_auto_topic_creation: Annotated[bool, versions("4+")] = True
    include_cluster_authorized_operations: Annotated[bool, versions("8-10")] = False
    include_topic_authorized_operations: Annotated[bool, versions("8+")] = False


@dataclass(slots=True)
class MetadataResponseBroker:
    node_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: Annotated[str | None, versions("1+"), ignorable] = None


@dataclass(slots=True)
class MetadataResponsePartition:
    error_code: Int16 = 0
    partition_index: Int32 = 0
    leader_id: Int32 = 0
    leader_epoch: Annotated[Int32, versions("7+"), ignorable] = -1
    replica_nodes: list[Int32] = field(default_factory=list)
    isr_nodes: list[Int32] = field(default_factory=list)
    offline_replicas: Annotated[list[Int32], versions("5+"), ignorable] = field(default_factory=list)


@dataclass(slots=True)
class MetadataResponseTopic:
    error_code: Int16 = 0
    name: Annotated[str | None, nullable("12+")] = ""
    topic_id: Annotated[Uuid, versions("10+"), ignorable] = ZERO_UUID
    is_internal: Annotated[bool, versions("1+"), ignorable] = False
    partitions: list[MetadataResponsePartition] = field(default_factory=list)
    topic_authorized_operations: Annotated[Int32, versions("8+")] = -(2**31)


@dataclass(slots=True)
class MetadataResponse:
    throttle_time_ms: Annotated[Int32, versions("3+"), ignorable] = 0
    brokers: list[MetadataResponseBroker] = field(default_factory=list)
    cluster_id: Annotated[str | None, versions("2+"), ignorable] = None
    controller_id: Annotated[Int32, versions("1+"), ignorable] = -1
    topics: list[MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: Annotated[Int32, versions("8-10")] = -(2**31)
    error_code: Annotated[Int16, versions("13+"), ignorable] = 0
