"""What is remembered of one producer on one partition [pure]."""

from collections.abc import Iterable
from typing import Final, NamedTuple

BATCHES_REMEMBERED: Final = 5
"""As many as an idempotent producer may have in flight: any of them may come again."""
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_COORDINATOR_EPOCH: Final = -1
NO_OFFSET: Final = -1
NO_TIMESTAMP: Final = -1
SEQUENCE_MAX: Final = 2**31 - 1


class BatchMetadata(NamedTuple):
    """One of the batches remembered, enough to answer a repetition of it."""

    first_sequence: int
    last_sequence: int
    first_offset: int
    last_offset: int
    timestamp: int


class ProducerStateEntry:
    """What is known of one producer. `batches` runs from the oldest to the newest; `last_sequence` is that
    of the newest, or -1 when none is known in this epoch."""

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_sequence",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        *,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = NO_COORDINATOR_EPOCH,
        last_timestamp: int = NO_TIMESTAMP,
        current_txn_first_offset: int = NO_OFFSET,
        batches: Iterable[BatchMetadata] = (),
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batches = list(batches)
        self.last_sequence = self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def remember(self, batch: BatchMetadata) -> None:
        batches = self.batches
        batches.append(batch)
        if len(batches) > BATCHES_REMEMBERED:
            del batches[0]
        self.last_sequence = batch.last_sequence
        self.last_timestamp = batch.timestamp

    def find_duplicate(self, first_sequence: int, offset_delta: int) -> BatchMetadata | None:
        """The batch remembered with exactly these sequences."""
        last_sequence = last_sequence_of(first_sequence, offset_delta)
        for batch in self.batches:
            if batch.first_sequence == first_sequence and batch.last_sequence == last_sequence:
                return batch
        return None

    def is_in_transaction(self, producer_epoch: int) -> bool:
        """Whether a transaction of this epoch is open."""
        return self.current_txn_first_offset >= 0 and self.producer_epoch == producer_epoch

    def begin_epoch(self, producer_epoch: int) -> None:
        self.producer_epoch = producer_epoch
        self.batches.clear()
        self.last_sequence = NO_SEQUENCE

    def __repr__(self) -> str:
        return f"ProducerStateEntry({', '.join(f'{name}={getattr(self, name)}' for name in self.__slots__)})"


def last_sequence_of(first_sequence: int, offset_delta: int) -> int:
    """Sequences count to 2**31 - 1 and go on with 0."""
    if first_sequence < 0:
        return NO_SEQUENCE
    return (first_sequence + offset_delta) % (SEQUENCE_MAX + 1)


def first_sequence_of(last_sequence: int, offset_delta: int) -> int:
    if last_sequence < 0:
        return NO_SEQUENCE
    return (last_sequence - offset_delta) % (SEQUENCE_MAX + 1)
