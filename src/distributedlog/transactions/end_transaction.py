"""EndTxn: a transaction is committed or aborted.

Up to version 4 the producer's epoch stays the same from one transaction to the next; whether a request is a
repeated one shows in the state alone. From version 5 on the epoch rises with every end, and who names the
epoch before the last repeats what it asked before (KIP-890).
"""

from typing import Final

from distributedlog.coordination import Context, Reply
from distributedlog.transactions import transitions
from distributedlog.transactions.errors import END_FENCED_VERSION, TransactionError, error_for
from distributedlog.transactions.markers import decide
from distributedlog.transactions.metadata import (
    LAST_EPOCH_GIVEN,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
)
from distributedlog.transactions.outcome import IdWanted, Outcome
from distributedlog.transactions.state import CoordinatorState
from distributedlog.transactions.states import TransactionState
from distributedlog.transactions.timer_keys import answer_key
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k26_end_txn import EndTxnRequest, EndTxnResponse

#: The first version whose clients take another epoch from the response.
EPOCH_BUMP_API_VERSION: Final = 5
#: For so long the answer waits for the markers. Kafka does not wait for them; then the client's next
#: transaction meets the end of this one, is refused, and comes again after a pause.
MARKERS_WAIT_MS: Final = 1_000

_STATE_AFTER: Final = {
    True: (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
    False: (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
}


def end_txn(
    state: CoordinatorState, context: Context, request: EndTxnRequest, given_id: int | None, out: Outcome
) -> None:
    """Decide, and answer when the markers are written; or answer what is wrong or was decided before."""
    version = transitions.EPOCH_BUMP_VERSION if context.api_version >= EPOCH_BUMP_API_VERSION else 0
    try:
        metadata = _to_be_ended(state, request, version, out)
    except TransactionError as error:
        out.reply(context, failed(error.code, context.api_version))
        return
    if metadata is None:
        current = state.transactions[request.transactional_id]
        out.reply(context, _response(current, version))
        return
    next_id = NO_PRODUCER_ID
    if version >= transitions.EPOCH_BUMP_VERSION and metadata.is_epoch_exhausted:
        if given_id is None:
            out.ids_wanted.append(IdWanted(context, request))
            return
        next_id = given_id
    step = transitions.prepared(metadata, request.committed, version, next_id, context.now_ms)
    decide(state, step, out)
    state.ending[request.transactional_id] = Reply(context.reply, _response(step, version))
    state.timers.set(answer_key(request.transactional_id), context.now_ms + MARKERS_WAIT_MS)


def failed(code: ErrorCode, api_version: int) -> EndTxnResponse:
    """The response that says why nothing was ended."""
    error = error_for(code, api_version, END_FENCED_VERSION)
    return EndTxnResponse(0, int(error), NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def _response(metadata: TransactionMetadata, version: int) -> EndTxnResponse:
    if version < transitions.EPOCH_BUMP_VERSION:
        return EndTxnResponse(0, 0, NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
    return EndTxnResponse(0, 0, *metadata.client_identity)


def _to_be_ended(
    state: CoordinatorState, request: EndTxnRequest, version: int, out: Outcome
) -> TransactionMetadata | None:
    """What is to be ended now; None where it has been ended as the request wants it."""
    if version >= transitions.EPOCH_BUMP_VERSION:
        return _to_be_ended_in_version_2(state, request, out)
    metadata = state.held_by(request.transactional_id, request.producer_id, out)
    if metadata.producer_epoch != request.producer_epoch:
        raise TransactionError(ErrorCode.PRODUCER_FENCED)
    if metadata.state is TransactionState.ONGOING:
        return metadata
    _check_ended_before(metadata, request)
    return None


def _to_be_ended_in_version_2(
    state: CoordinatorState, request: EndTxnRequest, out: Outcome
) -> TransactionMetadata | None:
    if not request.transactional_id:
        raise TransactionError(ErrorCode.INVALID_REQUEST)
    metadata = state.metadata(request.transactional_id, out)
    if metadata is None:
        raise TransactionError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    producer_id, epoch = request.producer_id, request.producer_epoch
    # Repeated, when its first time took the last epoch of a producer id: the next one begins at 0.
    is_repeated_over_ids = (
        metadata.previous_producer_id == producer_id
        and epoch == LAST_EPOCH_GIVEN
        and metadata.producer_epoch == 0
    )
    if metadata.producer_id != producer_id and not is_repeated_over_ids:
        raise TransactionError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    is_current = metadata.producer_epoch == epoch
    is_repeated = metadata.producer_epoch == epoch + 1
    match metadata.state:
        case TransactionState.ONGOING | TransactionState.EMPTY:
            is_valid = is_current
        case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT:
            is_valid = is_repeated
        case _:
            is_valid = is_current or is_repeated or is_repeated_over_ids
    if not is_valid:
        raise TransactionError(ErrorCode.PRODUCER_FENCED)
    if metadata.state is TransactionState.ONGOING:
        return metadata
    if is_repeated or is_repeated_over_ids:
        _check_ended_before(metadata, request)
        return None
    if request.committed:
        raise TransactionError(ErrorCode.INVALID_TXN_STATE)
    # An abort of nothing: whatever the client has sent on the way here is fenced by the next epoch.
    return metadata


def _check_ended_before(metadata: TransactionMetadata, request: EndTxnRequest) -> None:
    """TransactionError unless the transaction has been ended as the request wants it: then it is a repeated
    one, whose answer got lost."""
    preparing, complete = _STATE_AFTER[request.committed]
    if metadata.state is preparing:
        raise TransactionError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.state is not complete:
        raise TransactionError(ErrorCode.INVALID_TXN_STATE)
