"""AddOffsetsToTxn: the partition of ``__consumer_offsets`` that holds a group joins a transaction."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from distributedlog.broker.coordinator_log import partition_for
from distributedlog.broker.pending import Pending
from distributedlog.cluster.image import CONSUMER_OFFSETS_TOPIC
from distributedlog.wire import ErrorCode
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from distributedlog.wire.k25_add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext

#: The newest version of AddPartitionsToTxn in which a client asks for one transaction.
ADD_PARTITIONS_VERSION: Final = 3


def handle(broker: "Broker", context: "RequestContext", request: AddOffsetsToTxnRequest) -> Any:
    """To the transaction coordinator it is a partition like any other."""
    pending = Pending()

    def prepared(error: ErrorCode) -> None:
        if error is not ErrorCode.NONE:
            pending.complete(_response(error))
            return
        answer = _ask(broker, context, request)
        if isinstance(answer, Pending):
            answer.when_done(pending.complete)
        else:
            pending.complete(answer)

    broker.groups.prepare(prepared)
    return pending


def _ask(broker: "Broker", context: "RequestContext", request: AddOffsetsToTxnRequest) -> Any:
    offsets = broker.image.topics_by_name[CONSUMER_OFFSETS_TOPIC]
    partition = partition_for(request.group_id, len(offsets.partitions))
    asked = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=request.transactional_id,
        v3_and_below_producer_id=request.producer_id,
        v3_and_below_producer_epoch=request.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(CONSUMER_OFFSETS_TOPIC, [partition])],
    )
    answer = broker.transactions.ask(
        replace(context, version=min(context.version, ADD_PARTITIONS_VERSION)),
        request.transactional_id,
        asked,
        _response,
    )
    if not isinstance(answer, Pending):
        return answer
    pending = Pending()
    answer.when_done(lambda response: pending.complete(_response(_error_in(response))))
    return pending


def _error_in(response: AddPartitionsToTxnResponse) -> int:
    return response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code


def _response(error: int) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(0, int(error))
