"""ListTransactions: the transactional ids that this broker coordinates, filtered where asked for."""

from typing import TYPE_CHECKING, Any

from distributedlog.wire import ErrorCode
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest, ListTransactionsResponse

if TYPE_CHECKING:
    from distributedlog.broker.broker import Broker
    from distributedlog.broker.context import RequestContext


def handle(broker: "Broker", context: "RequestContext", request: ListTransactionsRequest) -> Any:
    return broker.transactions.ask_all(context, request, _refused, _merged)


def _refused(error: ErrorCode) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error)


def _merged(responses: list[ListTransactionsResponse]) -> ListTransactionsResponse:
    for response in responses:
        if response.error_code:
            return ListTransactionsResponse(error_code=response.error_code)
    return ListTransactionsResponse(
        0,
        0,
        # Every coordinator was asked the same.
        responses[0].unknown_state_filters if responses else [],
        [row for response in responses for row in response.transaction_states],
    )
