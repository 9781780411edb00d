"""Arrow to record batches: planned and written by kernels, then compressed and sealed one by one."""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
from crc32c import crc32c

from distributedlog.records.columns_from_arrow import RecordColumns
from distributedlog.records.columns_schema import COLUMNS
from distributedlog.records.compression import compress
from distributedlog.records.errors import InvalidRecordError
from distributedlog.records.header import (
    ATTRIBUTES_POSITION,
    BATCH_LENGTH_POSITION,
    CRC_POSITION,
    HEADER_SIZE,
    INT32_MAX,
    LOG_OVERHEAD,
    NO_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    Compression,
)
from distributedlog.records.kernels_encode import PlanFault, plan_batches, write_batches

BATCH_SIZE_MAX: Final = 256 * 1024
"""Long enough that header and work per batch do not count, short enough for those who want one record."""

_HEADER_FIELDS: Final = struct.Struct(">qiqhi")
_INT32: Final = struct.Struct(">i")
_UINT32: Final = struct.Struct(">I")


def encode_from_arrow(
    records: pa.RecordBatch | pa.Table,
    *,
    batch_size_max: int = BATCH_SIZE_MAX,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
    timestamp_ms: int = NO_TIMESTAMP,
    base_offset: int = 0,
    leader_epoch: int = NO_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
    is_transactional: bool = False,
) -> bytearray:
    """The rows as record batches, one behind the other, in the order and at the offsets of the rows.

    Of the columns only `value` is needed; `key`, `headers` and `timestamp` count when they are there,
    `offset` and `timestamp_type`, which `decode_to_arrow` made, are passed over, others refused. A missing
    or null timestamp becomes `timestamp_ms`. No batch passes batch_size_max before it is compressed, but
    for a record that alone does. Offsets and sequence numbers start as given and run on.
    """
    _check_columns(records.schema.names)
    chunks = records.combine_chunks().to_batches() if isinstance(records, pa.Table) else [records]
    _check_header(base_offset + records.num_rows, leader_epoch, producer_id, producer_epoch, base_sequence)
    attributes = int(Compression(compression)) | (TRANSACTIONAL_BIT if is_transactional else 0)
    output = bytearray()
    row = 0
    for chunk in chunks:
        sequence = base_sequence if base_sequence == NO_SEQUENCE else (base_sequence + row) & INT32_MAX
        columns = RecordColumns.of(chunk, timestamp_ms)
        header = (base_offset + row, leader_epoch, attributes, producer_id, producer_epoch, sequence)
        batches, positions = _write(columns, batch_size_max, header)
        if compression != Compression.NONE:
            batches, positions = _compress(batches, positions, compression, compression_level)
        _seal(batches, positions)
        if output:
            output += batches
        else:
            output = batches
        row += chunk.num_rows
    return output


def encode_columns(
    columns: RecordColumns,
    *,
    batch_size_max: int = BATCH_SIZE_MAX,
    compression: Compression = Compression.NONE,
    compression_level: int | None = None,
) -> tuple[bytearray, list[int]]:
    """(batches, their positions and the end of the last) for whoever still has to fill in the headers.

    Offsets start at 0 in the first batch and run on; there are no producer id, no sequence and no CRCs.
    """
    header = (0, NO_LEADER_EPOCH, int(compression), NO_PRODUCER_ID, NO_PRODUCER_EPOCH, NO_SEQUENCE)
    batches, positions = _write(columns, batch_size_max, header)
    if compression != Compression.NONE:
        return _compress(batches, positions, compression, compression_level)
    return batches, positions


def _check_columns(names: list[str]) -> None:
    for name in names:
        if name not in COLUMNS:
            raise ValueError(f"there is no column {name!r}, only {', '.join(COLUMNS)}")
    if "value" not in names:
        raise ValueError("there is no column 'value' to encode; a column of nulls makes tombstones")
    if len(set(names)) != len(names):
        raise ValueError(f"a column is named twice among {', '.join(names)}")


def _check_header(*fields: int) -> None:
    try:
        _HEADER_FIELDS.pack(*fields)
    except struct.error as error:
        raise InvalidRecordError(f"a field does not fit the batch header: {error}") from None


def _write(
    columns: RecordColumns, batch_size_max: int, header: tuple[int, int, int, int, int, int]
) -> tuple[bytearray, list[int]]:
    """(the batches, uncompressed and without their CRCs, their positions and the end of the last)."""
    rows = len(columns.timestamps)
    if rows == 0:
        return bytearray(), [0]
    timestamps, keys, values, header_counts, header_keys, header_values = columns
    record_sizes = np.empty(rows, np.int32)
    batch_rows = np.empty(rows + 1, np.int64)
    batch_positions = np.empty(rows + 1, np.int64)
    count = plan_batches(
        timestamps,
        keys.starts,
        keys.lengths,
        len(keys.data),
        values.starts,
        values.lengths,
        len(values.data),
        header_counts,
        header_keys.starts,
        header_keys.lengths,
        len(header_keys.data),
        header_values.starts,
        header_values.lengths,
        len(header_values.data),
        batch_size_max,
        record_sizes,
        batch_rows,
        batch_positions,
    )
    if count == PlanFault.RECORD_TOO_LARGE:
        raise InvalidRecordError(f"a record needs a batch of more than {INT32_MAX} bytes")
    if count == PlanFault.COLUMN_DAMAGED:
        raise InvalidRecordError("a column's offsets point outside of its data")
    batch_rows = batch_rows[: count + 1]
    batch_positions = batch_positions[: count + 1]
    output = bytearray(int(batch_positions[-1]))
    write_batches(
        timestamps,
        *keys,
        *values,
        header_counts,
        *header_keys,
        *header_values,
        record_sizes,
        batch_rows,
        batch_positions,
        *header,
        np.frombuffer(output, np.uint8),
    )
    return output, batch_positions.tolist()


def _compress(
    batches: bytearray, positions: list[int], compression: Compression, level: int | None
) -> tuple[bytearray, list[int]]:
    output = bytearray()
    starts = []
    with memoryview(batches) as view:
        for start, end in pairwise(positions):
            starts.append(len(output))
            payload = compress(compression, view[start + HEADER_SIZE : end], level)
            output += view[start : start + HEADER_SIZE]
            output += payload
            length = HEADER_SIZE + len(payload) - LOG_OVERHEAD
            _INT32.pack_into(output, starts[-1] + BATCH_LENGTH_POSITION, length)
    return output, [*starts, len(output)]


def _seal(batches: bytearray, positions: list[int]) -> None:
    """Compute the CRC of each batch and put it in place."""
    with memoryview(batches) as view:
        for start, end in pairwise(positions):
            crc = crc32c(view[start + ATTRIBUTES_POSITION : end])
            _UINT32.pack_into(batches, start + CRC_POSITION, crc)
