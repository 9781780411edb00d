"""DeleteTopics: `cluster/delete_topics.py` decides. When the answer leaves the names are free again; the
files go in the background."""

from typing import TYPE_CHECKING, Final

from distributedlog.broker.decided import decided
from distributedlog.broker.error_response import error_response
from distributedlog.broker.pending import Pending
from distributedlog.cluster.delete_topics import delete_topics
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: Since when clients know TOPIC_DELETION_DISABLED.
FIRST_WITH_DISABLED: Final = 3
FIRST_WITH_STATES: Final = 6


def handle(
    broker: "Broker", context: "RequestContext", request: DeleteTopicsRequest
) -> DeleteTopicsResponse | Pending:
    if not broker.config.delete_topic_enable:
        disabled = context.version >= FIRST_WITH_DISABLED
        error = ErrorCode.TOPIC_DELETION_DISABLED if disabled else ErrorCode.INVALID_REQUEST
        response: DeleteTopicsResponse = error_response(context, request, error)
        return response
    wanted = request.topics
    if context.version < FIRST_WITH_STATES:
        wanted = [DeleteTopicState(name) for name in request.topic_names]
    return decided(
        broker,
        context,
        request,
        lambda image: delete_topics(image, wanted),
        lambda results: DeleteTopicsResponse(responses=results),
    )
