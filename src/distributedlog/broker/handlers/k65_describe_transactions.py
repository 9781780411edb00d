"""DescribeTransactions: what is known of transactional ids."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k65_describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: DescribeTransactionsRequest) -> Any:
    return broker.transactions.ask_each(
        context,
        request.transactional_ids,
        name_of=lambda transactional_id: transactional_id,
        request_of=DescribeTransactionsRequest,
        rows_of=lambda response: response.transaction_states,
        refuse=_refused,
        response_of=lambda rows: DescribeTransactionsResponse(transaction_states=rows),
    )


def _refused(transactional_id: str, error: ErrorCode) -> DescribedTransaction:
    return DescribedTransaction(error, transactional_id)
