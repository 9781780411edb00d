"""What is told to clients when the records of their requests could not be written."""

from copy import copy

from distributedlog.coordination import Reply, client_error
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdResponse
from distributedlog.wire.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from distributedlog.wire.k26_end_txn import EndTxnResponse

_NONE = -1


def failed_reply(reply: Reply, append_error: ErrorCode) -> Reply:
    """The reply in place of ``reply``. What was an error anyway stays that error."""
    error = client_error(append_error)
    response = reply.response
    match response:
        case AddPartitionsToTxnResponse():
            failed = AddPartitionsToTxnResponse(
                error_code=response.error_code,
                results_by_transaction=[
                    AddPartitionsToTxnResult(each.transactional_id, _failed(each.topic_results, error))
                    for each in response.results_by_transaction
                ],
                results_by_topic_v3_and_below=_failed(response.results_by_topic_v3_and_below, error),
            )
            return Reply(reply.token, failed)
        case InitProducerIdResponse() if not response.error_code:
            return Reply(reply.token, InitProducerIdResponse(0, int(error), _NONE, _NONE))
        case EndTxnResponse() if not response.error_code:
            return Reply(reply.token, EndTxnResponse(0, int(error), _NONE, _NONE))
        case _ if hasattr(response, "error_code") and not response.error_code:
            response = copy(response)
            response.error_code = int(error)
    return Reply(reply.token, response)


def _failed(
    topics: list[AddPartitionsToTxnTopicResult], error: ErrorCode
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [
                AddPartitionsToTxnPartitionResult(
                    each.partition_index, each.partition_error_code or int(error)
                )
                for each in topic.results_by_partition
            ],
        )
        for topic in topics
    ]
