"""What a producer, or a coordinator on its behalf, may append, by what the partition remembers of it [pure].

The order of the checks is Kafka's, so that a batch with several faults gets the same error as there: a
repetition is recognised before anything is refused, then come the epoch, the transaction, the sequence.
"""

from enum import Enum
from typing import Final

from distributedlog.log.errors import (
    InvalidProducerEpoch,
    InvalidRecord,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from distributedlog.log.producer_entry import (
    NO_PRODUCER_EPOCH,
    SEQUENCE_MAX,
    BatchMetadata,
    ProducerStateEntry,
)
from distributedlog.log.transaction_verification import Verification, VerificationGuard
from distributedlog.records import BatchHeader

PRODUCER_EPOCH_MAX: Final = 2**15 - 1

_TRANSACTIONAL: Final = 0x10


class AppendOrigin(Enum):
    """Who appends, which says how much is checked: of a client sequences and epochs, of a coordinator, whose
    records have no sequences, epochs; and of a leader's batches nothing, since they were checked there."""

    CLIENT = "client"
    COORDINATOR = "coordinator"
    REPLICATION = "replication"


def check_records(
    entry: ProducerStateEntry | None, header: BatchHeader, origin: AppendOrigin
) -> BatchMetadata | None:
    """None when a batch outside of transactions may be written; the first append's facts when it was before.

    Of an unknown producer any first sequence is taken: its records may all have been deleted.
    """
    if (
        entry is not None
        and header.base_sequence == entry.last_sequence + 1
        and header.producer_epoch == entry.producer_epoch
        and entry.current_txn_first_offset < 0
    ):
        return None  # what is right with nearly every batch, found at once
    if origin is AppendOrigin.CLIENT:
        is_next, duplicate = _find_place(entry, header)
        if duplicate is not None:
            return duplicate
        _check_epoch(entry, header)
        if entry is not None and not is_next:
            _check_first_sequence(entry, header)
    else:
        _check_epoch(entry, header)
    if entry is not None and entry.current_txn_first_offset >= 0:
        raise InvalidTxnState(
            header.producer_id,
            header.producer_epoch,
            "a batch outside of the transaction that is open; end the transaction first",
        )
    return None


def check_transactional_records(
    entry: ProducerStateEntry | None,
    header: BatchHeader,
    origin: AppendOrigin,
    verification: Verification | None,
    guard: VerificationGuard | None,
    *,
    requires_verification: bool,
) -> BatchMetadata | None:
    """The same for a batch of a transaction: that is open here, or its coordinator has said that it is and
    nothing has ended it since."""
    is_next = True
    if origin is AppendOrigin.CLIENT:
        is_next, duplicate = _find_place(entry, header)
        if duplicate is not None:
            return duplicate
    _check_epoch(entry, header)
    if requires_verification and (entry is None or not entry.is_in_transaction(header.producer_epoch)):
        is_verified = guard is not None and verification is not None and verification.guard is guard
        if not is_verified:
            raise InvalidTxnState(
                header.producer_id, header.producer_epoch, "the batch is not part of an ongoing transaction"
            )
    if origin is AppendOrigin.CLIENT:
        if verification is not None:
            _check_sequence_of_verified(entry, header, verification)
        if entry is not None and not is_next:
            _check_first_sequence(entry, header)
    return None


def _find_place(entry: ProducerStateEntry | None, header: BatchHeader) -> tuple[bool, BatchMetadata | None]:
    """Whether the batch follows the last one, and if it does not, which one it repeats."""
    sequence, epoch = header.base_sequence, header.producer_epoch
    if sequence < 0 or epoch < 0:
        raise InvalidRecord(
            f"the batch of producer {header.producer_id} has epoch {epoch} and sequence {sequence}; "
            "with a producer id both must be 0 or more"
        )
    if entry is None or epoch != entry.producer_epoch:
        return False, None
    expected = entry.last_sequence + 1
    if sequence == expected or (not sequence and expected > SEQUENCE_MAX):
        return True, None
    return False, entry.find_duplicate(sequence, header.last_offset_delta)


def _check_epoch(entry: ProducerStateEntry | None, header: BatchHeader) -> None:
    if entry is not None and header.producer_epoch < entry.producer_epoch:
        raise InvalidProducerEpoch(header.producer_id, header.producer_epoch, entry.producer_epoch)


def _check_first_sequence(entry: ProducerStateEntry, header: BatchHeader) -> None:
    """A batch that does not follow the last one of its epoch can only be the first of a new epoch."""
    sequence, epoch = header.base_sequence, header.producer_epoch
    if epoch == entry.producer_epoch:
        expected = (entry.last_sequence + 1) & SEQUENCE_MAX
        raise OutOfOrderSequence(header.producer_id, epoch, sequence, expected)
    if sequence and entry.producer_epoch != NO_PRODUCER_EPOCH:
        raise OutOfOrderSequence(header.producer_id, epoch, sequence, 0)


def _check_sequence_of_verified(
    entry: ProducerStateEntry | None, header: BatchHeader, verification: Verification
) -> None:
    """Not before those that asked with it; and who has a new epoch for every transaction begins at 0."""
    begins_anew = verification.bumps_epoch and (entry is None or not entry.batches)
    highest = 0 if begins_anew else verification.lowest_sequence
    if header.base_sequence > highest:
        raise OutOfOrderSequence(header.producer_id, header.producer_epoch, header.base_sequence, highest)


def check_marker(
    entry: ProducerStateEntry,
    producer_epoch: int,
    coordinator_epoch: int,
    transaction_version: int,
) -> None:
    """Refuse the marker of an old epoch or of a replaced coordinator.

    From transaction version 2 on the coordinator raises the epoch before it writes the marker, so that
    one with the current epoch is late and must not end the next transaction; when none is open it is
    the repetition of a marker already written, and does no harm. The last epoch of all cannot be raised:
    it ends its own transaction, and the producer goes on with another id.
    """
    producer_id, current_epoch = entry.producer_id, entry.producer_epoch
    is_late = (
        transaction_version >= 2
        and producer_epoch == current_epoch
        and entry.current_txn_first_offset >= 0
        and producer_epoch != PRODUCER_EPOCH_MAX
    )
    if producer_epoch < current_epoch or is_late:
        raise InvalidProducerEpoch(producer_id, producer_epoch, current_epoch)
    if coordinator_epoch < entry.coordinator_epoch:
        raise TransactionCoordinatorFenced(
            producer_id, producer_epoch, coordinator_epoch, entry.coordinator_epoch
        )
