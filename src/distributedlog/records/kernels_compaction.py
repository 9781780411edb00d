"""The kernel that lets records survive compaction, or not.

What the records of a batch have to go through is decided in Python, batch by batch, and handed in as
flags.
"""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import (
    BYTES_IN,
    BYTES_OUT,
    INT64,
    INT64_IN,
    INT64_OUT,
    TABLE_OUT,
    helper,
    kernel,
)
from distributedlog.records.kernels_batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    BASE_TIMESTAMP,
    END,
    LAST_OFFSET_DELTA,
    MAX_TIMESTAMP,
    POSITION,
    RECORDS_COUNT,
)
from distributedlog.records.kernels_memory import (
    address_of,
    copy_bytes,
    store_int8,
    varint_size,
    write_varint,
)
from distributedlog.records.kernels_offset_map import find_slot
from distributedlog.records.kernels_record import Fault, read_record
from distributedlog.records.kernels_siphash import siphash128

# Flags of a batch.
KEEP_RECORDS: Final = 1
DROP_TOMBSTONES: Final = 2
MAY_SET_HORIZON: Final = 4
MUST_SET_HORIZON: Final = 8

# Columns of what `filter_records` reports of each batch.
RECORDS_KEPT: Final = 0
IS_UNCHANGED: Final = 1
HAS_NEW_HORIZON: Final = 2
KEPT_MAX_TIMESTAMP: Final = 3
OUTPUT_START: Final = 4
OUTPUT_END: Final = 5
KEYLESS: Final = 6
OUTCOME_WIDTH: Final = 7

TIMESTAMP_DELTA_GROWTH_MAX: Final = 10
"""By how many bytes a record may grow with another timestamp delta: by nine, and one of its length."""

_LOG_APPEND_TIME: Final = 8
_NONE: Final = int(Fault.NONE)
_OFFSET_ORDER: Final = int(Fault.OFFSET_ORDER)
_TIMESTAMP: Final = int(Fault.TIMESTAMP)
_BATCH_END: Final = int(Fault.BATCH_END)


@helper
def _survives(
    offset: int,
    key: int,
    key_length: int,
    is_tombstone: bool,
    flags: int,
    latest_offset: int,
    slots: Any,
    key_low: int,
    key_high: int,
) -> bool:
    if flags & KEEP_RECORDS or offset > latest_offset:
        return True
    if key_length < 0 or (is_tombstone and flags & DROP_TOMBSTONES):
        return False
    first, second = siphash128(key, key_length, key_low, key_high)
    return offset + 1 >= slots[find_slot(slots, first, second), 2]  # type: ignore[no-any-return]


@helper
def _with_new_delta(output: int, record_end: int, after_timestamp: int, timestamp_delta: int) -> int:
    """Write a record again with another timestamp delta; returns the address behind it."""
    rest = record_end - after_timestamp
    output = write_varint(output, 1 + varint_size(timestamp_delta) + rest)
    store_int8(output, 0)
    output = write_varint(output + 1, timestamp_delta)
    copy_bytes(output, after_timestamp, rest)
    return output + rest


@kernel(
    BYTES_IN,
    TABLE_OUT,
    INT64_IN,
    INT64,
    INT64,
    INT64,
    TABLE_OUT,
    INT64,
    BYTES_OUT,
    BYTES_OUT,
    TABLE_OUT,
    INT64_OUT,
)
def filter_records(
    data: Any,
    table: Any,
    flags: Any,
    latest_offset: int,
    key_low: int,
    key_high: int,
    slots: Any,
    delete_horizon_ms: int,
    stays: Any,
    output: Any,
    outcomes: Any,
    failed_batch: Any,
) -> int:
    """Copy the records that survive, of batches that do not survive whole, into output; returns a Fault.

    Records are copied as they are, so base offset and base timestamp stay the batch's own. Only where the
    batch gets a delete horizon, which takes the place of the base timestamp, are the timestamp deltas
    written anew; a batch with a timestamp too far off for that gets none. stays has room for the records
    of the largest batch. A batch of which everything survives unchanged leaves nothing in the output.
    """
    base = address_of(data)
    output_base = address_of(output)
    used = 0
    for batch in range(table.shape[0]):
        failed_batch[0] = batch
        start = base + table[batch, POSITION]
        end = base + table[batch, END]
        base_offset = table[batch, BASE_OFFSET]
        base_timestamp = table[batch, BASE_TIMESTAMP]
        is_log_append_time = table[batch, ATTRIBUTES] & _LOG_APPEND_TIME != 0
        count = table[batch, RECORDS_COUNT]
        last_delta = table[batch, LAST_OFFSET_DELTA]
        batch_flags = flags[batch]
        previous_delta = -1
        kept = 0
        keyless = 0
        keeps_tombstone = False
        horizon_fits = True
        max_timestamp = 0
        position = start
        for row in range(count):
            fault, timestamp_delta, _, offset_delta, key, key_length, value_length, position = read_record(
                position, end
            )
            if fault == _NONE and (offset_delta <= previous_delta or offset_delta > last_delta):
                fault = _OFFSET_ORDER
            if fault != _NONE:
                return fault
            previous_delta = offset_delta
            timestamp = base_timestamp + timestamp_delta
            if is_log_append_time:
                timestamp = table[batch, MAX_TIMESTAMP]
            elif (base_timestamp ^ timestamp) & (timestamp_delta ^ timestamp) < 0:
                return _TIMESTAMP
            stay = _survives(
                base_offset + offset_delta,
                key,
                key_length,
                value_length < 0,
                batch_flags,
                latest_offset,
                slots,
                key_low,
                key_high,
            )
            stays[row] = stay
            if stay:
                max_timestamp = timestamp if kept == 0 else max(max_timestamp, timestamp)
                kept += 1
                keeps_tombstone |= value_length < 0
                new_delta = timestamp - delete_horizon_ms
                horizon_fits &= (timestamp ^ delete_horizon_ms) & (timestamp ^ new_delta) >= 0
            elif key_length < 0:
                keyless += 1
        if position != end:
            return _BATCH_END
        sets_horizon = batch_flags & MUST_SET_HORIZON != 0
        sets_horizon |= keeps_tombstone and batch_flags & MAY_SET_HORIZON != 0
        sets_horizon &= kept > 0 and horizon_fits
        outcomes[batch, RECORDS_KEPT] = kept
        outcomes[batch, IS_UNCHANGED] = kept == count and not sets_horizon
        outcomes[batch, HAS_NEW_HORIZON] = sets_horizon
        outcomes[batch, KEPT_MAX_TIMESTAMP] = max_timestamp
        outcomes[batch, OUTPUT_START] = used
        outcomes[batch, KEYLESS] = keyless
        if kept > 0 and (kept < count or sets_horizon):
            position = start
            run_start = start
            for row in range(count):
                record_start = position
                _, timestamp_delta, after_timestamp, _, _, _, _, position = read_record(position, end)
                if sets_horizon:
                    if stays[row]:
                        timestamp = base_timestamp + timestamp_delta
                        if is_log_append_time:
                            timestamp = table[batch, MAX_TIMESTAMP]
                        address = _with_new_delta(
                            output_base + used, position, after_timestamp, timestamp - delete_horizon_ms
                        )
                        used = address - output_base
                elif not stays[row]:
                    copy_bytes(output_base + used, run_start, record_start - run_start)
                    used += record_start - run_start
                    run_start = position
            if not sets_horizon:
                copy_bytes(output_base + used, run_start, end - run_start)
                used += end - run_start
        outcomes[batch, OUTPUT_END] = used
    return _NONE
