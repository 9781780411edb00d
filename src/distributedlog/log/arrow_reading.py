"""From file regions to Arrow: the columnar reading end of the embedded log (the extra `arrow`)."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from distributedlog.log.errors import CorruptLog
from distributedlog.log.record_reading import Fetch
from distributedlog.records import CorruptBatchError
from distributedlog.records.columns import COLUMNS, SCHEMA, decode_chunk

# isort: split
# Behind the columns, which say how to get it where it is missing.
import pyarrow

COLUMNS_CHUNK_BYTES: Final = 4 << 20


def checked_columns(columns: Sequence[str] | None) -> Sequence[str]:
    """All of them by default; ValueError for a name that is none."""
    for name in columns or ():
        if name not in COLUMNS:
            raise ValueError(f"there is no column {name!r}; there are {', '.join(COLUMNS)}")
    return COLUMNS if columns is None else columns


def read_columns(
    fetch: Fetch, offset: int, end_offset: int | None, columns: Sequence[str]
) -> Iterator[pyarrow.RecordBatch]:
    """The same as Arrow record batches of a few megabytes each, without a Python object per record."""
    buffer = bytearray()
    while (found := fetch(offset, COLUMNS_CHUNK_BYTES)) is not None:
        offset, region = found
        if len(buffer) < region.size:
            buffer = bytearray(region.size)
        data = region.read_into(buffer)
        start = 0
        while True:
            try:
                chunk = decode_chunk(
                    data[start:], start_offset=offset, end_offset=end_offset, columns=columns
                )
            except CorruptBatchError as error:
                raise CorruptLog(str(region.file.path), region.position + start, str(error)) from error
            if chunk.records.num_rows:
                yield chunk.records
            start += chunk.consumed
            offset = max(offset, chunk.next_offset)
            if not chunk.is_cut:
                break
        if start == 0:
            raise CorruptLog(str(region.file.path), region.position, f"no whole batch for offset {offset}")
        if end_offset is not None and offset >= end_offset:
            return


def table_of(batches: Iterable[pyarrow.RecordBatch], columns: Sequence[str] | None) -> pyarrow.Table:
    """All batches as one table; it has its columns also when there are no rows."""
    schema = SCHEMA if columns is None else pyarrow.schema([SCHEMA.field(name) for name in columns])
    return pyarrow.Table.from_batches(batches, schema)
