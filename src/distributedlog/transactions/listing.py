"""DescribeTransactions and ListTransactions: what the coordinator knows, for people (KIP-664)."""

from distributedlog.coordination import Context
from distributedlog.coordination.regex_matcher import Matcher, compile_regex
from distributedlog.coordination.regex_syntax import RegexError
from distributedlog.transactions.metadata import TransactionMetadata
from distributedlog.transactions.outcome import Outcome
from distributedlog.transactions.state import CoordinatorState
from distributedlog.transactions.states import STATES_BY_LABEL
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k65_describe_transactions import (
    DescribedTransaction,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionTopic,
)
from distributedlog.wire.k66_list_transactions import (
    ListedTransaction,
    ListTransactionsRequest,
    ListTransactionsResponse,
)


def describe_transactions(
    state: CoordinatorState, context: Context, request: DescribeTransactionsRequest, out: Outcome
) -> None:
    """One row per id."""
    rows = [_described(state, transactional_id) for transactional_id in request.transactional_ids]
    out.reply(context, DescribeTransactionsResponse(transaction_states=rows))


def _described(state: CoordinatorState, transactional_id: str) -> DescribedTransaction:
    if not transactional_id:
        return DescribedTransaction(ErrorCode.INVALID_REQUEST, transactional_id)
    metadata = state.transactions.get(transactional_id)
    if metadata is None:
        return DescribedTransaction(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id)
    # Of a prepared transaction those partitions are shown that hold it up.
    partitions = state.markers_lacking(metadata) if metadata.is_prepared else metadata.partitions
    topics: dict[str, TransactionTopic] = {}
    for topic, index in sorted(partitions):
        topics.setdefault(topic, TransactionTopic(topic)).partitions.append(index)
    return DescribedTransaction(
        ErrorCode.NONE,
        transactional_id,
        metadata.state.label,
        metadata.timeout_ms,
        metadata.start_ms,
        metadata.producer_id,
        metadata.producer_epoch,
        list(topics.values()),
    )


def list_transactions(
    state: CoordinatorState, context: Context, request: ListTransactionsRequest, out: Outcome
) -> None:
    """The ids that pass all filters; names of states that do not exist come back."""
    matcher: Matcher | None = None
    if request.transactional_id_pattern:
        try:
            matcher = compile_regex(request.transactional_id_pattern)
        except RegexError:
            out.reply(context, ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION))
            return
    unknown = [label for label in dict.fromkeys(request.state_filters) if label not in STATES_BY_LABEL]
    listed = [
        ListedTransaction(metadata.transactional_id, metadata.producer_id, metadata.state.label)
        for metadata in state.transactions.values()
        if _passes(metadata, request, matcher, context.now_ms)
    ]
    out.reply(context, ListTransactionsResponse(0, 0, unknown, listed))


def _passes(
    metadata: TransactionMetadata, request: ListTransactionsRequest, matcher: Matcher | None, now_ms: int
) -> bool:
    if request.producer_id_filters and metadata.producer_id not in request.producer_id_filters:
        return False
    if request.state_filters and metadata.state.label not in request.state_filters:
        return False
    duration_ms = request.duration_filter
    if duration_ms >= 0 and now_ms - metadata.start_ms <= duration_ms:
        return False
    return matcher is None or matcher.matches(metadata.transactional_id)
