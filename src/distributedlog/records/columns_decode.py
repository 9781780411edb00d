"""Record batches to Arrow: which batches are taken, and columns made of their records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from distributedlog.records.columns_batches import Payloads, open_payloads, read_table, select_batches
from distributedlog.records.columns_buffers import BinaryColumn, FixedColumn, all_valid
from distributedlog.records.columns_schema import COLUMNS, HEADERS_TYPE, SCHEMA
from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX
from distributedlog.records.errors import CorruptBatchError, InvalidRecordError
from distributedlog.records.header import INT32_MAX, INT64_MAX
from distributedlog.records.kernels_batches import (
    BASE_OFFSET,
    END,
    LAST_OFFSET_DELTA,
    POSITION,
    RECORDS_COUNT,
)
from distributedlog.records.kernels_decode import (
    FAILED_BATCH,
    HEADER_KEY_BYTES,
    HEADER_VALUE_BYTES,
    HEADERS,
    KEY_BYTES,
    KEY_NULLS,
    REPORT_WIDTH,
    ROWS,
    ROWS_WITHOUT_HEADERS,
    VALUE_BYTES,
    VALUE_NULLS,
    decode_records,
)
from distributedlog.records.kernels_headers import decode_headers
from distributedlog.records.kernels_record import FAULT_TEXTS, Fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from distributedlog.records.columns_read_committed import AnyAbortedTransaction
    from distributedlog.records.header import Buffer

PAYLOAD_SIZE_MAX: Final = INT32_MAX
"""Arrow's binary columns count their bytes in 32 bits, so no more than this goes into one."""


@dataclass(frozen=True, slots=True)
class ArrowChunk:
    """The records of one buffer, and where the next buffer has to begin."""

    records: pa.RecordBatch
    consumed: int
    """Bytes of the buffer that are dealt with; what follows is a partial batch, unless `is_cut`."""
    next_offset: int
    """The offset behind the last batch dealt with, also where its records were left out."""
    is_cut: bool
    """Whether whole batches were left for the next call, because the payload reached its limit."""


def decode_to_arrow(
    buffer: Buffer,
    *,
    start_offset: int = 0,
    end_offset: int | None = None,
    aborted: Sequence[AnyAbortedTransaction] = (),
    columns: Sequence[str] = COLUMNS,
    check_crc: bool = True,
) -> pa.RecordBatch:
    """The records of all whole batches in the buffer, as `decode_chunk` does, without where they end.

    InvalidRecordError when they are more than an Arrow column can hold.
    """
    chunk = decode_chunk(
        buffer,
        start_offset=start_offset,
        end_offset=end_offset,
        aborted=aborted,
        columns=columns,
        check_crc=check_crc,
    )
    if chunk.is_cut:
        raise InvalidRecordError(
            f"the records at hand take more than the {PAYLOAD_SIZE_MAX} bytes that one Arrow record batch "
            f"can hold: use decode_chunk, which stops in time at byte {chunk.consumed}"
        )
    return chunk.records


def decode_chunk(
    buffer: Buffer,
    *,
    start_offset: int = 0,
    end_offset: int | None = None,
    aborted: Sequence[AnyAbortedTransaction] = (),
    columns: Sequence[str] = COLUMNS,
    check_crc: bool = True,
    payload_size_max: int | None = None,
    decompressed_size_max: int = DECOMPRESSED_SIZE_MAX,
) -> ArrowChunk:
    """The records from start_offset up to, not including, end_offset, as columns of the SCHEMA.

    A buffer of several megabytes is best: long enough that the work per call does not count, short enough
    to stay in the processor's cache. A partial batch at its end is left out. Control batches are left out,
    and so is what the aborted transactions wrote. Only the wanted columns are made, in the order given;
    what no wanted column needs is not looked into. Damage raises CorruptBatchError. When the records'
    uncompressed size would pass payload_size_max (by default what a column can hold), the batches from
    there on are left for another call, but one batch is always taken.
    """
    _check_columns(columns)
    if payload_size_max is None:
        payload_size_max = PAYLOAD_SIZE_MAX
    elif not 0 < payload_size_max <= PAYLOAD_SIZE_MAX:
        raise ValueError(f"payload_size_max is {payload_size_max}, not from 1 to {PAYLOAD_SIZE_MAX}")
    last_offset = INT64_MAX if end_offset is None else end_offset - 1
    data, table, consumed = read_table(buffer, check_crc=check_crc)
    wanted = select_batches(buffer, table, start_offset, last_offset, aborted)
    payloads = open_payloads(data, table, wanted, payload_size_max, decompressed_size_max)
    records = decode_payloads(payloads, start_offset, last_offset, columns)
    is_cut = payloads.left_out is not None
    if is_cut:
        consumed = int(table[payloads.left_out, POSITION])
        table = table[: payloads.left_out]
    next_offset = start_offset
    if len(table):
        behind = int(table[-1, BASE_OFFSET] + table[-1, LAST_OFFSET_DELTA]) + 1
        next_offset = max(start_offset, min(behind, last_offset + 1))
    return ArrowChunk(records, consumed, next_offset, is_cut)


