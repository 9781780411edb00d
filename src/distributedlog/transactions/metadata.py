"""What is known of one transactional id."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from distributedlog.transactions.states import IDLE_STATES, PREPARED_STATES, TransactionState

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
PRODUCER_EPOCH_MAX: Final = 2**15 - 1
#: Producers are not given the last epoch, so that there is always one left to fence them with.
LAST_EPOCH_GIVEN: Final = PRODUCER_EPOCH_MAX - 1
#: The time-out of a transaction that an outside coordinator decides about (KIP-939): none.
NO_TIMEOUT_MS: Final = 2**31 - 1
NOT_STARTED: Final = -1


class TopicPartition(NamedTuple):
    """A partition by its topic's name."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class TransactionMetadata:
    """One state of a transactional id; a change makes another.

    ``producer_id`` and ``producer_epoch`` are what the next request has to name, and what the markers of a
    prepared transaction carry. In transactions of version 2 the epoch rises when the transaction is
    prepared, so that nothing of it can reach the next one; where it cannot rise, ``next_producer_id`` takes
    over with the completion. ``previous_producer_id`` is the one before the last change.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    last_update_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    #: When the first partition was added; it stays when the transaction has ended.
    start_ms: int = NOT_STARTED
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    #: The version of transactions (feature level) by which the last change was made.
    client_version: int = 0
    #: The epoch before the last one that was given, for a producer that did not hear of it (KIP-360). Kafka's
    #: record has no room for it: it is forgotten by a restart.
    last_producer_epoch: int = field(default=NO_PRODUCER_EPOCH, compare=False)

    @property
    def is_idle(self) -> bool:
        return self.state in IDLE_STATES

    @property
    def is_prepared(self) -> bool:
        return self.state in PREPARED_STATES

    @property
    def is_epoch_exhausted(self) -> bool:
        """Whether the next epoch takes another producer id."""
        return is_epoch_exhausted(self.producer_epoch)

    @property
    def client_identity(self) -> tuple[int, int]:
        """Producer id and epoch as the client is to go on with, also while the markers are being written."""
        if self.next_producer_id != NO_PRODUCER_ID:
            return self.next_producer_id, 0
        return self.producer_id, self.producer_epoch

    def is_timed_out(self, now_ms: int) -> bool:
        """Whether the open transaction has lasted too long."""
        return self.timeout_ms != NO_TIMEOUT_MS and self.start_ms + self.timeout_ms < now_ms


def is_epoch_exhausted(epoch: int) -> bool:
    """Whether no producer may get an epoch above this one."""
    return epoch >= LAST_EPOCH_GIVEN
