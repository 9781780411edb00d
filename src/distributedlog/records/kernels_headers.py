"""Kernels for the headers of records, which most records do not have.

The first pass over the records only measures them, so that the second, which copies them, runs only when
there are any, and into memory of the right size.
"""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import (
    BYTES_IN,
    BYTES_OUT,
    INT32_IN,
    INT32_OUT,
    INT64_IN,
    helper,
    kernel,
)
from distributedlog.records.kernels_memory import (
    NO_POSITION,
    address_of,
    clear_bit,
    copy_bytes,
    read_varint,
)

HELPERS: Final = "48065e4a057da8d4"


@helper
def measure_headers(position: int, end: int, count: int) -> tuple[int, int, int]:
    """(position behind the headers, bytes of keys, bytes of values); NO_POSITION when they do not fit."""
    key_bytes = 0
    value_bytes = 0
    for _ in range(count):
        length, position = read_varint(position, end)
        if position < 0 or length < 0 or length > end - position:
            return NO_POSITION, 0, 0
        key_bytes += length
        position += length
        length, position = read_varint(position, end)
        if position < 0 or length < -1 or length > end - position:
            return NO_POSITION, 0, 0
        if length > 0:
            value_bytes += length
            position += length
    return position, key_bytes, value_bytes


@kernel(
    BYTES_IN,
    INT64_IN,
    INT32_IN,
    INT32_OUT,
    BYTES_OUT,
    INT32_OUT,
    BYTES_OUT,
    INT32_OUT,
    BYTES_OUT,
    BYTES_OUT,
)
def decode_headers(
    buffer: Any,
    positions: Any,
    counts: Any,
    list_offsets: Any,
    list_validity: Any,
    key_offsets: Any,
    key_data: Any,
    value_offsets: Any,
    value_data: Any,
    value_validity: Any,
) -> int:
    """Copy the headers that `decode_records` found and measured; returns how many values are null.

    It checks no bounds: the same bytes were checked when they were measured.
    """
    base = address_of(buffer)
    end = base + buffer.shape[0]
    key_base = address_of(key_data)
    value_base = address_of(value_data)
    header = 0
    key_used = 0
    value_used = 0
    value_nulls = 0
    for row in range(positions.shape[0]):
        position = base + positions[row]
        if counts[row] == 0:
            clear_bit(list_validity, row)
        for _ in range(counts[row]):
            length, position = read_varint(position, end)
            copy_bytes(key_base + key_used, position, length)
            position += length
            key_used += length
            key_offsets[header + 1] = key_used
            length, position = read_varint(position, end)
            if length < 0:
                clear_bit(value_validity, header)
                value_nulls += 1
            else:
                copy_bytes(value_base + value_used, position, length)
                position += length
                value_used += length
            value_offsets[header + 1] = value_used
            header += 1
        list_offsets[row + 1] = header
    return value_nulls
