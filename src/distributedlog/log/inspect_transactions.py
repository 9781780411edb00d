"""Do the transaction indexes of a partition say what the markers in its log say?

A reader in `read_committed` finds the aborted records by the index alone, so an entry that is missing
shows it records that never were, and one too many hides records from it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from distributedlog.log.inspect_events import AbortedTransactionEntry, Finding, FindingKind
from distributedlog.log.inspect_indexes import read_transaction_index
from distributedlog.records import BatchHeader

ABORT: Final = "abort"
OPEN_TRANSACTIONS_MAX: Final = 1_000_000
UNMATCHED_MAX: Final = 1_000


class OpenTransactions:
    """The producers whose records have been seen without a marker yet, over all segments."""

    def __init__(self) -> None:
        self._first_offsets: dict[int, int] = {}

    def begin(self, header: BatchHeader) -> None:
        if len(self._first_offsets) < OPEN_TRANSACTIONS_MAX:
            self._first_offsets.setdefault(header.producer_id, header.base_offset)

    def end(self, producer_id: int) -> int | None:
        """The transaction's first offset that was seen; None when there were no records."""
        return self._first_offsets.pop(producer_id, None)


class TransactionIndexWatcher:
    """Follows one segment's index, if it has one, while the segment's log passes by."""

    def __init__(self, path: Path, exists: bool, transactions: OpenTransactions) -> None:
        self._path = path
        self._found = read_transaction_index(path) if exists else iter(())
        self._next: AbortedTransactionEntry | None = None
        self._transactions = transactions
        self._started = False
        self._unmatched: list[AbortedTransactionEntry] = []

    def batch(
        self, header: BatchHeader, control: str | None, log_start_offset: int, may_lack_records: bool
    ) -> Iterator[Finding]:
        """``control`` names the marker in a control batch."""
        if control is None:
            if header.is_transactional:
                self._transactions.begin(header)
            return
        first_offset = self._transactions.end(header.producer_id)
        if not self._started:
            yield from self._advance()
        while (entry := self._next) is not None and entry.last_offset < header.base_offset:
            self._unmatched.append(entry)
            yield from self._advance()
        is_match = (
            entry is not None
            and entry.last_offset == header.base_offset
            and entry.producer_id == header.producer_id
            and control == ABORT
        )
        if is_match and entry is not None:
            # It may have begun before the log does, or its first records may have been compacted away.
            may_begin_earlier = may_lack_records or entry.first_offset < log_start_offset
            is_later = first_offset is not None and entry.first_offset > first_offset
            if is_later or (entry.first_offset != first_offset and not may_begin_earlier):
                yield Finding(
                    self._path,
                    entry.position,
                    FindingKind.TRANSACTION_INDEX,
                    f"the aborted transaction of producer {entry.producer_id} begins with offset "
                    f"{'an earlier log' if first_offset is None else first_offset}, not {entry.first_offset}",
                )
            yield from self._advance()
        elif control == ABORT and first_offset is not None:
            yield Finding(
                self._path,
                None,
                FindingKind.TRANSACTION_INDEX,
                f"the aborted transaction of producer {header.producer_id}, offsets {first_offset} to "
                f"{header.base_offset}, is not in the index",
            )

    def finish(self, may_lack_markers: bool) -> Iterator[Finding]:
        """Compaction and damage take markers away, so that entries without one prove nothing."""
        if not self._started:
            yield from self._advance()
        while self._next is not None:
            self._unmatched.append(self._next)
            yield from self._advance()
        for entry in self._unmatched[:UNMATCHED_MAX] if not may_lack_markers else ():
            yield Finding(
                self._path,
                entry.position,
                FindingKind.TRANSACTION_INDEX,
                f"offset {entry.last_offset} is no abort marker of producer {entry.producer_id}",
            )

    def _advance(self) -> Iterator[Finding]:
        self._started = True
        self._next = None
        del self._unmatched[UNMATCHED_MAX:]
        for found in self._found:
            if isinstance(found, Finding):
                yield found
            elif 0 <= found.first_offset <= found.last_offset:
                self._next = found
                return
