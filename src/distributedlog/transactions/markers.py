"""From a decision to its markers: what is to be written, what came of it, when the transaction is over."""

from collections.abc import Collection, Mapping
from typing import Final

from distributedlog.transactions import transitions
from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.outcome import MarkerPlan, Outcome
from distributedlog.transactions.state import CoordinatorState
from distributedlog.transactions.states import TransactionState
from distributedlog.transactions.timer_keys import answer_key, markers_key
from distributedlog.wire.error_codes import ErrorCode

#: How soon markers that could not be written are tried again, from the first time to the last.
RETRY_MS_MIN: Final = 20
RETRY_MS_MAX: Final = 1_000

#: Errors after which there is nothing left to do in a partition. One that knows a newer epoch of the producer
#: has ended the transaction before, be it by a marker whose success we did not hear of; one that can
#: hold no markers holds no transaction either.
_DONE: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
        ErrorCode.UNSUPPORTED_VERSION,
    }
)


def decide(
    state: CoordinatorState, prepared: TransactionMetadata, out: Outcome, *, is_timeout: bool = False
) -> None:
    """Take a decision: its record, and the markers that follow when the record is durable."""
    out.change(prepared, is_timeout=is_timeout)
    plan(state, prepared, prepared.partitions, out)


def plan(
    state: CoordinatorState,
    metadata: TransactionMetadata,
    partitions: frozenset[TopicPartition],
    out: Outcome,
) -> None:
    """Have markers written."""
    out.markers.append(
        MarkerPlan(
            metadata.transactional_id,
            metadata.producer_id,
            metadata.producer_epoch,
            metadata.state is TransactionState.PREPARE_COMMIT,
            partitions,
            state.coordinator_epoch,
            metadata.client_version,
        )
    )


def written(
    state: CoordinatorState,
    done: MarkerPlan,
    errors: Mapping[TopicPartition, ErrorCode],
    gone: Collection[TopicPartition],
    now_ms: int,
    out: Outcome,
) -> None:
    """Take in what came of a plan. A partition of which nothing is said is tried again."""
    metadata = state.transactions.get(done.transactional_id)
    if metadata is None or not _is_of(done, metadata):
        return
    finished = {each for each, error in errors.items() if error in _DONE}
    lacking = state.markers_lacking(metadata) - finished - frozenset(gone)
    state.unfinished[done.transactional_id] = lacking
    if not lacking:
        complete(state, metadata, now_ms, out)
        return
    if all(errors.get(each) is ErrorCode.TRANSACTION_COORDINATOR_FENCED for each in lacking):
        # Another coordinator has taken over, and finishes what is left.
        return
    attempts = state.attempts[done.transactional_id] = state.attempts.get(done.transactional_id, 0) + 1
    delay_ms = min(RETRY_MS_MIN << min(attempts - 1, 10), RETRY_MS_MAX)
    state.timers.set(markers_key(done.transactional_id), now_ms + delay_ms)


def complete(state: CoordinatorState, metadata: TransactionMetadata, now_ms: int, out: Outcome) -> None:
    """All markers are there: the transaction is over, and who waits for its end hears of it."""
    out.change(transitions.completed(metadata, now_ms))
    state.timers.cancel(answer_key(metadata.transactional_id))
    reply = state.ending.pop(metadata.transactional_id, None)
    if reply is not None:
        out.prompt_replies.append(reply)


def try_again(state: CoordinatorState, transactional_id: str, now_ms: int, out: Outcome) -> None:
    """The pause after a failure is over."""
    metadata = state.transactions.get(transactional_id)
    if metadata is None or not metadata.is_prepared:
        return
    lacking = state.markers_lacking(metadata)
    if lacking:
        plan(state, metadata, lacking, out)
    else:
        complete(state, metadata, now_ms, out)


def answer(state: CoordinatorState, transactional_id: str, out: Outcome) -> None:
    """The client has waited long enough for the markers: that it is decided is what it asked for."""
    reply = state.ending.pop(transactional_id, None)
    if reply is not None:
        out.replies.append(reply)


def _is_of(done: MarkerPlan, metadata: TransactionMetadata) -> bool:
    return metadata.is_prepared and (done.producer_id, done.producer_epoch, done.is_commit) == (
        metadata.producer_id,
        metadata.producer_epoch,
        metadata.state is TransactionState.PREPARE_COMMIT,
    )
