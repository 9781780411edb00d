"""What a compaction must know of transactions as it walks over the batches of a log [pure].

The records of an aborted transaction go. Its marker stays as long as a batch of the transaction is
still there, even an empty one: without the marker a reader would take what follows for aborted.
The marker of a committed transaction may go when no batch of the transaction was met. Either goes
only after it has outlived its delete horizon.
"""

from collections.abc import Iterable

from distributedlog.log.transaction_index import AbortedTransaction


class TransactionWalk:
    """Fed with the batches of a log in the order of their offsets.

    ``aborted`` are the aborted transactions of the range. `take_kept` gives those whose marker has to
    stay, for the transaction index of a compacted segment.
    """

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._waiting = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        self._ongoing_aborted: dict[int, AbortedTransaction] = {}
        self._seen_of_aborted: set[int] = set()
        self._seen_of_committed: set[int] = set()
        self._kept: list[AbortedTransaction] = []

    def is_aborted(self, producer_id: int, last_offset: int, *, is_transactional: bool) -> bool:
        """Whether a batch of records belongs to an aborted transaction."""
        self._begin_up_to(last_offset)
        if not is_transactional:
            return False
        if producer_id in self._ongoing_aborted:
            self._seen_of_aborted.add(producer_id)
            return True
        self._seen_of_committed.add(producer_id)
        return False

    def may_drop_marker(self, producer_id: int, offset: int, *, is_abort: bool) -> bool:
        """Whether nothing is left of the transaction that the marker ends."""
        self._begin_up_to(offset)
        if not is_abort:
            was_seen = producer_id in self._seen_of_committed
            self._seen_of_committed.discard(producer_id)
            return not was_seen
        transaction = self._ongoing_aborted.pop(producer_id, None)
        was_seen = producer_id in self._seen_of_aborted
        self._seen_of_aborted.discard(producer_id)
        if transaction is not None and was_seen:
            self._kept.append(transaction)
            return False
        return True

    def take_kept(self) -> list[AbortedTransaction]:
        """The transactions whose markers were met since the last call and stay."""
        kept, self._kept = self._kept, []
        return kept

    def _begin_up_to(self, offset: int) -> None:
        while self._waiting and self._waiting[-1].first_offset <= offset:
            transaction = self._waiting.pop()
            self._ongoing_aborted[transaction.producer_id] = transaction
