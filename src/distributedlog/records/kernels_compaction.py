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
    load_word,
    read_varint,
    read_varlong,
    store_int8,
    varint_size,
    write_varint,
)
from distributedlog.records.kernels_offset_map import NEXT_OFFSET, fetch_slot, find_slot
from distributedlog.records.kernels_record import Fault, read_record
from distributedlog.records.kernels_siphash import siphash128

HELPERS: Final = "c6cef8c7571befe4"

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

# Bits of a verdict.
_STAYS: Final = 1
_HAS_KEY: Final = 2
_HAS_VALUE: Final = 4

_LOG_APPEND_TIME: Final = 8
_NONE: Final = int(Fault.NONE)
_OFFSET_ORDER: Final = int(Fault.OFFSET_ORDER)
_TIMESTAMP: Final = int(Fault.TIMESTAMP)
_BATCH_END: Final = int(Fault.BATCH_END)


@helper
def _judge_block(
    slots: int, slots_count: int, hashes: Any, rows: Any, waiting: int, offsets: Any, verdicts: Any
) -> None:
    for index in range(waiting):
        slot = find_slot(slots, slots_count, hashes[index, 0], hashes[index, 1])
        if offsets[rows[index]] + 1 < load_word(slot + NEXT_OFFSET):
            verdicts[rows[index]] &= ~_STAYS & 0xFF


@helper
def _judge(
    data_base: int,
    table: Any,
    batch: int,
    flags: int,
    latest_offset: int,
    key_low: int,
    key_high: int,
    slots: int,
    slots_count: int,
    hashes: Any,
    hash_rows: Any,
    starts: Any,
    offsets: Any,
    verdicts: Any,
) -> int:
    """Read a batch's records and say which stay; returns a Fault.

    starts gets where each record begins, and where the last one ends; offsets its offset; verdicts
    whether it stays and whether it has a key and a value. Look-ups wait for a block of them, as in
    `map_records`.
    """
    position = data_base + table[batch, POSITION]
    end = data_base + table[batch, END]
    count = table[batch, RECORDS_COUNT]
    base_timestamp = table[batch, BASE_TIMESTAMP]
    is_log_append_time = table[batch, ATTRIBUTES] & _LOG_APPEND_TIME != 0
    previous_delta = -1
    waiting = 0
    for row in range(count):
        starts[row] = position
        fault, timestamp_delta, offset_delta, key, key_length, value_length, position = read_record(
            position, end
        )
        if fault != _NONE:
            return fault
        if offset_delta <= previous_delta or offset_delta > table[batch, LAST_OFFSET_DELTA]:
            return _OFFSET_ORDER
        previous_delta = offset_delta
        timestamp = base_timestamp + timestamp_delta
        if not is_log_append_time and (base_timestamp ^ timestamp) & (timestamp_delta ^ timestamp) < 0:
            return _TIMESTAMP
        offsets[row] = table[batch, BASE_OFFSET] + offset_delta
        verdict = (_HAS_KEY if key_length >= 0 else 0) | (_HAS_VALUE if value_length >= 0 else 0)
        if flags & KEEP_RECORDS or offsets[row] > latest_offset:
            verdict |= _STAYS
        elif key_length >= 0 and (value_length >= 0 or not flags & DROP_TOMBSTONES):
            verdict |= _STAYS
            first, second = siphash128(key, key_length, key_low, key_high)
            fetch_slot(slots, slots_count, first)
            hashes[waiting, 0] = first
            hashes[waiting, 1] = second
            hash_rows[waiting] = row
            waiting += 1
        verdicts[row] = verdict
        if waiting == hashes.shape[0]:
            _judge_block(slots, slots_count, hashes, hash_rows, waiting, offsets, verdicts)
            waiting = 0
    _judge_block(slots, slots_count, hashes, hash_rows, waiting, offsets, verdicts)
    starts[count] = position
    return _NONE if position == end else _BATCH_END


@helper
def _read_delta(start: int, end: int) -> tuple[int, int]:
    """(timestamp delta, where the offset delta starts) of a record that has been read before."""
    _, position = read_varint(start, end)
    return read_varlong(position + 1, end)


@helper
def _copy_runs(output: int, starts: Any, verdicts: Any, count: int) -> int:
    """Copy the records that stay, neighbours together; returns the address behind the last."""
    run_start = starts[0]
    for row in range(count):
        if not verdicts[row] & _STAYS:
            copy_bytes(output, run_start, starts[row] - run_start)
            output += starts[row] - run_start
            run_start = starts[row + 1]
    copy_bytes(output, run_start, starts[count] - run_start)
    return output + starts[count] - run_start  # type: ignore[no-any-return]


