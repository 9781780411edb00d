"""Where clients are told to connect.

A client is told the address of the listener by which it came: what is right for the one inside the network
may be of no use to the one outside.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


class AdvertisedBroker(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


def advertised_brokers(broker: "Broker", context: "RequestContext") -> list[AdvertisedBroker]:
    """Every broker that clients may know, each by its address for this client."""
    rack = broker.config.broker_rack or None
    advertised = broker.advertised_to(context.client)
    if advertised is None:
        return []
    _, host, port = advertised
    return [AdvertisedBroker(broker.node_id, host, port, rack)]
