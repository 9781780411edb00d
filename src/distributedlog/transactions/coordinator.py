"""The transaction coordinator as a pure state machine: requests, records and timers in, outcomes out.

One coordinator stands for one partition of ``__transaction_state``. What the driver owes it is written in
`distributedlog.coordination.outcome` and `distributedlog.transactions.outcome`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from distributedlog.coordination import Context, Timer
from distributedlog.transactions import (
    add_partitions,
    end_transaction,
    init_producer_id,
    listing,
    markers,
    sweeps,
)
from distributedlog.transactions.append_failure import failed_reply
from distributedlog.transactions.config import TransactionConfig
from distributedlog.transactions.metadata import TopicPartition, TransactionMetadata
from distributedlog.transactions.outcome import IdWanted, MarkerPlan, Outcome
from distributedlog.transactions.records import metadata_of
from distributedlog.transactions.state import CoordinatorState, TransactionCounts
from distributedlog.transactions.states import TransactionState
from distributedlog.transactions.timer_keys import TimerKey, TimerKind, answer_key, markers_key
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k22_init_producer_id import InitProducerIdRequest
from distributedlog.wire.k24_add_partitions_to_txn import AddPartitionsToTxnRequest
from distributedlog.wire.k26_end_txn import EndTxnRequest
from distributedlog.wire.k65_describe_transactions import DescribeTransactionsRequest
from distributedlog.wire.k66_list_transactions import ListTransactionsRequest
from distributedlog.wire.primitives import Buffer
from distributedlog.wire.values import UnknownKey, decode_transaction_key, decode_transaction_value

#: How soon what could not be written is tried again where nobody asks for it anew.
RETRY_MS: Final = 500

_HANDLERS: Final[dict[type[Any], Callable[[CoordinatorState, Context, Any, Outcome], None]]] = {
    AddPartitionsToTxnRequest: add_partitions.add_partitions,
    DescribeTransactionsRequest: listing.describe_transactions,
    ListTransactionsRequest: listing.list_transactions,
}
#: Those that may want a producer id, and are then called again with it.
_TAKERS: Final[dict[type[Any], Callable[[CoordinatorState, Context, Any, int | None, Outcome], None]]] = {
    InitProducerIdRequest: init_producer_id.init_producer_id,
    EndTxnRequest: end_transaction.end_txn,
}


class TransactionCoordinator:
    """See the module. ``coordinator_epoch`` is the leader epoch of its partition, ``counts`` the driver's."""

    __slots__ = ("state",)

    def __init__(
        self, config: TransactionConfig, coordinator_epoch: int, counts: TransactionCounts | None = None
    ) -> None:
        self.state = CoordinatorState(config, coordinator_epoch, counts or TransactionCounts())

    def handle(self, context: Context, request: Any) -> Outcome:
        """Act on a request of one of the transaction APIs."""
        out = self._new_outcome()
        taker = _TAKERS.get(type(request))
        if taker is None:
            _HANDLERS[type(request)](self.state, context, request, out)
        else:
            taker(self.state, context, request, None, out)
        return self._finished(out)

    def id_given(self, wanted: IdWanted, producer_id: int, now_ms: int) -> Outcome:
        """A producer id for what wanted one. All is looked at again: much may have happened meanwhile."""
        out = self._new_outcome()
        if wanted.context is None:
            sweeps.abort_with_id(self.state, wanted.request, producer_id, now_ms, out)
        else:
            context = replace(wanted.context, now_ms=now_ms)
            _TAKERS[type(wanted.request)](self.state, context, wanted.request, producer_id, out)
        return self._finished(out)

    def id_refused(self, wanted: IdWanted, error: ErrorCode) -> Outcome:
        """There is no producer id to be had."""
        out = self._new_outcome()
        if wanted.context is not None:
            is_end = isinstance(wanted.request, EndTxnRequest)
            fail = end_transaction.failed if is_end else init_producer_id.failed
            out.reply(wanted.context, fail(error, wanted.context.api_version))
        return self._finished(out)

    # hard state

    def replay(self, key: Buffer, value: Buffer | None) -> None:
        """Apply a record of the log. Records of kinds that only other software writes are passed over."""
        decoded = decode_transaction_key(key)
        if isinstance(decoded, UnknownKey):
            return
        content = decode_transaction_value(decoded, value)
        transactional_id = decoded.transactional_id
        self.state.put(transactional_id, None if content is None else metadata_of(transactional_id, content))

    def applied(self, outcome: Outcome, base_offset: int) -> None:
        """An outcome's records have been appended."""
        for transactional_id, metadata, is_timeout in outcome.changes:
            if metadata is not None and metadata.is_prepared:
                self._count(metadata, is_timeout)
            self.state.put(transactional_id, metadata)

    def _count(self, metadata: TransactionMetadata, is_timeout: bool) -> None:
        if metadata.transactional_id not in self.state.ongoing:
            return
        counts = self.state.counts
        if metadata.state is TransactionState.PREPARE_COMMIT:
            counts.committed += 1
        else:
            counts.aborted += 1
            counts.timed_out += is_timeout

    # life of the coordinator

    def loaded(self, now_ms: int) -> Outcome:
        """All records have been replayed: what was decided and not finished is finished now."""
        out = self._new_outcome()
        state = self.state
        sweeps.watch_expiry(state, now_ms)
        if state.ongoing:
            sweeps.watch_timeouts(state, now_ms)
        for transactional_id in sorted(state.prepared):
            metadata = state.transactions[transactional_id]
            markers.plan(state, metadata, metadata.partitions, out)
        return self._finished(out)

    def unloaded(self) -> Outcome:
        """Another broker takes over, or the log failed: who waits is sent there. Use it no more."""
        out = self._new_outcome()
        ending, self.state.ending = self.state.ending, {}
        out.replies.extend(failed_reply(reply, ErrorCode.NOT_COORDINATOR) for reply in ending.values())
        return out

    def append_failed(self, outcome: Outcome, error: ErrorCode, now_ms: int) -> Outcome:
        """An outcome's records were not appended: nothing of it has happened. Who asked is told so, and what
        nobody asks for anew is tried again later."""
        state = self.state
        out = self._new_outcome()
        out.replies = [failed_reply(reply, error) for reply in outcome.replies]
        # These tell of what had happened before.
        out.prompt_replies = outcome.prompt_replies
        for change in outcome.changes:
            transactional_id = change.transactional_id
            reply = state.ending.pop(transactional_id, None)
            if reply is not None:
                state.timers.cancel(answer_key(transactional_id))
                out.replies.append(failed_reply(reply, error))
            if transactional_id in state.prepared:
                state.timers.set(markers_key(transactional_id), now_ms + RETRY_MS)
        if outcome.fired is not None and outcome.fired.kind in (TimerKind.ABORT, TimerKind.EXPIRE):
            state.timers.set(outcome.fired, now_ms + RETRY_MS)
        return self._finished(out)

    # what happens around

    def markers_written(
        self,
        plan: MarkerPlan,
        errors: Mapping[TopicPartition, ErrorCode],
        now_ms: int,
        gone: Collection[TopicPartition] = (),
    ) -> Outcome:
        """What came of a plan: an error, or NONE, by partition. ``gone`` are those that the cluster does not
        have any more."""
        out = self._new_outcome()
        markers.written(self.state, plan, errors, gone, now_ms, out)
        return self._finished(out)

    def on_timer(self, timer: Timer[TimerKey], now_ms: int) -> Outcome:
        """A wake-up. It may come late, or be stale; then nothing happens."""
        out = self._new_outcome()
        if self.state.timers.due(timer, now_ms) is not None:
            out.fired = timer.key
            self._fire(timer.key, now_ms, out)
        return self._finished(out)

    def _fire(self, key: TimerKey, now_ms: int, out: Outcome) -> None:
        match key.kind:
            case TimerKind.ABORT:
                sweeps.abort_timed_out(self.state, now_ms, out)
            case TimerKind.EXPIRE:
                sweeps.expire(self.state, now_ms, out)
            case TimerKind.MARKERS:
                markers.try_again(self.state, key.transactional_id, now_ms, out)
            case TimerKind.ANSWER:
                markers.answer(self.state, key.transactional_id, out)

    def _new_outcome(self) -> Outcome:
        return Outcome(transaction_version=self.state.config.transaction_version)

    def _finished(self, out: Outcome) -> Outcome:
        out.timers.extend(self.state.timers.drain())
        return out
