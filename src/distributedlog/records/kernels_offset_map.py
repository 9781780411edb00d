"""Kernels of the offset map: the last offset of every key.

It is a table of slots with open addressing: two words of the key's hash and the offset plus one, so that
a slot of zeros is free. The three lie side by side, so that a look-up mostly costs one cache line.
"""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import BYTES_IN, INT64, INT64_OUT, TABLE_OUT, helper, kernel
from distributedlog.records.kernels_batches import (
    BASE_OFFSET,
    END,
    LAST_OFFSET_DELTA,
    POSITION,
    RECORDS_COUNT,
)
from distributedlog.records.kernels_memory import address_of
from distributedlog.records.kernels_record import Fault, read_record
from distributedlog.records.kernels_siphash import siphash128

SLOT_WIDTH: Final = 3
SLOT_SIZE: Final = SLOT_WIDTH * 8

_NONE: Final = int(Fault.NONE)
_OFFSET_ORDER: Final = int(Fault.OFFSET_ORDER)
_BATCH_END: Final = int(Fault.BATCH_END)


@helper
def find_slot(slots: Any, first: int, second: int) -> int:
    """The slot that holds this hash, or the free one where it would go. There is always a free one."""
    count = slots.shape[0]
    slot = (first & 0x7FFFFFFFFFFFFFFF) % count
    while slots[slot, 2] != 0 and (slots[slot, 0] != first or slots[slot, 1] != second):
        slot += 1
        if slot == count:
            slot = 0
    return slot  # type: ignore[no-any-return]


@kernel(TABLE_OUT, TABLE_OUT)
def move_slots(old: Any, new: Any) -> None:
    """Put all that `old` holds into `new`, which is empty and larger."""
    for row in range(old.shape[0]):
        if old[row, 2] != 0:
            slot = find_slot(new, old[row, 0], old[row, 1])
            for column in range(SLOT_WIDTH):
                new[slot, column] = old[row, column]


@kernel(BYTES_IN, TABLE_OUT, INT64, INT64, INT64, TABLE_OUT, INT64, INT64, INT64_OUT)
def map_records(
    data: Any,
    table: Any,
    start_offset: int,
    key_low: int,
    key_high: int,
    slots: Any,
    size: int,
    size_max: int,
    progress: Any,
) -> int:
    """Note the offset of every record that has a key, from start_offset on; returns a Fault.

    Stops before the map would hold more than size_max keys. progress gets the number of batches that are
    wholly in the map, or the batch at fault, and the number of keys in the map. Whatever was noted of a
    batch beyond the whole ones does no harm: those records are newer than what they stand for.
    """
    base = address_of(data)
    progress[0] = table.shape[0]
    progress[1] = size
    for batch in range(table.shape[0]):
        position = base + table[batch, POSITION]
        end = base + table[batch, END]
        base_offset = table[batch, BASE_OFFSET]
        last_delta = table[batch, LAST_OFFSET_DELTA]
        previous_delta = -1
        for _ in range(table[batch, RECORDS_COUNT]):
            fault, _, _, offset_delta, key, key_length, _, position = read_record(position, end)
            if fault == _NONE and (offset_delta <= previous_delta or offset_delta > last_delta):
                fault = _OFFSET_ORDER
            if fault != _NONE:
                progress[0] = batch
                return fault
            previous_delta = offset_delta
            offset = base_offset + offset_delta
            if key_length < 0 or offset < start_offset:
                continue
            first, second = siphash128(key, key_length, key_low, key_high)
            slot = find_slot(slots, first, second)
            if slots[slot, 2] == 0:
                if size >= size_max:
                    progress[0] = batch
                    progress[1] = size
                    return _NONE
                size += 1
                slots[slot, 0] = first
                slots[slot, 1] = second
            slots[slot, 2] = offset + 1
        if position != end:
            progress[0] = batch
            return _BATCH_END
    progress[1] = size
    return _NONE
