"""One segment: its batches in order, and beside them its three indexes."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from distributedlog.log.inspect_batches import Batch, BatchScanner, Unreadable
from distributedlog.log.inspect_events import (
    BatchSeen,
    Event,
    FileKind,
    Finding,
    FindingKind,
    LeaderEpochEntry,
    OffsetIndexEntry,
    RecordSeen,
    Severity,
    TimeIndexEntry,
)
from distributedlog.log.inspect_indexes import (
    OFFSET_ENTRY,
    TIME_ENTRY,
    OffsetIndexWatcher,
    TimeIndexWatcher,
    read_entries,
    read_transaction_index,
)
from distributedlog.log.inspect_transactions import OpenTransactions, TransactionIndexWatcher
from distributedlog.records import (
    BatchHeader,
    Compression,
    Record,
    RecordsError,
    TimestampType,
    decode_batch,
    validate_records,
)

RELATIVE_OFFSET_MAX: Final = 2**31 - 1
CONTROL_KEY: Final = struct.Struct(">hh")
CONTROL_NAMES: Final = {
    0: "abort",
    1: "commit",
    2: "leader change",
    3: "snapshot header",
    4: "snapshot footer",
    5: "kraft version",
    6: "kraft voters",
}


def control_name(record: Record) -> str | None:
    """Which marker a control record is, from its key: int16 version, int16 type."""
    if record.key is None or len(record.key) < CONTROL_KEY.size:
        return None
    kind = CONTROL_KEY.unpack_from(record.key)[1]
    return CONTROL_NAMES.get(kind, f"type {kind}")


@dataclass(slots=True)
class PartitionState:
    """What has to be remembered from one segment to the next. ``batches``, ``records``: so far."""

    leader_epochs: list[LeaderEpochEntry] = field(default_factory=list)
    transactions: OpenTransactions = field(default_factory=OpenTransactions)
    is_compacted: bool = False
    segments: int = 0
    first_offset: int | None = None
    next_offset: int = 0
    batches: int = 0
    records: int = 0
    size: int = 0
    epoch_index: int = 0
    epoch_mismatch: tuple[int, int] | None = None


class SegmentInspector:
    """Reads the segment once. Findings of an index come when its log has been compared with it."""

    def __init__(self, log_path: Path, base_offset: int, state: PartitionState, with_records: bool) -> None:
        self._log_path = log_path
        self._base_offset = base_offset
        self._state = state
        self._with_records = with_records
        self._scanner = BatchScanner(log_path, base_offset)
        self._last_offset = -1
        self._is_damaged = False

    def events(self) -> Iterator[Event]:
        state = self._state
        offsets = self._offset_index_watcher()
        times = self._time_index_watcher()
        transactions_path = self._log_path.with_suffix(".txnindex")
        transactions = TransactionIndexWatcher(
            transactions_path, transactions_path.exists(), state.transactions
        )
        for found in self._scanner.batches():
            if isinstance(found, Unreadable):
                yield Finding(
                    self._log_path,
                    found.position,
                    found.kind,
                    f"{found.end - found.position} bytes cannot be read: {found.reason}",
                )
            else:
                yield BatchSeen(self._log_path, found.position, found.header, found.crc_is_right)
                if found.crc_is_right:
                    control = None
                    for event in self._batch_events(found):
                        if isinstance(event, RecordSeen):
                            control = event.control
                            if not self._with_records:
                                continue
                        yield event
                    header = found.header
                    if offsets:
                        yield from offsets.batch(found.position, header, self._last_offset)
                    if times:
                        yield from times.batch(header)
                    self._count(header)
                    yield from transactions.batch(
                        header, control, state.first_offset or 0, state.is_compacted or self._is_damaged
                    )
                    continue
                yield Finding(
                    self._log_path, found.position, FindingKind.BAD_CRC, self._bad_crc(found.header)
                )
            self._is_damaged = True
            end = found.end if isinstance(found, Unreadable) else found.position + found.header.size
            if offsets:
                yield from offsets.unreadable(end)
            if times:
                times.unreadable()
        state.size += self._scanner.size
        if offsets:
            yield from offsets.finish(self._scanner.size, -1 if self._is_damaged else self._last_offset)
        if times:
            yield from times.finish()
        yield from transactions.finish(state.is_compacted or self._is_damaged)

    def index_entries(self, kind: FileKind) -> Iterator[Event]:
        """The entries as they stand in the file; what is wrong with them `events` says."""
        if kind is FileKind.OFFSET_INDEX:
            path = self._log_path.with_suffix(".index")
            for found in read_entries(path, OFFSET_ENTRY):
                if not isinstance(found, Finding):
                    position, (relative_offset, log_position) = found
                    yield OffsetIndexEntry(path, position, self._base_offset + relative_offset, log_position)
        elif kind is FileKind.TIME_INDEX:
            path = self._log_path.with_suffix(".timeindex")
            for found in read_entries(path, TIME_ENTRY):
                if not isinstance(found, Finding):
                    position, (timestamp, relative_offset) = found
                    yield TimeIndexEntry(path, position, timestamp, self._base_offset + relative_offset)
        else:
            for entry in read_transaction_index(self._log_path.with_suffix(".txnindex")):
                if not isinstance(entry, Finding):
                    yield entry

    def _offset_index_watcher(self) -> OffsetIndexWatcher | None:
        path = self._log_path.with_suffix(".index")
        return OffsetIndexWatcher(path, self._base_offset) if path.exists() else None

    def _time_index_watcher(self) -> TimeIndexWatcher | None:
        path = self._log_path.with_suffix(".timeindex")
        return TimeIndexWatcher(path, self._base_offset) if path.exists() else None

    def _batch_events(self, batch: Batch) -> Iterator[Finding | RecordSeen]:
        """What is wrong with a batch whose CRC is right, and its records as far as they are wanted."""
        header = batch.header
        offset_min = self._base_offset if self._last_offset < 0 else self._last_offset + 1
        if header.base_offset < offset_min:
            before = (
                f"the segment begins with {self._base_offset}"
                if self._last_offset < 0
                else f"the batch before it ends in {self._last_offset}"
            )
            yield self._finding(
                batch,
                FindingKind.OFFSET_ORDER,
                f"the batch begins with offset {header.base_offset}; {before}",
            )
        elif header.last_offset - self._base_offset > RELATIVE_OFFSET_MAX:
            yield self._finding(
                batch,
                FindingKind.OFFSET_ORDER,
                f"offset {header.last_offset} is too far from the segment's base offset {self._base_offset}",
            )
        if header.last_offset_delta < 0 or not 0 <= header.records_count <= header.last_offset_delta + 1:
            yield self._finding(
                batch,
                FindingKind.BAD_BATCH,
                f"{header.records_count} records with a last offset delta of {header.last_offset_delta}",
            )
            return
        codec = header.attributes & 7
        if codec > Compression.ZSTD:
            yield self._finding(batch, FindingKind.BAD_BATCH, f"there is no compression type {codec}")
            return
        yield from self._check_leader_epoch(batch)
        if self._with_records or header.is_control:
            yield from self._records(batch)

    def _records(self, batch: Batch) -> Iterator[Finding | RecordSeen]:
        data = self._scanner.data(batch)
        if data is None:
            yield Finding(
                self._log_path,
                batch.position,
                FindingKind.BAD_RECORDS,
                f"a batch of {batch.header.size} bytes is too large to be decoded here",
                Severity.NOTE,
            )
            return
        try:
            if self._with_records:
                validate_records(data)
            records = decode_batch(data)
        except RecordsError as error:
            reason = str(error).replace(" at position 0", "")
            yield self._finding(batch, FindingKind.BAD_RECORDS, reason)
            return
        for record in records:
            control = control_name(record) if batch.header.is_control else None
            yield RecordSeen(self._log_path, batch.position, record, control)
        if records and batch.header.timestamp_type is TimestampType.CREATE_TIME:
            timestamp_max = max(record.timestamp for record in records)
            if timestamp_max != batch.header.max_timestamp:
                yield self._finding(
                    batch,
                    FindingKind.BAD_RECORDS,
                    f"max timestamp {batch.header.max_timestamp}, but {timestamp_max} in the records",
                )

    def _check_leader_epoch(self, batch: Batch) -> Iterator[Finding]:
        """Every batch carries the epoch that leader-epoch-checkpoint has for its offset.

        One finding stands for all batches in a row with the same mistake.
        """
        state, header = self._state, batch.header
        epochs = state.leader_epochs
        if not epochs or header.base_offset < epochs[0].start_offset:
            return
        index = state.epoch_index
        while index + 1 < len(epochs) and epochs[index + 1].start_offset <= header.base_offset:
            index += 1
        state.epoch_index = index
        mismatch = (header.partition_leader_epoch, epochs[index].epoch)
        if mismatch[0] == mismatch[1]:
            state.epoch_mismatch = None
        elif mismatch != state.epoch_mismatch:
            state.epoch_mismatch = mismatch
            yield self._finding(
                batch,
                FindingKind.LEADER_EPOCH,
                f"the batch at offset {header.base_offset} was written in leader epoch {mismatch[0]}; "
                f"leader-epoch-checkpoint says {mismatch[1]}",
            )

    def _count(self, header: BatchHeader) -> None:
        state = self._state
        if state.first_offset is None:
            state.first_offset = header.base_offset
        is_gap = self._last_offset >= 0 and header.base_offset > self._last_offset + 1
        if (is_gap and not self._is_damaged) or header.records_count != header.last_offset_delta + 1:
            state.is_compacted = True
        self._last_offset = max(self._last_offset, header.last_offset)
        state.next_offset = max(state.next_offset, header.next_offset)
        state.batches += 1
        state.records += max(header.records_count, 0)

    def _bad_crc(self, header: BatchHeader) -> str:
        return (
            f"wrong CRC in the batch of {header.size} bytes that says it holds "
            f"offsets {header.base_offset} to {header.last_offset}"
        )

    def _finding(self, batch: Batch, kind: FindingKind, message: str) -> Finding:
        return Finding(self._log_path, batch.position, kind, message)
