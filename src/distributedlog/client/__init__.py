"""Talking to any Kafka-compatible cluster: connections, metadata, and what administrators do.

    async with ClusterClient("localhost:9092") as client:
        topics = await client.all_topics()

Modules of this room: ``connection`` (one broker) over ``conversation`` (sans-IO) and ``negotiation``;
``cluster_client`` (all brokers) over ``metadata``; on top of it ``topics``, ``configs``, ``groups``,
``offsets``, ``fetcher`` and ``group_member``. What programs use stands in folders of its own: ``producer``
and ``admin``; ``background`` is the thread of their blocking faces.
"""

from distributedlog.client.addresses import Address, parse_bootstrap
from distributedlog.client.cluster_client import ClusterClient
from distributedlog.client.connection import Connection
from distributedlog.client.errors import (
    BrokerError,
    ClientError,
    ClusterUnreachable,
    ConnectFailed,
    ConnectionLost,
    InvalidBootstrap,
    RequestTimedOut,
    UnexpectedResponse,
    UnsupportedByBroker,
)
from distributedlog.client.metadata import (
    BrokerNode,
    ClusterMetadata,
    PartitionMetadata,
    TopicMetadata,
    TopicPartition,
)
from distributedlog.client.settings import ClientSettings

__all__ = [
    "Address",
    "BrokerError",
    "BrokerNode",
    "ClientError",
    "ClientSettings",
    "ClusterClient",
    "ClusterMetadata",
    "ClusterUnreachable",
    "ConnectFailed",
    "Connection",
    "ConnectionLost",
    "InvalidBootstrap",
    "PartitionMetadata",
    "RequestTimedOut",
    "TopicMetadata",
    "TopicPartition",
    "UnexpectedResponse",
    "UnsupportedByBroker",
    "parse_bootstrap",
]
