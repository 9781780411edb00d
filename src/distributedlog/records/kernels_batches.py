"""Kernels that walk whole batches: their headers as a table of numbers, one row a batch.

Python looks at the table, decides which batches are wanted, checks their CRCs and decompresses where
needed: that is work per batch. Work per record is left to the kernels of the other files.
"""

from __future__ import annotations

from typing import Any, Final

from distributedlog.records.kernels import BYTES_IN, TABLE_OUT, kernel
from distributedlog.records.kernels_memory import (
    address_of,
    load_int8,
    load_int16,
    load_int32,
    load_int64,
)

HELPERS: Final = "48065e4a057da8d4"

# Columns of the table of batches.
POSITION: Final = 0
END: Final = 1
BASE_OFFSET: Final = 2
LAST_OFFSET_DELTA: Final = 3
ATTRIBUTES: Final = 4
CRC: Final = 5
BASE_TIMESTAMP: Final = 6
MAX_TIMESTAMP: Final = 7
PRODUCER_ID: Final = 8
RECORDS_COUNT: Final = 9
TABLE_WIDTH: Final = 10

_HEADER_SIZE: Final = 61
_LOG_OVERHEAD: Final = 12


@kernel(BYTES_IN)
def count_batches(buffer: Any) -> tuple[int, int, bool]:
    """(whole batches, bytes they take, whether all is well).

    A partial batch at the end is left out. When a header cannot be right, the bytes taken say where it
    stands.
    """
    base = address_of(buffer)
    size = buffer.shape[0]
    position = 0
    count = 0
    while size - position >= _HEADER_SIZE:
        length = load_int32(base + position + 8)
        if load_int8(base + position + 16) != 2 or length < _HEADER_SIZE - _LOG_OVERHEAD:
            return count, position, False
        if length > size - position - _LOG_OVERHEAD:
            break
        position += length + _LOG_OVERHEAD
        count += 1
    return count, position, True


@kernel(BYTES_IN, TABLE_OUT)
def read_headers(buffer: Any, table: Any) -> None:
    """Fill the table, which has one row for each batch that `count_batches` counted."""
    base = address_of(buffer)
    position = 0
    for row in range(table.shape[0]):
        header = base + position
        end = position + load_int32(header + 8) + _LOG_OVERHEAD
        table[row, POSITION] = position
        table[row, END] = end
        table[row, BASE_OFFSET] = load_int64(header)
        table[row, LAST_OFFSET_DELTA] = load_int32(header + 23)
        table[row, ATTRIBUTES] = load_int16(header + 21)
        table[row, CRC] = load_int32(header + 17) & 0xFFFFFFFF
        table[row, BASE_TIMESTAMP] = load_int64(header + 27)
        table[row, MAX_TIMESTAMP] = load_int64(header + 35)
        table[row, PRODUCER_ID] = load_int64(header + 43)
        table[row, RECORDS_COUNT] = load_int32(header + 57)
        position = end
