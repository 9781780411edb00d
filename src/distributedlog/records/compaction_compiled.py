"""Compaction by kernels: the offset map in a growing table, records looked at without Python objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from distributedlog.records.columns_batches import open_payloads, read_table
from distributedlog.records.compaction import Compacted, Treatment, check_entries
from distributedlog.records.compaction_writer import BatchWriter
from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import DELETE_HORIZON_BIT
from distributedlog.records.kernels_batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    END,
    LAST_OFFSET_DELTA,
    POSITION,
    RECORDS_COUNT,
)
from distributedlog.records.kernels_compaction import (
    DROP_TOMBSTONES,
    KEEP_RECORDS,
    MAY_SET_HORIZON,
    MUST_SET_HORIZON,
    OUTCOME_WIDTH,
    TIMESTAMP_DELTA_GROWTH_MAX,
    filter_records,
)
from distributedlog.records.kernels_offset_map import BLOCK, SLOT_SIZE, SLOT_WIDTH, map_records, move_slots
from distributedlog.records.kernels_record import FAULT_TEXTS, Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from distributedlog.records.columns_batches import Payloads
    from distributedlog.records.header import Buffer

PAYLOAD_SIZE_MAX: Final = 32 * 1024 * 1024
"""How much is uncompressed at a time, but for a batch that alone is larger."""

LOAD_MAX: Final = 0.75
"""How full the map may be: fuller, and look-ups get slow."""

_SLOTS_AT_FIRST: Final = 1 << 12
_GROWTH: Final = 4
_WITHOUT_OLD: Final = _GROWTH / (_GROWTH + 1)
"""The share of the memory that the largest map may take, since it is filled from one of a quarter."""


class CompiledCompactor:
    """See `Compactor`. The map starts small and grows fourfold, up to the memory that it may take."""

    def __init__(self, memory_size_max: int, hash_key: bytes) -> None:
        self.latest_offset = -1
        self._slots_max = max(int(memory_size_max * _WITHOUT_OLD) // SLOT_SIZE, 2)
        self._slots = _new_slots(min(_SLOTS_AT_FIRST, self._slots_max))
        self._size = 0
        self._hashes = np.empty((BLOCK, 2), np.int64)
        self._hash_notes = np.empty(BLOCK, np.int64)
        self._key_low = int.from_bytes(hash_key[:8], "little", signed=True)
        self._key_high = int.from_bytes(hash_key[8:], "little", signed=True)

    @property
    def size(self) -> int:
        return self._size

    @property
    def keys_max(self) -> int:
        return int(self._slots_max * LOAD_MAX)

    def map_keys(self, buffer: Buffer, taken: Sequence[bool], start_offset: int) -> int:
        """See `Compactor`."""
        data, table, _ = read_table(buffer, check_crc=True)
        check_entries(len(taken), len(table))
        last_offsets = table[:, BASE_OFFSET] + table[:, LAST_OFFSET_DELTA]
        wanted = np.asarray(taken, np.bool_) & (last_offsets >= start_offset)
        done = 0
        while done < len(table):
            wanted[:done] = False
            payloads = open_payloads(data, table, wanted, PAYLOAD_SIZE_MAX, DECOMPRESSED_SIZE_MAX)
            count = self._map(payloads, start_offset)
            if count < len(payloads.table):
                done = int(np.flatnonzero(wanted)[count])
                self._move_latest_offset(last_offsets[:done], start_offset)
                return done
            done = len(table) if payloads.left_out is None else payloads.left_out
        self._move_latest_offset(last_offsets, start_offset)
        return done

    def _map(self, payloads: Payloads, start_offset: int) -> int:
        """How many of the payloads' batches the map took; room is made as long as there may be more."""
        table = payloads.table
        progress = np.zeros(2, np.int64)
        done = 0
        while True:
            size_max = int(len(self._slots) * LOAD_MAX)
            fault = map_records(
                payloads.data,
                table[done:],
                start_offset,
                self._key_low,
                self._key_high,
                self._slots,
                self._size,
                size_max,
                self._hashes,
                self._hash_notes,
                progress,
            )
            count, self._size = progress.tolist()
            done += count
            if fault != Fault.NONE:
                raise _corrupt(table, done, fault)
            if done == len(table) or not self._grow():
                return done

    def _grow(self) -> bool:
        count = min(len(self._slots) * _GROWTH, self._slots_max)
        if count == len(self._slots):
            return False
        slots = _new_slots(count)
        move_slots(self._slots, slots)
        self._slots = slots
        return True

    def _move_latest_offset(self, last_offsets: npt.NDArray[np.int64], start_offset: int) -> None:
        if len(last_offsets):
            latest = int(last_offsets.max())
            if latest >= start_offset:
                self.latest_offset = max(self.latest_offset, latest)

    def compact(self, buffer: Buffer, treatments: Sequence[Treatment], delete_horizon_ms: int) -> Compacted:
        """See `Compactor`."""
        data, table, _ = read_table(buffer, check_crc=True)
        check_entries(len(treatments), len(table))
        treatment_column = np.fromiter(treatments, np.int64, len(table))
        wanted = treatment_column & int(Treatment.DISCARD_RECORDS) == 0
        flags = _flags(treatment_column, table[:, ATTRIBUTES])
        keeps_empty = (treatment_column & int(Treatment.KEEP_EMPTY) != 0).tolist()
        places = table[:, [POSITION, END]].tolist()
        writer = BatchWriter(buffer)
        kept = without_key = 0
        written = 0
        while True:
            wanted[:written] = False
            payloads = open_payloads(data, table, wanted, PAYLOAD_SIZE_MAX, DECOMPRESSED_SIZE_MAX)
            rows = np.flatnonzero(wanted)[: len(payloads.table)].tolist()
            output, outcomes = self._filter(payloads, flags[rows], delete_horizon_ms)
            with output.data as view:
                for row, outcome in zip(rows, outcomes, strict=True):
                    _write_empty(writer, places, keeps_empty, written, row)
                    written = row + 1
                    count, is_unchanged, has_horizon, max_timestamp, start, end, keyless = outcome
                    kept += count
                    without_key += keyless
                    position, batch_end = places[row]
                    if not count:
                        _write_empty(writer, places, keeps_empty, row, written)
                    elif is_unchanged:
                        writer.keep(position, batch_end)
                    else:
                        horizon = delete_horizon_ms if has_horizon else None
                        writer.rebuild(position, view[start:end], count, max_timestamp, horizon)
            if payloads.left_out is None:
                _write_empty(writer, places, keeps_empty, written, len(places))
                return Compacted(writer.finish(), int(table[:, RECORDS_COUNT].sum()), kept, without_key)

    def _filter(
        self, payloads: Payloads, flags: npt.NDArray[np.int64], delete_horizon_ms: int
    ) -> tuple[npt.NDArray[np.uint8], list[list[int]]]:
        table = payloads.table
        counts = table[:, RECORDS_COUNT]
        output_size = int((table[:, END] - table[:, POSITION]).sum())
        output_size += int(counts.sum()) * TIMESTAMP_DELTA_GROWTH_MAX
        rows_max = int(counts.max(initial=0)) + 1
        output = np.empty(output_size, np.uint8)
        outcomes = np.zeros((len(table), OUTCOME_WIDTH), np.int64)
        failed_batch = np.zeros(1, np.int64)
        fault = filter_records(
            payloads.data,
            table,
            flags,
            self.latest_offset,
            self._key_low,
            self._key_high,
            self._slots,
            delete_horizon_ms,
            self._hashes,
            self._hash_notes,
            np.empty(rows_max, np.int64),
            np.empty(rows_max, np.int64),
            np.empty(rows_max, np.uint8),
            output,
            outcomes,
            failed_batch,
        )
        if fault != Fault.NONE:
            raise _corrupt(table, int(failed_batch[0]), fault)
        return output, outcomes.tolist()


