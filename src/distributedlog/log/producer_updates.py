"""How batches reach the producer state: at the append, and when a log is replayed.

A batch of records speaks through its header alone. A transaction marker has to be opened, and when
it aborts a transaction, the transaction index of its segment learns of it.
"""

from collections.abc import Callable
from dataclasses import dataclass

from distributedlog.log.producer_checks import AppendOrigin
from distributedlog.log.producer_entry import BatchMetadata
from distributedlog.log.producer_state import ProducerStateManager
from distributedlog.log.transaction_index import AbortedTransaction, TransactionIndex
from distributedlog.log.transaction_verification import VerificationGuard
from distributedlog.records import BatchHeader, ControlType, decode_batch, parse_control_record


@dataclass(frozen=True, slots=True)
class EndMarker:
    """The end of a transaction, read out of its control batch."""

    is_abort: bool
    coordinator_epoch: int


def read_end_marker(batch: bytes) -> EndMarker | None:
    """The marker in a control batch; None for the control records of KRaft and of later days."""
    control = parse_control_record(decode_batch(batch)[0])
    if control.control_type not in (ControlType.COMMIT, ControlType.ABORT):
        return None
    return EndMarker(control.control_type == ControlType.ABORT, control.coordinator_epoch)


def check_producer(
    states: ProducerStateManager,
    header: BatchHeader,
    batch: Callable[[], bytes],
    origin: AppendOrigin,
    guard: VerificationGuard | None = None,
    transaction_version: int = 0,
) -> BatchMetadata | None:
    """Before the append: raises what the producer did wrong, or gives the first append of a duplicate."""
    if not header.is_control:
        return states.check(header, origin, guard)
    marker = read_end_marker(batch())
    if marker is not None:
        states.check_marker(
            header.producer_id,
            header.producer_epoch,
            marker.coordinator_epoch,
            origin=origin,
            transaction_version=transaction_version,
        )
    return None


def apply_batch(
    states: ProducerStateManager,
    header: BatchHeader,
    batch: Callable[[], bytes],
    transaction_index: Callable[[], TransactionIndex] | None,
) -> None:
    """After the append, and in replay: the batch stands in the log at ``header.base_offset``.

    In the replay of a segment whose transaction index is whole, there is none to note in.
    """
    if not header.is_control:
        states.update(header, header.base_offset)
        return
    marker = read_end_marker(batch())
    if marker is None:
        return
    completed = states.update_marker(
        header.producer_id,
        header.producer_epoch,
        marker.coordinator_epoch,
        offset=header.base_offset,
        timestamp=header.max_timestamp,
        is_abort=marker.is_abort,
    )
    if completed is None:
        return
    if completed.is_aborted and transaction_index is not None:
        transaction_index().append(
            AbortedTransaction(
                completed.producer_id,
                completed.first_offset,
                completed.last_offset,
                states.last_stable_offset(completed),
            )
        )
    states.complete_transaction(completed)
