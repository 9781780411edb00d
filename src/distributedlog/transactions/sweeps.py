"""What the coordinator does by itself: it aborts what lasts too long, and forgets what is not used."""

from dataclasses import dataclass

from distributedlog.transactions import transitions
from distributedlog.transactions.markers import decide
from distributedlog.transactions.metadata import NO_PRODUCER_ID, TransactionMetadata
from distributedlog.transactions.outcome import NOBODY, Change, IdWanted, Outcome
from distributedlog.transactions.state import CoordinatorState
from distributedlog.transactions.states import TransactionState
from distributedlog.transactions.timer_keys import ABORT, EXPIRE


@dataclass(frozen=True, slots=True)
class AbortTimedOut:
    """A transaction to abort when there is a producer id to go on with."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    start_ms: int


def watch_timeouts(state: CoordinatorState, now_ms: int) -> None:
    """Look after open transactions, as long as there are any."""
    interval_ms = state.config.transaction_abort_timed_out_transaction_cleanup_interval_ms
    state.timers.set_if_absent(ABORT, now_ms + interval_ms)


def watch_expiry(state: CoordinatorState, now_ms: int) -> None:
    """Look after ids that are not used."""
    interval_ms = state.config.transaction_remove_expired_transaction_cleanup_interval_ms
    state.timers.set_if_absent(EXPIRE, now_ms + interval_ms)


def abort_timed_out(state: CoordinatorState, now_ms: int, out: Outcome) -> None:
    """Abort the transactions that are open for longer than their producers wanted."""
    if state.ongoing:
        watch_timeouts(state, now_ms)
    for transactional_id in sorted(state.ongoing):
        metadata = state.transactions[transactional_id]
        if metadata.is_timed_out(now_ms):
            _abort(state, metadata, None, now_ms, out)


def abort_with_id(
    state: CoordinatorState, asked: AbortTimedOut, given_id: int, now_ms: int, out: Outcome
) -> None:
    """Abort with the producer id that it took, unless the transaction has ended meanwhile."""
    metadata = state.transactions.get(asked.transactional_id)
    if (
        metadata is not None
        and metadata.state is TransactionState.ONGOING
        and (asked.producer_id, asked.producer_epoch, asked.start_ms)
        == (metadata.producer_id, metadata.producer_epoch, metadata.start_ms)
    ):
        _abort(state, metadata, given_id, now_ms, out)


def expire(state: CoordinatorState, now_ms: int, out: Outcome) -> None:
    """Delete ids of which nothing was heard for long."""
    watch_expiry(state, now_ms)
    horizon_ms = now_ms - state.config.transactional_id_expiration_ms
    out.changes.extend(
        Change(metadata.transactional_id, None)
        for metadata in state.transactions.values()
        if metadata.is_idle and metadata.last_update_ms <= horizon_ms
    )


def _abort(
    state: CoordinatorState, metadata: TransactionMetadata, given_id: int | None, now_ms: int, out: Outcome
) -> None:
    version = state.config.transaction_version
    next_id = NO_PRODUCER_ID
    if metadata.is_epoch_exhausted and version >= transitions.EPOCH_BUMP_VERSION:
        if given_id is None:
            asked = AbortTimedOut(
                metadata.transactional_id, metadata.producer_id, metadata.producer_epoch, metadata.start_ms
            )
            out.ids_wanted.append(IdWanted(NOBODY, asked))
            return
        next_id = given_id
    decide(state, transitions.fenced(metadata, version, next_id, now_ms), out, is_timeout=True)