@helper
def _copy_with_horizon(
    output: int, table: Any, batch: int, starts: Any, verdicts: Any, delete_horizon_ms: int
) -> int:
    """Copy the records that stay, their timestamps counted from the horizon; returns the address behind."""
    is_log_append_time = table[batch, ATTRIBUTES] & _LOG_APPEND_TIME != 0
    for row in range(table[batch, RECORDS_COUNT]):
        if verdicts[row] & _STAYS:
            delta, rest = _read_delta(starts[row], starts[row + 1])
            delta += table[batch, BASE_TIMESTAMP] - delete_horizon_ms
            if is_log_append_time:
                delta = table[batch, MAX_TIMESTAMP] - delete_horizon_ms
            rest_length = starts[row + 1] - rest
            output = write_varint(output, 1 + varint_size(delta) + rest_length)
            store_int8(output, 0)
            output = write_varint(output + 1, delta)
            copy_bytes(output, rest, rest_length)
            output += rest_length
    return output


@kernel(
    BYTES_IN,
    TABLE_OUT,
    INT64_IN,
    INT64,
    INT64,
    INT64,
    TABLE_OUT,
    INT64,
    TABLE_OUT,
    INT64_OUT,
    INT64_OUT,
    INT64_OUT,
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
    hashes: Any,
    hash_rows: Any,
    starts: Any,
    offsets: Any,
    verdicts: Any,
    output: Any,
    outcomes: Any,
    failed_batch: Any,
) -> int:
    """Copy the records that survive, of batches that do not survive whole, into output; returns a Fault.

    Records are copied as they are, so base offset and base timestamp stay the batch's own. Only where the
    batch gets a delete horizon, which takes the place of the base timestamp, are the timestamp deltas
    written anew; a batch with a timestamp too far off for that gets none. starts, offsets and verdicts
    have room for one record more than the largest batch holds. A batch of which everything survives
    unchanged leaves nothing in the output.
    """
    base = address_of(data)
    output_base = address_of(output)
    used = 0
    for batch in range(table.shape[0]):
        failed_batch[0] = batch
        count = table[batch, RECORDS_COUNT]
        fault = _judge(
            base,
            table,
            batch,
            flags[batch],
            latest_offset,
            key_low,
            key_high,
            address_of(slots),
            slots.shape[0],
            hashes,
            hash_rows,
            starts,
            offsets,
            verdicts,
        )
        if fault != _NONE:
            return fault
        kept = 0
        keyless = 0
        keeps_tombstone = False
        horizon_fits = True
        max_timestamp = 0
        for row in range(count):
            if verdicts[row] & _STAYS:
                timestamp = table[batch, MAX_TIMESTAMP]
                if not table[batch, ATTRIBUTES] & _LOG_APPEND_TIME:
                    delta, _ = _read_delta(starts[row], starts[row + 1])
                    timestamp = table[batch, BASE_TIMESTAMP] + delta
                max_timestamp = timestamp if kept == 0 else max(max_timestamp, timestamp)
                kept += 1
                keeps_tombstone |= not verdicts[row] & _HAS_VALUE
                delta = timestamp - delete_horizon_ms
                horizon_fits &= (timestamp ^ delete_horizon_ms) & (timestamp ^ delta) >= 0
            elif not verdicts[row] & _HAS_KEY:
                keyless += 1
        sets_horizon = flags[batch] & MUST_SET_HORIZON != 0
        sets_horizon |= keeps_tombstone and flags[batch] & MAY_SET_HORIZON != 0
        sets_horizon &= kept > 0 and horizon_fits
        outcomes[batch, RECORDS_KEPT] = kept
        outcomes[batch, IS_UNCHANGED] = kept == count and not sets_horizon
        outcomes[batch, HAS_NEW_HORIZON] = sets_horizon
        outcomes[batch, KEPT_MAX_TIMESTAMP] = max_timestamp
        outcomes[batch, KEYLESS] = keyless
        outcomes[batch, OUTPUT_START] = used
        if sets_horizon:
            address = _copy_with_horizon(
                output_base + used, table, batch, starts, verdicts, delete_horizon_ms
            )
            used = address - output_base
        elif 0 < kept < count:
            used = _copy_runs(output_base + used, starts, verdicts, count) - output_base
        outcomes[batch, OUTPUT_END] = used
    return _NONE
