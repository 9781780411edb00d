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
from distributedlog.records.kernels_memory import address_of, load_word, prefetch, store_word
from distributedlog.records.kernels_record import Fault, read_key, read_place
from distributedlog.records.kernels_siphash import siphash128

HELPERS: Final = "b7ff64178e9610b6"

SLOT_WIDTH: Final = 3
SLOT_SIZE: Final = SLOT_WIDTH * 8
SECOND_WORD: Final = 8
NEXT_OFFSET: Final = 16

BLOCK: Final = 64
"""How many slots are on their way from memory at a time."""

_NONE: Final = int(Fault.NONE)
_OFFSET_ORDER: Final = int(Fault.OFFSET_ORDER)
_BATCH_END: Final = int(Fault.BATCH_END)


@helper
def _home(first: int, count: int) -> int:
    """Where among `count` slots, fewer than 2**31, the search for a hash begins."""
    return ((first >> 32) & 0xFFFFFFFF) * count >> 32


@helper
def fetch_slot(slots: int, count: int, first: int) -> None:
    """Have the slot brought near for a find_slot to come."""
    prefetch(slots + _home(first, count) * SLOT_SIZE)


@helper
def find_slot(slots: int, count: int, first: int, second: int) -> int:
    """The address of the slot that holds this hash, or of the free one where it would go.

    There is always a free one.
    """
    end = slots + count * SLOT_SIZE
    slot = slots + _home(first, count) * SLOT_SIZE
    while load_word(slot + NEXT_OFFSET) != 0 and (
        load_word(slot) != first or load_word(slot + SECOND_WORD) != second
    ):
        slot += SLOT_SIZE
        if slot == end:
            slot = slots
    return slot


@kernel(TABLE_OUT, TABLE_OUT)
def move_slots(old: Any, new: Any) -> None:
    """Put all that `old` holds into `new`, which is empty and larger."""
    address = address_of(new)
    for row in range(old.shape[0]):
        if old[row, 2] != 0:
            slot = find_slot(address, new.shape[0], old[row, 0], old[row, 1])
            store_word(slot, old[row, 0])
            store_word(slot + SECOND_WORD, old[row, 1])
            store_word(slot + NEXT_OFFSET, old[row, 2])


@helper
def _put(
    slots: int, count: int, hashes: Any, hash_offsets: Any, waiting: int, size: int, size_max: int
) -> tuple[int, bool]:
    """(keys in the map, whether there was room) after putting the waiting hashes into it."""
    for index in range(waiting):
        slot = find_slot(slots, count, hashes[index, 0], hashes[index, 1])
        if load_word(slot + NEXT_OFFSET) == 0:
            if size >= size_max:
                return size, False
            size += 1
            store_word(slot, hashes[index, 0])
            store_word(slot + SECOND_WORD, hashes[index, 1])
        store_word(slot + NEXT_OFFSET, hash_offsets[index] + 1)
    return size, True


@kernel(BYTES_IN, TABLE_OUT, INT64, INT64, INT64, TABLE_OUT, INT64, INT64, TABLE_OUT, INT64_OUT, INT64_OUT)
def map_records(
    data: Any,
    table: Any,
    start_offset: int,
    key_low: int,
    key_high: int,
    slots: Any,
    size: int,
    size_max: int,
    hashes: Any,
    hash_offsets: Any,
    progress: Any,
) -> int:
    """Note the offset of every record that has a key, from start_offset on; returns a Fault.

    What follows a record's key is left unread here, and so its faults for `filter_records` to find.

    Stops before the map would hold more than size_max keys. progress gets the number of batches that are
    wholly in the map, or the batch at fault, and the number of keys in the map. Whatever was noted of a
    batch beyond the whole ones does no harm: those records are newer than what they stand for.

    Hashes wait in `hashes` and `hash_offsets` until there is a block of them: the map is larger than the
    processor's cache, and while one slot is on its way from memory so can the others be.
    """
    base = address_of(data)
    slots_base = address_of(slots)
    slots_count = slots.shape[0]
    progress[0] = table.shape[0]
    progress[1] = size
    for batch in range(table.shape[0]):
        position = base + table[batch, POSITION]
        end = base + table[batch, END]
        previous_delta = -1
        waiting = 0
        for _ in range(table[batch, RECORDS_COUNT]):
            fault, _, _, offset_delta, key, position = read_place(position, end)
            if fault == _NONE:
                fault, key, key_length = read_key(key, position)
            if fault == _NONE and (
                offset_delta <= previous_delta or offset_delta > table[batch, LAST_OFFSET_DELTA]
            ):
                fault = _OFFSET_ORDER
            if fault != _NONE:
                progress[0] = batch
                progress[1] = size
                return fault
            previous_delta = offset_delta
            offset = table[batch, BASE_OFFSET] + offset_delta
            if key_length < 0 or offset < start_offset:
                continue
            first, second = siphash128(key, key_length, key_low, key_high)
            fetch_slot(slots_base, slots_count, first)
            hashes[waiting, 0] = first
            hashes[waiting, 1] = second
            hash_offsets[waiting] = offset
            waiting += 1
            if waiting == hashes.shape[0]:
                size, has_room = _put(slots_base, slots_count, hashes, hash_offsets, waiting, size, size_max)
                if not has_room:
                    progress[0] = batch
                    progress[1] = size
                    return _NONE
                waiting = 0
        if position != end:
            progress[0] = batch
            progress[1] = size
            return _BATCH_END
        size, has_room = _put(slots_base, slots_count, hashes, hash_offsets, waiting, size, size_max)
        if not has_room:
            progress[0] = batch
            progress[1] = size
            return _NONE
    progress[1] = size
    return _NONE
