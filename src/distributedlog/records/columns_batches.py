"""From a buffer to the payloads to decode: sound batches, wanted ones, and their records uncompressed.

All of this is work per batch, done here in Python with a table of the headers; the records stay closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from crc32c import crc32c

from distributedlog.records.batches import verify_crc
from distributedlog.records.columns_read_committed import BatchInOrder, find_aborted
from distributedlog.records.compression import decompress
from distributedlog.records.control import ControlType, parse_control_record
from distributedlog.records.decoding import RECORD_SIZE_MIN, check_counts
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import (
    ATTRIBUTES_POSITION,
    COMPRESSION_MASK,
    CONTROL_BIT,
    HEADER_SIZE,
    INT64_MAX,
    TRANSACTIONAL_BIT,
    Compression,
    parse_header,
)
from distributedlog.records.kernels_batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    CRC,
    END,
    LAST_OFFSET_DELTA,
    POSITION,
    PRODUCER_ID,
    RECORDS_COUNT,
    TABLE_WIDTH,
    count_batches,
    read_headers,
)
from distributedlog.records.reading import decode_batch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    import numpy.typing as npt

    from distributedlog.records.columns_read_committed import AnyAbortedTransaction
    from distributedlog.records.header import Buffer

    Bytes: TypeAlias = npt.NDArray[np.uint8]
    Table: TypeAlias = npt.NDArray[np.int64]
    Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Payloads:
    """Uncompressed records: POSITION and END of the table's rows say where in `data` each batch has its."""

    data: Bytes
    table: Table
    left_out: int | None
    """The first batch that the size limit left out, by its row in the table of all batches."""


def read_table(buffer: Buffer, *, check_crc: bool) -> tuple[Bytes, Table, int]:
    """(the buffer as an array, a row for each whole batch, bytes that those take); the batches are sound.

    CorruptBatchError if any of them is not, as `validate_batch` says.
    """
    data = np.frombuffer(buffer, np.uint8)
    count, consumed, is_sound = count_batches(data)
    if not is_sound:
        parse_header(buffer, consumed)
    table = np.empty((count, TABLE_WIDTH), np.int64)
    read_headers(data, table)
    _check_counts(buffer, table)
    if check_crc:
        with memoryview(buffer) as view:
            for position, end, crc in table[:, [POSITION, END, CRC]].tolist():
                if crc32c(view[position + ATTRIBUTES_POSITION : end]) != crc:
                    verify_crc(buffer, position, parse_header(buffer, position))
    return data, table, consumed


def _check_counts(buffer: Buffer, table: Table) -> None:
    """`check_counts` on every batch: a quick look at all at once, then a message about the one at fault."""
    last_delta = table[:, LAST_OFFSET_DELTA]
    count = table[:, RECORDS_COUNT]
    base_offset = table[:, BASE_OFFSET]
    count_max = (table[:, END] - table[:, POSITION] - HEADER_SIZE) // RECORD_SIZE_MIN
    is_compressed = table[:, ATTRIBUTES] & COMPRESSION_MASK != 0
    suspects = (last_delta < 0) | (base_offset < 0) | (base_offset > INT64_MAX - last_delta)
    suspects |= (table[:, ATTRIBUTES] & COMPRESSION_MASK) > Compression.ZSTD
    suspects |= (count < 0) | (count > last_delta + 1) | (~is_compressed & (count > count_max))
    for row in np.flatnonzero(suspects).tolist():
        header = parse_header(buffer, int(table[row, POSITION]))
        _ = header.compression
        check_counts(header, header.size - HEADER_SIZE, is_compressed=bool(is_compressed[row]))


def select_batches(
    buffer: Buffer,
    table: Table,
    start_offset: int,
    last_offset: int,
    aborted: Sequence[AnyAbortedTransaction],
) -> Mask:
    """Which batches hold records that the reader is to see: in range, no control batch, not aborted."""
    base_offset = table[:, BASE_OFFSET]
    is_control = table[:, ATTRIBUTES] & CONTROL_BIT != 0
    wanted = (base_offset + table[:, LAST_OFFSET_DELTA] >= start_offset) & (base_offset <= last_offset)
    wanted &= ~is_control
    if aborted:

        def is_abort_marker(row: int) -> bool:
            records = decode_batch(buffer, int(table[row, POSITION]), check_crc=False)
            return bool(records) and parse_control_record(records[0]).control_type == ControlType.ABORT

        wanted[find_aborted(_in_order(table), aborted, is_abort_marker)] = False
    return wanted


def _in_order(table: Table) -> list[BatchInOrder]:
    columns = table[:, [BASE_OFFSET, LAST_OFFSET_DELTA, PRODUCER_ID, ATTRIBUTES]].tolist()
    return [
        BatchInOrder(
            base_offset,
            base_offset + last_delta,
            producer_id,
            attributes & TRANSACTIONAL_BIT != 0,
            attributes & CONTROL_BIT != 0,
        )
        for base_offset, last_delta, producer_id, attributes in columns
    ]


def open_payloads(
    data: Bytes, table: Table, wanted: Mask, size_max: int, decompressed_size_max: int
) -> Payloads:
    """The records of the wanted batches: in place while nothing is compressed, else in memory of their own.

    No more than `size_max` bytes of them, but the first batch in any case.
    """
    rows = np.flatnonzero(wanted)
    chosen = table[rows]
    if (chosen[:, ATTRIBUTES] & COMPRESSION_MASK).any():
        return _decompress_payloads(data, rows, chosen, size_max, decompressed_size_max)
    chosen[:, POSITION] += HEADER_SIZE
    sizes = np.cumsum(chosen[:, END] - chosen[:, POSITION])
    taken = max(int(np.searchsorted(sizes, size_max, side="right")), min(1, len(rows)))
    return Payloads(data, chosen[:taken], _row_or_none(rows, taken))


def _decompress_payloads(
    data: Bytes, rows: npt.NDArray[Any], chosen: Table, size_max: int, decompressed_size_max: int
) -> Payloads:
    pieces: list[bytes | memoryview] = []
    used = 0
    view = data.data
    batches = chosen[:, [POSITION, END, ATTRIBUTES, RECORDS_COUNT, BASE_OFFSET]].tolist()
    for taken, (position, end, attributes, count, base_offset) in enumerate(batches):
        payload: bytes | memoryview = view[position + HEADER_SIZE : end]
        codec = attributes & COMPRESSION_MASK
        if codec != Compression.NONE:
            payload = decompress(codec, payload, decompressed_size_max)
            if count > len(payload) // RECORD_SIZE_MIN:
                raise CorruptBatchError(
                    f"batch at offset {base_offset} says it has {count} records in {len(payload)} bytes"
                )
        if taken and used + len(payload) > size_max:
            break
        pieces.append(payload)
        chosen[taken, POSITION] = used
        used += len(payload)
        chosen[taken, END] = used
    joined = np.frombuffer(b"".join(pieces), np.uint8)
    return Payloads(joined, chosen[: len(pieces)], _row_or_none(rows, len(pieces)))


def _row_or_none(rows: npt.NDArray[Any], index: int) -> int | None:
    return int(rows[index]) if index < len(rows) else None
