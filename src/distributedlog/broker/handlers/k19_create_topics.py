"""CreateTopics: `cluster/create_topics.py` decides; the answer waits until the topics can be used."""

from typing import TYPE_CHECKING

from distributedlog.broker.decided import decided
from distributedlog.broker.pending import Pending
from distributedlog.broker.topic_rules import topic_rules
from distributedlog.cluster.create_topics import create_topics
from distributedlog.wire.k19_create_topics import CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: CreateTopicsRequest) -> Pending:
    return decided(
        broker,
        context,
        request,
        lambda image: create_topics(image, request, topic_rules(broker)),
        lambda results: CreateTopicsResponse(topics=results),
    )