def _check_columns(columns: Sequence[str]) -> None:
    for name in columns:
        if name not in COLUMNS:
            raise ValueError(f"there is no column {name!r}, only {', '.join(COLUMNS)}")
    if len(set(columns)) != len(columns):
        raise ValueError(f"a column is named twice among {', '.join(columns)}")


def decode_payloads(
    payloads: Payloads, start_offset: int, last_offset: int, columns: Sequence[str]
) -> pa.RecordBatch:
    table = payloads.table
    rows_max = int(table[:, RECORDS_COUNT].sum())
    size_max = int((table[:, END] - table[:, POSITION]).sum())
    wanted = set(columns)
    offsets = FixedColumn(SCHEMA.field("offset").type, np.int64, rows_max, "offset" in wanted)
    timestamps = FixedColumn(SCHEMA.field("timestamp").type, np.int64, rows_max, "timestamp" in wanted)
    timestamp_types = FixedColumn(pa.int32(), np.int32, rows_max, "timestamp_type" in wanted)
    keys = BinaryColumn(pa.binary(), rows_max, size_max, "key" in wanted)
    values = BinaryColumn(pa.binary(), rows_max, size_max, "value" in wanted)
    header_rows = rows_max if "headers" in wanted else 0
    header_positions = np.empty(header_rows, np.int64)
    header_counts = np.empty(header_rows, np.int32)
    report = np.zeros(REPORT_WIDTH, np.int64)
    fault = decode_records(
        payloads.data,
        table,
        start_offset,
        last_offset,
        keys.is_wanted,
        values.is_wanted,
        "headers" in wanted,
        offsets.values,
        timestamps.values,
        timestamp_types.values,
        keys.offsets,
        keys.data,
        keys.validity,
        values.offsets,
        values.data,
        values.validity,
        header_positions,
        header_counts,
        report,
    )
    found: list[int] = report.tolist()
    if fault != Fault.NONE:
        base_offset = int(table[found[FAILED_BATCH], BASE_OFFSET])
        raise CorruptBatchError(f"batch at offset {base_offset}: {FAULT_TEXTS[Fault(fault)]}")
    rows = found[ROWS]
    finish = {
        "offset": lambda: offsets.finish(rows),
        "timestamp": lambda: timestamps.finish(rows),
        "timestamp_type": lambda: timestamp_types.finish(rows),
        "key": lambda: keys.finish(rows, found[KEY_BYTES], found[KEY_NULLS]),
        "value": lambda: values.finish(rows, found[VALUE_BYTES], found[VALUE_NULLS]),
        "headers": lambda: _header_column(
            payloads.data, header_positions[:rows], header_counts[:rows], found
        ),
    }
    arrays = [finish[name]() for name in columns]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema([SCHEMA.field(name) for name in columns]))


def _header_column(
    data: npt.NDArray[np.uint8],
    positions: npt.NDArray[np.int64],
    counts: npt.NDArray[np.int32],
    found: list[int],
) -> pa.Array:
    rows = len(positions)
    headers = found[HEADERS]
    if headers == 0:
        return pa.nulls(rows, HEADERS_TYPE)
    lists = FixedColumn(pa.int32(), np.int32, rows + 1)
    lists.values[0] = 0
    validity = all_valid(rows)
    keys = BinaryColumn(pa.binary(), headers, found[HEADER_KEY_BYTES])
    values = BinaryColumn(pa.binary(), headers, found[HEADER_VALUE_BYTES])
    value_nulls = decode_headers(
        data,
        positions,
        counts,
        lists.values,
        validity,
        keys.offsets,
        keys.data,
        values.offsets,
        values.data,
        values.validity,
    )
    key_array = _as_text(keys.finish(headers, found[HEADER_KEY_BYTES], 0))
    value_array = values.finish(headers, found[HEADER_VALUE_BYTES], value_nulls)
    pairs = pa.StructArray.from_arrays([key_array, value_array], names=["key", "value"])
    buffers = [pa.py_buffer(validity), lists.finish(rows + 1).buffers()[1]]
    return pa.Array.from_buffers(
        HEADERS_TYPE, rows, buffers, null_count=found[ROWS_WITHOUT_HEADERS], children=[pairs]
    )


def _as_text(keys: pa.Array) -> pa.Array:
    """Header keys as strings; bytes that are not UTF-8 become U+FFFD, as in Java's clients and `Record`."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([key.decode(errors="replace") for key in keys.to_pylist()], pa.string())
