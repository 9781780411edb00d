"""Which batches a read_committed reader leaves out.

A reader of a transactional topic is told, beside the data, which transactions among it were aborted: by
producer and first offset. From there on that producer's transactional batches do not count, until its
ABORT marker comes along in the data. Batches of other producers, and those outside of transactions, are
in between and do count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class AbortedTransaction(NamedTuple):
    """One entry of a Fetch response's list of aborted transactions.

    `last_offset` is known to the log's transaction index, not to clients. With it, a transaction that had
    ended before the first batch at hand is recognised.
    """

    producer_id: int
    first_offset: int
    last_offset: int | None = None


class AnyAbortedTransaction(Protocol):
    """Whatever says the same, such as the wire's and the transaction index's own entries."""

    @property
    def producer_id(self) -> int: ...

    @property
    def first_offset(self) -> int: ...


class BatchInOrder(NamedTuple):
    """What the decision needs to know of a batch."""

    base_offset: int
    last_offset: int
    producer_id: int
    is_transactional: bool
    is_control: bool


def find_aborted(
    batches: Iterable[BatchInOrder],
    aborted: Sequence[AnyAbortedTransaction],
    is_abort_marker: Callable[[int], bool],
) -> list[int]:
    """The indexes of the batches that belong to aborted transactions.

    The batches come in the order of their offsets. `is_abort_marker` is asked about control batches, by
    index, and only while their producer's transaction is an aborted one.
    """
    waiting = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
    open_producers: set[int] = set()
    found = []
    for index, batch in enumerate(batches):
        while waiting and waiting[-1].first_offset <= batch.last_offset:
            transaction = waiting.pop()
            last_offset = getattr(transaction, "last_offset", None)
            if last_offset is None or last_offset >= batch.base_offset:
                open_producers.add(transaction.producer_id)
        if batch.producer_id not in open_producers:
            continue
        if batch.is_control:
            if is_abort_marker(index):
                open_producers.discard(batch.producer_id)
        elif batch.is_transactional:
            found.append(index)
    return found
