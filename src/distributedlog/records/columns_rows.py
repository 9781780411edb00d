"""Rows of a table as unsealed record batches: chosen by index, encoded without a copy of what they hold.

What `encode_from_arrow` makes is finished; a producer knows only when a batch leaves under which producer id,
epoch and sequence it does. So a batch is built here with all but those, and `seal_batch` puts them in.
"""

from __future__ import annotations

from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, Final

import numpy as np

from distributedlog.records.batches import write_crc
from distributedlog.records.columns_encode import encode_columns
from distributedlog.records.columns_from_arrow import BytesColumn, RecordColumns
from distributedlog.records.header import ATTRIBUTES_POSITION, TRANSACTIONAL_BIT, Compression

if TYPE_CHECKING:
    import numpy.typing as npt

RECORD_OVERHEAD_MAX: Final = 36
"""Lengths, deltas and attributes of a record, at their longest."""

_HEADER_OVERHEAD_MAX: Final = 10
_BASE_OFFSET: Final = Struct(">q")
_PRODUCER: Final = Struct(">qhi")
_PRODUCER_POSITION: Final = 43
_RECORDS_COUNT: Final = Struct(">i")
_RECORDS_COUNT_POSITION: Final = 57
_ATTRIBUTES: Final = Struct(">h")


def sizes_of(columns: RecordColumns) -> npt.NDArray[np.int64]:
    """What each row takes at most."""
    sizes = np.maximum(columns.keys.lengths, 0).astype(np.int64)
    sizes += np.maximum(columns.values.lengths, 0)
    sizes += RECORD_OVERHEAD_MAX
    counts = columns.header_counts
    if len(counts):
        each = np.maximum(columns.header_keys.lengths, 0).astype(np.int64) + _HEADER_OVERHEAD_MAX
        each += np.maximum(columns.header_values.lengths, 0)
        ends = np.cumsum(counts, dtype=np.int64)
        total = np.concatenate([[0], np.cumsum(each)])
        sizes += total[ends] - total[ends - counts]
    return sizes


def between(columns: RecordColumns, start: int, end: int) -> RecordColumns:
    """The rows from `start` up to `end`."""
    counts = columns.header_counts
    first = last = 0
    if len(counts):
        first = int(counts[:start].sum())
        last = first + int(counts[start:end].sum())
    return RecordColumns(
        columns.timestamps[start:end],
        _slice(columns.keys, start, end),
        _slice(columns.values, start, end),
        counts[start:end],
        _slice(columns.header_keys, first, last),
        _slice(columns.header_values, first, last),
    )


def chosen(columns: RecordColumns, rows: npt.NDArray[np.int64]) -> RecordColumns:
    """The rows with these indexes, in this order."""
    counts = columns.header_counts
    header_keys, header_values = columns.header_keys, columns.header_values
    if len(counts):
        starts = np.cumsum(counts, dtype=np.int64) - counts
        wanted = counts[rows]
        ends = np.cumsum(wanted, dtype=np.int64)
        within = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - wanted, wanted)
        pairs = np.repeat(starts[rows], wanted) + within
        header_keys, header_values = _take(header_keys, pairs), _take(header_values, pairs)
        counts = wanted
    return RecordColumns(
        columns.timestamps[rows],
        _take(columns.keys, rows),
        _take(columns.values, rows),
        counts,
        header_keys,
        header_values,
    )


def build_batches(
    columns: RecordColumns, batch_size_max: int, compression: Compression, level: int | None
) -> list[memoryview]:
    """The rows in batches without producer, sequence and CRC: see `seal_batch`."""
    batches, positions = encode_columns(
        columns, batch_size_max=batch_size_max, compression=compression, compression_level=level
    )
    view = memoryview(batches)
    return [view[start:end] for start, end in pairwise(positions)]


def records_count_of(batch: memoryview) -> int:
    count: int = _RECORDS_COUNT.unpack_from(batch, _RECORDS_COUNT_POSITION)[0]
    return count


def seal_batch(
    batch: memoryview, producer_id: int, producer_epoch: int, base_sequence: int, is_transactional: bool
) -> None:
    """Say who writes the batch, let its offsets begin at 0 as in every Produce request, and make its CRC."""
    _BASE_OFFSET.pack_into(batch, 0, 0)
    attributes: int = _ATTRIBUTES.unpack_from(batch, ATTRIBUTES_POSITION)[0] & ~TRANSACTIONAL_BIT
    _ATTRIBUTES.pack_into(batch, ATTRIBUTES_POSITION, attributes | TRANSACTIONAL_BIT * is_transactional)
    _PRODUCER.pack_into(batch, _PRODUCER_POSITION, producer_id, producer_epoch, base_sequence)
    write_crc(batch)


def _slice(column: BytesColumn, start: int, end: int) -> BytesColumn:
    return BytesColumn(column.starts[start:end], column.lengths[start:end], column.data)


def _take(column: BytesColumn, rows: npt.NDArray[np.int64]) -> BytesColumn:
    return BytesColumn(column.starts[rows], column.lengths[rows], column.data)