def _new_slots(count: int) -> npt.NDArray[np.int64]:
    return np.zeros((count, SLOT_WIDTH), np.int64)


def _flags(treatments: npt.NDArray[np.int64], attributes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Treatments as the kernel knows them; whoever has a horizon gets no other."""
    flags = np.where(treatments & int(Treatment.KEEP_RECORDS), KEEP_RECORDS, 0)
    flags |= np.where(treatments & int(Treatment.DROP_TOMBSTONES), DROP_TOMBSTONES, 0)
    horizon = np.where(treatments & int(Treatment.SET_HORIZON), MUST_SET_HORIZON, MAY_SET_HORIZON)
    flags |= np.where(attributes & DELETE_HORIZON_BIT, 0, horizon)
    return flags.astype(np.int64)


def _write_empty(
    writer: BatchWriter, places: list[list[int]], keeps_empty: list[bool], first: int, end: int
) -> None:
    """Leave of the batches in these rows, none of whose records survived, what is to stay."""
    for row in range(first, end):
        if keeps_empty[row]:
            writer.keep_empty(places[row][0])


def _corrupt(table: npt.NDArray[np.int64], row: int, fault: int) -> CorruptBatchError:
    return CorruptBatchError(f"batch at offset {int(table[row, BASE_OFFSET])}: {FAULT_TEXTS[Fault(fault)]}")
