"""CreatePartitions: `cluster/create_topics.py` decides, each topic by itself."""

from typing import TYPE_CHECKING

from distributedlog.broker.decided import decided
from distributedlog.broker.pending import Pending
from distributedlog.broker.topic_rules import broker_ids
from distributedlog.cluster.create_topics import create_partitions
from distributedlog.wire.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: CreatePartitionsRequest) -> Pending:
    return decided(
        broker,
        context,
        request,
        lambda image: create_partitions(image, request, broker_ids(broker)),
        lambda results: CreatePartitionsResponse(results=results),
    )
