"""DescribeCluster (key 60), versions 0 to 2, flexible from 0.

Tells the cluster's id, its controller and its brokers without any topics (KIP-700). Authorised
operations are a set of bits, the lowest int32 where they were not asked for.

- 1: whether the caller means the brokers (1) or the controllers (2) (KIP-919)
- 2: fenced brokers too, on request (KIP-1073)
"""

from dataclasses import dataclass, field
from typing import Annotated

from distributedlog.wire.schema import Int8, Int16, Int32, versions


@dataclass(slots=True)
class DescribeClusterRequest:
    include_cluster_authorized_operations: bool = False
    endpoint_type: Annotated[Int8, versions("1+")] = 1
    include_fenced_brokers: Annotated[bool, versions("2+")] = False


@dataclass(slots=True)
class DescribeClusterBroker:
    broker_id: Int32 = 0
    host: str = ""
    port: Int32 = 0
    rack: str | None = None
    is_fenced: Annotated[bool, versions("2+")] = False


@dataclass(slots=True)
class DescribeClusterResponse:
    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: str | None = None
    endpoint_type: Annotated[Int8, versions("1+")] = 1
    cluster_id: str = ""
    controller_id: Int32 = -1
    brokers: list[DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: Int32 = -0x80000000
