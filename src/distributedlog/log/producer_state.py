"""What a partition remembers of its producers [pure]: the ground of exactly-once (KIP-98).

Of every producer id it keeps the epoch, the last five batches and the open transaction. From this follow
three promises. A batch that a producer sends again is answered with the first append's offsets and not stored
twice; a gap in its sequence numbers is refused, because a batch before was lost; and a fenced producer, one
whose epoch is old, writes nothing.

The way of an append: `check` the header before the batch is written, write, `update` with the base offset it
got. A client's append holds at most one batch of a producer, so no check depends on an update still to come.
A transaction marker goes the same way through `check_marker` and `update_marker`; when that completes a
transaction, the aborted ones are noted in the transaction index with `last_stable_offset`, and
`complete_transaction` closes it. Recovery and followers only update: what is in the log was checked once.

Where verification is required (a broker's partitions) the first batch of a transaction enters only with the
guard of `start_verification`, which its coordinator has confirmed meanwhile: `transaction_verification.py`.

Transactions move from ongoing to unreplicated (decided, but the marker is above the high watermark) to
forgotten. The last stable offset, up to which read_committed may see, is `first_unstable_offset` or the high
watermark.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from distributedlog.log.errors import InvalidProducerEpoch
from distributedlog.log.producer_checks import (
    AppendOrigin,
    check_marker,
    check_records,
    check_transactional_records,
)
from distributedlog.log.producer_entry import (
    NO_OFFSET,
    BatchMetadata,
    ProducerStateEntry,
    last_sequence_of,
)
from distributedlog.log.transaction_verification import VerificationGuard, Verifications
from distributedlog.records import BatchHeader

LATE_TRANSACTION_GRACE_MS: Final = 5 * 60 * 1000
PRODUCER_ID_EXPIRATION_MS: Final = 24 * 60 * 60 * 1000

_TRANSACTIONAL: Final = 0x10


class CompletedTransaction(NamedTuple):
    """A transaction on this partition from its first record to its marker, both offsets inclusive."""

    producer_id: int
    first_offset: int
    last_offset: int
    is_aborted: bool


class ProducerStateManager:
    """All producers of one partition.

    `map_end_offset` is the offset up to which the state reflects the log; the log moves it with every append,
    also of batches without a producer. A snapshot of the state is worth writing when it lies above
    `last_snapshot_offset`.
    """

    __slots__ = (
        "_ongoing",
        "_producers",
        "_unreplicated",
        "last_snapshot_offset",
        "map_end_offset",
        "producer_id_expiration_ms",
        "requires_verification",
        "verifications",
    )

    def __init__(self, producer_id_expiration_ms: int = PRODUCER_ID_EXPIRATION_MS) -> None:
        self.producer_id_expiration_ms = producer_id_expiration_ms
        self.map_end_offset = 0
        self.last_snapshot_offset = 0
        #: Whether a transaction's first batch needs a guard: in a broker it does, unless set otherwise.
        self.requires_verification = False
        self.verifications = Verifications()
        self._producers: dict[int, ProducerStateEntry] = {}
        # Ongoing: first offset -> producer id, kept in the order of the offsets, as transactions begin in it.
        self._ongoing: dict[int, int] = {}
        # Unreplicated: first offset -> offset of the marker.
        self._unreplicated: dict[int, int] = {}

    # Batches of records

    def check(
        self,
        header: BatchHeader,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        guard: VerificationGuard | None = None,
    ) -> BatchMetadata | None:
        """None when the batch may be written; the first append's facts when it was written before."""
        producer_id = header.producer_id
        if producer_id < 0 or origin is AppendOrigin.REPLICATION:
            return None
        entry = self._producers.get(producer_id)
        if not header.attributes & _TRANSACTIONAL:
            return check_records(entry, header, origin)
        return check_transactional_records(
            entry,
            header,
            origin,
            self.verifications.get(producer_id),
            guard,
            requires_verification=self.requires_verification,
        )

    def update(self, header: BatchHeader, base_offset: int) -> None:
        """Note a batch of records that is in the log at `base_offset`. Never refuses: it is there."""
        producer_id = header.producer_id
        if producer_id < 0:
            return
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = self._producers[producer_id] = ProducerStateEntry(producer_id)
        if entry.producer_epoch != header.producer_epoch:
            entry.begin_epoch(header.producer_epoch)
        offset_delta = header.last_offset_delta
        first_sequence = header.base_sequence
        last_sequence = last_sequence_of(first_sequence, offset_delta)
        last_offset = base_offset + offset_delta
        entry.remember(
            BatchMetadata(first_sequence, last_sequence, base_offset, last_offset, header.max_timestamp)
        )
        if header.attributes & _TRANSACTIONAL:
            if entry.current_txn_first_offset < 0:
                entry.current_txn_first_offset = base_offset
                self._ongoing[base_offset] = producer_id
            self.verifications.end(producer_id)

    # The first batch of a transaction

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, bumps_epoch: bool, now_ms: int
    ) -> VerificationGuard | None:
        """The guard that the transaction's next batch needs, once its coordinator has been asked; None when
        the transaction is open here, so that there is nothing to ask."""
        entry = self._producers.get(producer_id)
        if entry is not None:
            if producer_epoch < entry.producer_epoch:
                raise InvalidProducerEpoch(producer_id, producer_epoch, entry.producer_epoch)
            if entry.is_in_transaction(producer_epoch):
                return None
        return self.verifications.begin(
            producer_id, producer_epoch, sequence, bumps_epoch=bumps_epoch, now_ms=now_ms
        )

    # Transaction markers

    def check_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        origin: AppendOrigin = AppendOrigin.COORDINATOR,
        transaction_version: int = 0,
    ) -> None:
        """Refuse a marker that is late, or of a coordinator that was replaced."""
        entry = self._producers.get(producer_id)
        if entry is not None and origin is not AppendOrigin.REPLICATION:
            check_marker(entry, producer_epoch, coordinator_epoch, transaction_version)

    def update_marker(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        *,
        offset: int,
        timestamp: int,
        is_abort: bool,
    ) -> CompletedTransaction | None:
        """Note a marker that is in the log at `offset`. None when the transaction had no records here, so
        that neither the last stable offset nor the transaction index is concerned."""
        entry = self._producers.get(producer_id)
        if entry is None:
            entry = self._producers[producer_id] = ProducerStateEntry(producer_id)
        first_offset = entry.current_txn_first_offset
        if entry.producer_epoch != producer_epoch:
            entry.begin_epoch(producer_epoch)
        entry.coordinator_epoch = coordinator_epoch
        entry.last_timestamp = timestamp
        entry.current_txn_first_offset = NO_OFFSET
        self.verifications.end_by_marker(producer_id, producer_epoch)
        if first_offset < 0:
            return None
        return CompletedTransaction(producer_id, first_offset, offset, is_abort)

    def last_stable_offset(self, completed: CompletedTransaction) -> int:
        """What the last stable offset becomes with this transaction, replication aside: the start of the
        oldest other one that is open, or the offset behind the marker."""
        for first_offset, producer_id in self._ongoing.items():
            if producer_id != completed.producer_id:
                return first_offset
        return completed.last_offset + 1

    def complete_transaction(self, completed: CompletedTransaction) -> None:
        """Close it, after the transaction index has it; it stays unstable until its marker is replicated."""
        if self._ongoing.pop(completed.first_offset, None) is None:
            raise ValueError(f"{completed} is not open")
        self._unreplicated[completed.first_offset] = completed.last_offset

    def has_ongoing_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self._producers.get(producer_id)
        return entry is not None and entry.is_in_transaction(producer_epoch)

    def has_late_transaction(self, now_ms: int, transaction_timeout_ms_max: int) -> bool:
        """Whether the oldest open transaction has had no write for longer than any may last: it hangs."""
        if not self._ongoing:
            return False
        entry = self._producers.get(next(iter(self._ongoing.values())))
        if entry is None or entry.last_timestamp <= 0:
            return False
        return now_ms - entry.last_timestamp > transaction_timeout_ms_max + LATE_TRANSACTION_GRACE_MS

    # What read_committed may see

    @property
    def first_undecided_offset(self) -> int | None:
        """The first record whose transaction is still open."""
        return next(iter(self._ongoing)) if self._ongoing else None

    @property
    def first_unstable_offset(self) -> int | None:
        """The first record whose transaction is open, or decided by a marker that is not replicated yet.
        May lie below the log start offset after a deletion of records."""
        if not self._unreplicated:
            return self.first_undecided_offset
        first_unreplicated = min(self._unreplicated)
        return min(first_unreplicated, next(iter(self._ongoing), first_unreplicated))

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Forget the decided transactions whose markers are now below the high watermark."""
        if self._unreplicated:
            replicated = [first for first, last in self._unreplicated.items() if last < high_watermark]
            for first_offset in replicated:
                del self._unreplicated[first_offset]

    # The state as a whole

    def __len__(self) -> int:
        return len(self._producers)

    def entries(self) -> Iterator[ProducerStateEntry]:
        return iter(self._producers.values())

    def entry(self, producer_id: int) -> ProducerStateEntry | None:
        return self._producers.get(producer_id)

    @property
    def snapshot_is_due(self) -> bool:
        return self.map_end_offset > self.last_snapshot_offset

    def remove_expired(self, now_ms: int) -> int:
        """Forget producers that have not written for long and have no open transaction; how many."""
        expired = [entry.producer_id for entry in self._producers.values() if self._is_expired(entry, now_ms)]
        for producer_id in expired:
            del self._producers[producer_id]
        self.verifications.remove_expired(now_ms, self.producer_id_expiration_ms)
        return len(expired)

    def reload(self, entries: Iterable[ProducerStateEntry], offset: int, now_ms: int) -> None:
        """Begin again from a snapshot taken at `offset`, or from nothing at the log start offset. The log
        from there to its end is then fed to `update` and `update_marker`, and the high watermark told."""
        self.truncate_fully_and_start_at(offset)
        for entry in entries:
            if not self._is_expired(entry, now_ms):
                self._producers[entry.producer_id] = entry
        open_transactions = sorted(
            (entry.current_txn_first_offset, entry.producer_id)
            for entry in self._producers.values()
            if entry.current_txn_first_offset >= 0
        )
        self._ongoing.update(open_transactions)
        self.last_snapshot_offset = offset

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget everything: the log was emptied and goes on at `offset`."""
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()
        self.verifications.clear()
        self.last_snapshot_offset = 0
        self.map_end_offset = offset

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        """Records before `log_start_offset` were deleted. Their producers stay known until they expire, so
        that one whose records are gone can go on."""
        self.on_high_watermark_updated(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)

    def _is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return (
            entry.current_txn_first_offset < 0
            and now_ms - entry.last_timestamp >= self.producer_id_expiration_ms
        )
