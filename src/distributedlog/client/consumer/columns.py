"""What `poll_table` does: chunks of the fetch buffer to Arrow, in the caller's thread (extra ``arrow``)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from distributedlog.client.consumer.settings import TABLE_PREFETCH_BYTES
from distributedlog.client.errors import InvalidOption, UnexpectedResponse
from distributedlog.records import RecordsError
from distributedlog.records.columns import COLUMNS, SCHEMA, AbortedTransaction, decode_chunk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from distributedlog.client.consumer.chunk import Chunk
    from distributedlog.client.consumer.core import ConsumerCore

TOPIC_TYPE: Final = pa.dictionary(pa.int32(), pa.string())
_PLACE_FIELDS: Final = {
    "topic": pa.field("topic", TOPIC_TYPE, nullable=False),
    "partition": pa.field("partition", pa.int32(), nullable=False),
}
TABLE_COLUMNS: Final = (*_PLACE_FIELDS, *COLUMNS)
TABLE_SCHEMA: Final = pa.schema([*_PLACE_FIELDS.values(), *SCHEMA])


class ColumnReader:
    """`take` until it says that there is something; then `table`."""

    def __init__(self, core: ConsumerCore, columns: Sequence[str] | None, bytes_max: int) -> None:
        wanted = TABLE_COLUMNS if columns is None else tuple(columns)
        for name in wanted:
            if name not in TABLE_COLUMNS:
                raise InvalidOption(f"there is no column {name!r}; there are {', '.join(TABLE_COLUMNS)}")
        if len(set(wanted)) != len(wanted):
            raise InvalidOption(f"a column is named twice among {', '.join(wanted)}")
        if core.settings.prefetch_bytes is None:
            core.buffer.read_ahead(TABLE_PREFETCH_BYTES)
        self._core = core
        self._bytes_left = bytes_max
        self._schema = pa.schema([TABLE_SCHEMA.field(name) for name in wanted])
        self._decoded_columns = tuple(name for name in wanted if name not in _PLACE_FIELDS)
        self._batches: list[pa.RecordBatch] = []

    def take(self) -> bool:
        """Whether there are records now. Damage is raised when nothing comes before it."""
        buffer = self._core.buffer
        while self._bytes_left > 0 and (chunk := buffer.first_chunk()) is not None:
            try:
                self._decode(chunk)
            except RecordsError as error:
                if self._batches:
                    break
                place = f"what {chunk.state.partition} holds at offset {chunk.next_offset}"
                raise UnexpectedResponse(
                    f"{place} cannot be read: {error}; seek behind it to go on"
                ) from error
        return bool(self._batches)

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self._batches, self._schema)

    def _decode(self, chunk: Chunk) -> None:
        """All of the chunk; what `poll` has taken of it already is passed over."""
        core = self._core
        start = chunk.next_offset
        decoded = decode_chunk(
            chunk.data,
            start_offset=start,
            aborted=[AbortedTransaction(*transaction) for transaction in chunk.aborted],
            columns=self._decoded_columns or ("offset",),
            check_crc=core.settings.check_crcs,
        )
        self._add(chunk, decoded.records)
        end = decoded.next_offset if decoded.is_cut else chunk.end_offset
        chunk.skip_to(end)
        core.buffer.passed(chunk, end)
        if decoded.is_cut:
            self._bytes_left = 0  # one Arrow batch holds no more; the rest waits for another call
        else:
            core.buffer.finished(chunk)

    def _add(self, chunk: Chunk, records: pa.RecordBatch) -> None:
        self._bytes_left -= chunk.size
        rows = records.num_rows
        self._core.metrics.records_consumed += rows
        if not rows:
            return
        arrays = []
        for field in self._schema:
            if field.name == "topic":
                indexes = pa.array(np.zeros(rows, np.int32))
                topic = pa.array([chunk.state.partition.topic])
                arrays.append(pa.DictionaryArray.from_arrays(indexes, topic))
            elif field.name == "partition":
                arrays.append(pa.array(np.full(rows, chunk.state.partition.partition, np.int32)))
            else:
                arrays.append(records.column(field.name))
        self._batches.append(pa.RecordBatch.from_arrays(arrays, schema=self._schema))
