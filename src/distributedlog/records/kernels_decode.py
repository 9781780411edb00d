"""Kernels that turn the records of many batches into columns.

`decode_records` copies keys and values straight into Arrow's buffers ("fused": no list of positions in
between). Headers it only measures: see kernels_headers.py.
"""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import (
    BOOLEAN,
    BYTES_IN,
    BYTES_OUT,
    INT32_OUT,
    INT64,
    INT64_OUT,
    TABLE_OUT,
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
from distributedlog.records.kernels_memory import address_of, clear_bit, copy_bytes
from distributedlog.records.kernels_record import Fault, read_content, read_place

HELPERS: Final = "4f2ea9109134726b"

_TIMESTAMP_TYPE_BIT: Final = 8

# Columns of what `decode_records` reports.
ROWS: Final = 0
KEY_BYTES: Final = 1
KEY_NULLS: Final = 2
VALUE_BYTES: Final = 3
VALUE_NULLS: Final = 4
HEADERS: Final = 5
HEADER_KEY_BYTES: Final = 6
HEADER_VALUE_BYTES: Final = 7
ROWS_WITHOUT_HEADERS: Final = 8
FAILED_BATCH: Final = 9
REPORT_WIDTH: Final = 10


_NONE: Final = int(Fault.NONE)
_OFFSET_ORDER: Final = int(Fault.OFFSET_ORDER)
_TIMESTAMP: Final = int(Fault.TIMESTAMP)
_BATCH_END: Final = int(Fault.BATCH_END)


@kernel(
    BYTES_IN,
    TABLE_OUT,
    INT64,
    INT64,
    BOOLEAN,
    BOOLEAN,
    BOOLEAN,
    INT64_OUT,
    INT64_OUT,
    INT32_OUT,
    INT32_OUT,
    BYTES_OUT,
    BYTES_OUT,
    INT32_OUT,
    BYTES_OUT,
    BYTES_OUT,
    INT64_OUT,
    INT32_OUT,
    INT64_OUT,
)
def decode_records(
    buffer: Any,
    table: Any,
    start_offset: int,
    last_offset: int,
    with_keys: bool,
    with_values: bool,
    with_headers: bool,
    offsets: Any,
    timestamps: Any,
    timestamp_types: Any,
    key_offsets: Any,
    key_data: Any,
    key_validity: Any,
    value_offsets: Any,
    value_data: Any,
    value_validity: Any,
    header_positions: Any,
    header_counts: Any,
    report: Any,
) -> int:
    """Copy the records of the table's batches whose offsets lie between the two into columns.

    POSITION and END of the table are those of the records without the batch header, decompressed. The
    arrays of wanted columns hold as many rows as the batches claim, and key_data and value_data as many
    bytes as the payloads: so nothing that passes the checks here can outgrow them. Arrays of columns that
    are not wanted are empty and not touched, and what only they need is skipped unread. Validity bitmaps
    come filled with ones; key_offsets[0] and value_offsets[0] with zero.
    """
    base = address_of(buffer)
    key_base = address_of(key_data)
    value_base = address_of(value_data)
    with_offsets = offsets.shape[0] > 0
    with_timestamps = timestamps.shape[0] > 0
    with_types = timestamp_types.shape[0] > 0
    inside = with_keys or with_values or with_headers
    row = 0
    key_used = 0
    key_nulls = 0
    value_used = 0
    value_nulls = 0
    headers = 0
    header_key_bytes = 0
    header_value_bytes = 0
    rows_without_headers = 0
    fault = _NONE
    for batch in range(table.shape[0]):
        position = base + table[batch, POSITION]
        end = base + table[batch, END]
        base_offset = table[batch, BASE_OFFSET]
        last_delta = table[batch, LAST_OFFSET_DELTA]
        base_timestamp = table[batch, BASE_TIMESTAMP]
        max_timestamp = table[batch, MAX_TIMESTAMP]
        timestamp_type = (table[batch, ATTRIBUTES] & _TIMESTAMP_TYPE_BIT) >> 3
        previous_delta = -1
        report[FAILED_BATCH] = batch
        for _ in range(table[batch, RECORDS_COUNT]):
            fault, timestamp_delta, _, offset_delta, content, position = read_place(position, end)
            if fault != _NONE:
                break
            if offset_delta <= previous_delta or offset_delta > last_delta:
                fault = _OFFSET_ORDER
                break
            previous_delta = offset_delta
            offset = base_offset + offset_delta
            if offset < start_offset or offset > last_offset:
                continue
            if with_offsets:
                offsets[row] = offset
            if with_timestamps:
                timestamp = base_timestamp + timestamp_delta
                if timestamp_type:
                    timestamp = max_timestamp
                elif (base_timestamp ^ timestamp) & (timestamp_delta ^ timestamp) < 0:
                    fault = _TIMESTAMP
                    break
                timestamps[row] = timestamp
            if with_types:
                timestamp_types[row] = timestamp_type
            if inside:
                found = read_content(content, position)
                fault, key, key_length, value, value_length, header, count, key_bytes, value_bytes = found
                if fault != _NONE:
                    break
                if with_keys:
                    if key_length > 0:
                        copy_bytes(key_base + key_used, key, key_length)
                        key_used += key_length
                    elif key_length < 0:
                        clear_bit(key_validity, row)
                        key_nulls += 1
                    key_offsets[row + 1] = key_used
                if with_values:
                    if value_length > 0:
                        copy_bytes(value_base + value_used, value, value_length)
                        value_used += value_length
                    elif value_length < 0:
                        clear_bit(value_validity, row)
                        value_nulls += 1
                    value_offsets[row + 1] = value_used
                if with_headers:
                    header_positions[row] = header - base
                    header_counts[row] = count
                    headers += count
                    rows_without_headers += count == 0
                    header_key_bytes += key_bytes
                    header_value_bytes += value_bytes
            row += 1
        if fault == _NONE and position != end:
            fault = _BATCH_END
        if fault != _NONE:
            break
    report[ROWS] = row
    report[KEY_BYTES] = key_used
    report[KEY_NULLS] = key_nulls
    report[VALUE_BYTES] = value_used
    report[VALUE_NULLS] = value_nulls
    report[HEADERS] = headers
    report[HEADER_KEY_BYTES] = header_key_bytes
    report[HEADER_VALUE_BYTES] = header_value_bytes
    report[ROWS_WITHOUT_HEADERS] = rows_without_headers
    return fault
