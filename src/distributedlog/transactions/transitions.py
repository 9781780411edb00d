"""The steps from one state of a transactional id to the next. Nothing here looks at who asks for them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from distributedlog.transactions.metadata import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NOT_STARTED,
    PRODUCER_EPOCH_MAX,
    TopicPartition,
    TransactionMetadata,
)
from distributedlog.transactions.states import TransactionState, check_transition

#: The version of transactions whose epoch rises with every one of them.
EPOCH_BUMP_VERSION = 2


def created(transactional_id: str, producer_id: int, timeout_ms: int, now_ms: int) -> TransactionMetadata:
    """An id that was not known before, with a producer id that nobody had."""
    return TransactionMetadata(
        transactional_id,
        producer_id,
        0,
        timeout_ms,
        now_ms,
        previous_producer_id=producer_id,
    )


def initialized(
    metadata: TransactionMetadata, producer_epoch: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    """The producer begins anew under the same producer id."""
    return _moved(
        metadata,
        TransactionState.EMPTY,
        now_ms,
        producer_epoch=producer_epoch,
        last_producer_epoch=last_producer_epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=NOT_STARTED,
    )


def rotated(
    metadata: TransactionMetadata, producer_id: int, last_producer_epoch: int, timeout_ms: int, now_ms: int
) -> TransactionMetadata:
    """The producer begins anew under another producer id, as the old one's epochs are used up."""
    step = initialized(metadata, 0, last_producer_epoch, timeout_ms, now_ms)
    return replace(step, producer_id=producer_id)


def extended(
    metadata: TransactionMetadata, partitions: Iterable[TopicPartition], client_version: int, now_ms: int
) -> TransactionMetadata:
    """More partitions belong to the transaction; the first of them begin it."""
    return _moved(
        metadata,
        TransactionState.ONGOING,
        now_ms,
        partitions=metadata.partitions | frozenset(partitions),
        start_ms=now_ms if metadata.is_idle else metadata.start_ms,
        client_version=client_version,
    )


def prepared(
    metadata: TransactionMetadata, is_commit: bool, client_version: int, next_producer_id: int, now_ms: int
) -> TransactionMetadata:
    """The outcome is decided. In version 2 this raises the epoch, which the markers then carry."""
    state = TransactionState.PREPARE_COMMIT if is_commit else TransactionState.PREPARE_ABORT
    epoch, last_epoch = metadata.producer_epoch, metadata.last_producer_epoch
    if client_version >= EPOCH_BUMP_VERSION:
        epoch, last_epoch = min(epoch + 1, PRODUCER_EPOCH_MAX), epoch
    return _moved(
        metadata,
        state,
        now_ms,
        producer_epoch=epoch,
        last_producer_epoch=last_epoch,
        next_producer_id=next_producer_id,
        # An abort of nothing has no beginning, and yet the format wants one.
        start_ms=now_ms if metadata.is_idle else metadata.start_ms,
        client_version=client_version,
    )


def fenced(
    metadata: TransactionMetadata, server_version: int, next_producer_id: int, now_ms: int
) -> TransactionMetadata:
    """The coordinator itself aborts the transaction, with an epoch that its producer does not have."""
    fence = _moved(metadata, TransactionState.PREPARE_EPOCH_FENCE, metadata.last_update_ms)
    if server_version >= EPOCH_BUMP_VERSION:
        return prepared(fence, False, server_version, next_producer_id, now_ms)
    epoch = min(metadata.producer_epoch + 1, PRODUCER_EPOCH_MAX)
    fence = replace(fence, producer_epoch=epoch, last_producer_epoch=NO_PRODUCER_EPOCH)
    return prepared(fence, False, 0, NO_PRODUCER_ID, now_ms)


def completed(metadata: TransactionMetadata, now_ms: int) -> TransactionMetadata:
    """All markers are written."""
    is_commit = metadata.state is TransactionState.PREPARE_COMMIT
    state = TransactionState.COMPLETE_COMMIT if is_commit else TransactionState.COMPLETE_ABORT
    producer_id, epoch = metadata.client_identity
    return _moved(
        metadata,
        state,
        now_ms,
        producer_id=producer_id,
        producer_epoch=epoch,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
    )


def _moved(
    metadata: TransactionMetadata, state: TransactionState, now_ms: int, **changes: Any
) -> TransactionMetadata:
    check_transition(metadata.state, state)
    return replace(
        metadata,
        state=state,
        last_update_ms=now_ms,
        previous_producer_id=metadata.producer_id,
        **changes,
    )
