"""Kernels that write record batches from columns.

Two passes: `plan_batches` decides where one batch ends and the next begins and how long every record
will be, so that memory is taken once and exactly; `write_batches` then writes headers and records into
it. CRCs and compression, work per batch, are left to Python.

A column of byte strings comes as three arrays: where each value starts, how long it is (-1 for null), and
the bytes. Headers come as two such columns, all rows' headers one behind the other, and a count per row.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, Final

from distributedlog.records.kernels import (
    BYTES_IN,
    BYTES_OUT,
    INT32_IN,
    INT32_OUT,
    INT64,
    INT64_IN,
    INT64_OUT,
    helper,
    kernel,
)
from distributedlog.records.kernels_memory import (
    address_of,
    copy_bytes,
    store_int8,
    store_int16,
    store_int32,
    store_int64,
    varint_size,
    write_varint,
)

HELPERS: Final = "48065e4a057da8d4"

_HEADER_SIZE: Final = 61
_LOG_OVERHEAD: Final = 12
_MAGIC: Final = 2
_SIZE_MAX: Final = 2**31 - 1
_NO_SEQUENCE: Final = -1
_FIXED_SIZE: Final = 1  # the attributes byte of a record


class PlanFault(IntEnum):
    """What keeps columns from being written, as `plan_batches` returns it in place of a count."""

    RECORD_TOO_LARGE = -1
    COLUMN_DAMAGED = -2


_RECORD_TOO_LARGE: Final = int(PlanFault.RECORD_TOO_LARGE)
_COLUMN_DAMAGED: Final = int(PlanFault.COLUMN_DAMAGED)


@helper
def _field_size(length: int) -> int:
    return varint_size(length) + max(length, 0)


@helper
def _is_inside(start: int, length: int, size: int) -> bool:
    return length <= 0 or (start >= 0 and length <= size - start)


@kernel(
    INT64_IN,
    INT32_IN,
    INT32_IN,
    INT64,
    INT32_IN,
    INT32_IN,
    INT64,
    INT32_IN,
    INT32_IN,
    INT32_IN,
    INT64,
    INT32_IN,
    INT32_IN,
    INT64,
    INT64,
    INT32_OUT,
    INT64_OUT,
    INT64_OUT,
)
def plan_batches(
    timestamps: Any,
    key_starts: Any,
    key_lengths: Any,
    key_bytes: int,
    value_starts: Any,
    value_lengths: Any,
    value_bytes: int,
    header_counts: Any,
    header_key_starts: Any,
    header_key_lengths: Any,
    header_key_bytes: int,
    header_value_starts: Any,
    header_value_lengths: Any,
    header_value_bytes: int,
    batch_size_max: int,
    record_sizes: Any,
    batch_rows: Any,
    batch_positions: Any,
) -> int:
    """How many batches the rows make, or a PlanFault.

    record_sizes gets the size of each record without its length; batch_rows the first row of each batch
    and, at the end, the number of rows; batch_positions the start of each batch and, at the end, the size
    of all. header_counts is empty when no row has headers. A record that alone passes batch_size_max
    makes a batch of its own.
    """
    rows = timestamps.shape[0]
    with_headers = header_counts.shape[0] > 0
    header = 0
    batch = 0
    first_row = 0
    base_timestamp = 0
    position = 0
    batch_size = 0
    for row in range(rows):
        key_length = key_lengths[row]
        value_length = value_lengths[row]
        if not _is_inside(key_starts[row], key_length, key_bytes):
            return _COLUMN_DAMAGED
        if not _is_inside(value_starts[row], value_length, value_bytes):
            return _COLUMN_DAMAGED
        headers = header_counts[row] if with_headers else 0
        size = _FIXED_SIZE + _field_size(key_length) + _field_size(value_length) + varint_size(headers)
        for index in range(header, header + headers):
            if not _is_inside(header_key_starts[index], header_key_lengths[index], header_key_bytes):
                return _COLUMN_DAMAGED
            if not _is_inside(header_value_starts[index], header_value_lengths[index], header_value_bytes):
                return _COLUMN_DAMAGED
            size += _field_size(header_key_lengths[index]) + _field_size(header_value_lengths[index])
        header += headers
        deltas_size = varint_size(timestamps[row] - base_timestamp) + varint_size(row - first_row)
        record_size = varint_size(size + deltas_size) + size + deltas_size
        if row == 0 or batch_size + record_size > batch_size_max:
            position += batch_size
            batch_rows[batch] = row
            batch_positions[batch] = position
            batch += 1
            first_row = row
            base_timestamp = timestamps[row]
            batch_size = _HEADER_SIZE
            deltas_size = 2
            record_size = varint_size(size + deltas_size) + size + deltas_size
        batch_size += record_size
        if batch_size > _SIZE_MAX:
            return _RECORD_TOO_LARGE
        record_sizes[row] = size + deltas_size
    batch_rows[batch] = rows
    batch_positions[batch] = position + batch_size
    return batch


@helper
def _write_field(address: int, source: int, length: int) -> int:
    address = write_varint(address, length)
    if length > 0:
        copy_bytes(address, source, length)
        address += length
    return address


@kernel(
    INT64_IN,
    INT32_IN,
    INT32_IN,
    BYTES_IN,
    INT32_IN,
    INT32_IN,
    BYTES_IN,
    INT32_IN,
    INT32_IN,
    INT32_IN,
    BYTES_IN,
    INT32_IN,
    INT32_IN,
    BYTES_IN,
    INT32_IN,
    INT64_IN,
    INT64_IN,
    INT64,
    INT64,
    INT64,
    INT64,
    INT64,
    INT64,
    BYTES_OUT,
)
def write_batches(
    timestamps: Any,
    key_starts: Any,
    key_lengths: Any,
    key_data: Any,
    value_starts: Any,
    value_lengths: Any,
    value_data: Any,
    header_counts: Any,
    header_key_starts: Any,
    header_key_lengths: Any,
    header_key_data: Any,
    header_value_starts: Any,
    header_value_lengths: Any,
    header_value_data: Any,
    record_sizes: Any,
    batch_rows: Any,
    batch_positions: Any,
    base_offset: int,
    leader_epoch: int,
    attributes: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    output: Any,
) -> None:
    """Write the batches that `plan_batches` planned into `output`, all but their CRCs."""
    output_base = address_of(output)
    key_base = address_of(key_data)
    value_base = address_of(value_data)
    header_key_base = address_of(header_key_data)
    header_value_base = address_of(header_value_data)
    with_headers = header_counts.shape[0] > 0
    header = 0
    for batch in range(batch_rows.shape[0] - 1):
        start = output_base + batch_positions[batch]
        first_row = batch_rows[batch]
        base_timestamp = timestamps[first_row]
        max_timestamp = base_timestamp
        address = start + _HEADER_SIZE
        for row in range(first_row, batch_rows[batch + 1]):
            timestamp = timestamps[row]
            max_timestamp = max(max_timestamp, timestamp)
            address = write_varint(address, record_sizes[row])
            store_int8(address, 0)
            address = write_varint(address + 1, timestamp - base_timestamp)
            address = write_varint(address, row - first_row)
            address = _write_field(address, key_base + key_starts[row], key_lengths[row])
            address = _write_field(address, value_base + value_starts[row], value_lengths[row])
            headers = header_counts[row] if with_headers else 0
            address = write_varint(address, headers)
            for index in range(header, header + headers):
                source = header_key_base + header_key_starts[index]
                address = _write_field(address, source, header_key_lengths[index])
                source = header_value_base + header_value_starts[index]
                address = _write_field(address, source, header_value_lengths[index])
            header += headers
        rows = batch_rows[batch + 1] - first_row
        sequence = base_sequence
        if sequence != _NO_SEQUENCE:
            sequence = (sequence + first_row) & _SIZE_MAX
        store_int64(start, base_offset + first_row)
        store_int32(start + 8, address - start - _LOG_OVERHEAD)
        store_int32(start + 12, leader_epoch)
        store_int8(start + 16, _MAGIC)
        store_int32(start + 17, 0)
        store_int16(start + 21, attributes)
        store_int32(start + 23, rows - 1)
        store_int64(start + 27, base_timestamp)
        store_int64(start + 35, max_timestamp)
        store_int64(start + 43, producer_id)
        store_int16(start + 51, producer_epoch)
        store_int32(start + 53, sequence)
        store_int32(start + 57, rows)
