"""InitProducerId: an id and an epoch for a producer, who thereby fences all that had its transactional id.

A transaction that is open is aborted first, with an epoch that nobody gets; the producer is told to come
again.
"""

from distributedlog.coordination import Context
from distributedlog.transactions import transitions
from distributedlog.transactions.errors import INIT_FENCED_VERSION, TransactionError, error_for
from distributedlog.transactions.markers import decide
from distributedlog.transactions.metadata import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    TransactionMetadata,
    is_epoch_exhausted,
)
from distributedlog.transactions.outcome import IdWanted, Outcome
from distributedlog.transactions.state import CoordinatorState
from distributedlog.transactions.states import TransactionState
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse

Identity = tuple[int, int]


def init_producer_id(
    state: CoordinatorState,
    context: Context,
    request: InitProducerIdRequest,
    given_id: int | None,
    out: Outcome,
) -> None:
    """Answer, or want a producer id first."""
    error = refusal(request, state.config.transaction_max_timeout_ms)
    if error is not ErrorCode.NONE:
        out.reply(context, failed(error, context.api_version))
        return
    try:
        step = _step(state, context, request, given_id, out)
    except TransactionError as refused:
        out.reply(context, failed(refused.code, context.api_version))
        return
    if step is None:
        out.ids_wanted.append(IdWanted(context, request))
    elif step.is_prepared:
        # The epoch of the abort is given to nobody: the client comes again and gets the next one.
        decide(state, step, out)
        out.reply(context, failed(ErrorCode.CONCURRENT_TRANSACTIONS, context.api_version))
    else:
        out.change(step)
        out.reply(context, InitProducerIdResponse(0, 0, step.producer_id, step.producer_epoch))


def failed(code: ErrorCode, api_version: int) -> InitProducerIdResponse:
    """The response that says why there is no id."""
    error = error_for(code, api_version, INIT_FENCED_VERSION)
    return InitProducerIdResponse(0, int(error), NO_PRODUCER_ID, NO_PRODUCER_EPOCH)


def refusal(request: InitProducerIdRequest, timeout_ms_max: int) -> ErrorCode:
    """What is wrong with a request whoever coordinates its transactional id; NONE where nothing is."""
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    if request.enable_2pc:
        # What Kafka says where ``transaction.two.phase.commit.enable`` is false.
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if request.keep_prepared_txn:
        return ErrorCode.UNSUPPORTED_VERSION
    if not 0 < request.transaction_timeout_ms <= timeout_ms_max:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.NONE


def _step(
    state: CoordinatorState,
    context: Context,
    request: InitProducerIdRequest,
    given_id: int | None,
    out: Outcome,
) -> TransactionMetadata | None:
    """The id's next state; None where it takes a producer id to say."""
    transactional_id, timeout_ms, now_ms = (
        request.transactional_id or "",
        request.transaction_timeout_ms,
        context.now_ms,
    )
    metadata = state.metadata(transactional_id, out)
    version = state.config.transaction_version
    if metadata is None:
        if given_id is None:
            return None
        return transitions.created(transactional_id, given_id, timeout_ms, now_ms)
    expected = None
    if request.producer_id != NO_PRODUCER_ID:
        expected = request.producer_id, request.producer_epoch
        _check_identity(metadata, expected)
    if metadata.is_prepared:
        raise TransactionError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if metadata.state is TransactionState.ONGOING:
        if expected is not None and expected != (metadata.producer_id, metadata.producer_epoch):
            # Kafka aborts the transaction of the newer producer first, and then refuses the older one.
            raise TransactionError(ErrorCode.PRODUCER_FENCED)
        takes_id = metadata.is_epoch_exhausted and version >= transitions.EPOCH_BUMP_VERSION
        if takes_id and given_id is None:
            return None
        next_id = given_id if takes_id and given_id is not None else NO_PRODUCER_ID
        return transitions.fenced(metadata, version, next_id, now_ms)
    return _begun_anew(metadata, expected, timeout_ms, given_id, now_ms)


def _check_identity(metadata: TransactionMetadata, expected: Identity) -> None:
    """A producer that names what it has must be the last one, or one whose epochs were used up and who did
    not hear which producer id it has since."""
    producer_id, epoch = expected
    is_rotated = producer_id == metadata.previous_producer_id and is_epoch_exhausted(epoch)
    if producer_id != metadata.producer_id and not is_rotated:
        raise TransactionError(ErrorCode.PRODUCER_FENCED)


def _begun_anew(
    metadata: TransactionMetadata,
    expected: Identity | None,
    timeout_ms: int,
    given_id: int | None,
    now_ms: int,
) -> TransactionMetadata | None:
    epoch = metadata.producer_epoch
    if expected is None or expected[1] == epoch:
        last_epoch = NO_PRODUCER_EPOCH if expected is None else epoch
        if not metadata.is_epoch_exhausted:
            return transitions.initialized(metadata, epoch + 1, last_epoch, timeout_ms, now_ms)
        if given_id is None:
            return None
        return transitions.rotated(metadata, given_id, last_epoch, timeout_ms, now_ms)
    if expected[1] == metadata.last_producer_epoch:
        # It asks again because it did not hear the answer: nobody else has asked since, who would have
        # made the last epoch unknown.
        return transitions.initialized(metadata, epoch, metadata.last_producer_epoch, timeout_ms, now_ms)
    raise TransactionError(ErrorCode.PRODUCER_FENCED)
