"""Fetched batches to Arrow piece by piece, for readers that pass gigabytes through a few megabytes.

`decode_chunk` answers one buffer with one Arrow batch. Here a buffer is looked at once (headers, CRCs,
aborted transactions) and its records come out in pieces of a bounded size, also where a buffer of four
megabytes expands to a hundred. Compressed batches expand straight into one scratch buffer that is used
again and again: the processor's cache stays warm, and nothing is allocated a batch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import cramjam
import numpy as np
import pyarrow as pa

from distributedlog.records.columns_batches import Payloads, read_table, select_batches
from distributedlog.records.columns_decode import PAYLOAD_SIZE_MAX, decode_payloads
from distributedlog.records.compression import DECOMPRESSED_SIZE_MAX, decompress
from distributedlog.records.decoding import RECORD_SIZE_MIN
from distributedlog.records.errors import CorruptBatchError
from distributedlog.records.header import COMPRESSION_MASK, HEADER_SIZE, INT64_MAX, Compression
from distributedlog.records.kernels_batches import (
    ATTRIBUTES,
    BASE_OFFSET,
    END,
    LAST_OFFSET_DELTA,
    MAX_TIMESTAMP,
    POSITION,
    RECORDS_COUNT,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from distributedlog.records.columns_batches import Bytes, Table
    from distributedlog.records.columns_read_committed import AnyAbortedTransaction
    from distributedlog.records.header import Buffer

PIECE_BYTES: Final = 4 << 20
PIECE_ROWS: Final = 65_536

_INTO: Final = {
    int(Compression.LZ4): cramjam.lz4.decompress_into,
    int(Compression.ZSTD): cramjam.zstd.decompress_into,
    int(Compression.GZIP): cramjam.gzip.decompress_into,
}


class Scratch:
    """Memory that compressed batches expand into; one for each reader, which uses it for all its buffers."""

    __slots__ = ("data",)

    def __init__(self, size: int = 2 * PIECE_BYTES) -> None:
        self.data: Bytes = np.empty(size, np.uint8)

    def expand(self, codec: int, payload: Buffer, used: int, size_max: int) -> int:
        """Expand behind the first `used` bytes; returns how many are used then."""
        into = _INTO.get(codec)
        if into is not None and len(self.data) > used:
            try:
                return used + int(into(payload, self.data.data[used : used + size_max]))
            except cramjam.DecompressionError:
                pass  # no room, or damage: the way below tells them apart
        content = payload if codec == Compression.NONE else decompress(codec, payload, size_max)
        end = used + len(content)
        if end > len(self.data):
            larger = np.empty(max(end, 2 * len(self.data)), np.uint8)
            larger[:used] = self.data[:used]
            self.data = larger
        self.data[used:end] = np.frombuffer(content, np.uint8)
        return end


class FetchedBatches:
    """The whole batches of one buffer, checked; nothing of their records is decoded yet.

    CorruptBatchError for damage. `next_offset` is where the next fetch begins, `consumed` the bytes taken
    by whole batches. The buffer must stay as it is until `pieces` is through.
    """

    __slots__ = ("_buffer", "_data", "_table", "consumed", "next_offset")

    def __init__(self, buffer: Buffer, start_offset: int, *, check_crc: bool = True) -> None:
        self._buffer = buffer
        self._data, self._table, self.consumed = read_table(buffer, check_crc=check_crc)
        self.next_offset = start_offset
        if len(self._table):
            behind = int(self._table[-1, BASE_OFFSET] + self._table[-1, LAST_OFFSET_DELTA]) + 1
            self.next_offset = max(start_offset, behind)

    def pieces(
        self,
        start_offset: int,
        end_offset: int,
        columns: Sequence[str],
        aborted: Sequence[AnyAbortedTransaction],
        scratch: Scratch,
        times: tuple[int, int] | None = None,
    ) -> Iterator[pa.RecordBatch]:
        """The records from start_offset up to, not including, end_offset; pieces without any are left out.

        With `times` only records with a timestamp from the first up to, not including, the second: what has
        none of them is passed over with little more than a look at its timestamps.
        """
        last_offset = min(end_offset, INT64_MAX) - 1
        wanted = select_batches(self._buffer, self._table, start_offset, last_offset, aborted)
        if times is not None:
            wanted &= self._table[:, MAX_TIMESTAMP] >= times[0]
        chosen = self._table[np.flatnonzero(wanted)]
        while len(chosen):
            if (chosen[:, ATTRIBUTES] & COMPRESSION_MASK).any():
                payloads = _expanded(self._data, chosen, scratch)
            else:
                payloads = _in_place(self._data, chosen)
            chosen = chosen[len(payloads.table) :]
            if times is None:
                records = decode_payloads(payloads, start_offset, last_offset, columns)
            else:
                records = _in_time(payloads, start_offset, last_offset, columns, times)
            if records.num_rows:
                yield records


def _in_time(
    payloads: Payloads, start_offset: int, last_offset: int, columns: Sequence[str], times: tuple[int, int]
) -> pa.RecordBatch:
    """The records in the range of times; where there are none, no other column is decoded."""
    stamps = decode_payloads(payloads, start_offset, last_offset, ["timestamp"])
    milliseconds = np.asarray(stamps.column(0).cast(pa.int64()))
    is_in = (milliseconds >= times[0]) & (milliseconds < times[1])
    count = int(np.count_nonzero(is_in))
    if not count:
        return stamps.slice(0, 0)
    records = decode_payloads(payloads, start_offset, last_offset, columns)
    return records if count == len(is_in) else records.filter(pa.array(is_in))


def _rows_limit(counts: npt.NDArray[np.int64]) -> int:
    """How many batches together have no more than the rows of one piece; at least one."""
    return max(1, int(np.searchsorted(np.cumsum(counts), PIECE_ROWS, side="right")))


def _in_place(data: Bytes, chosen: Table) -> Payloads:
    sizes = np.cumsum(chosen[:, END] - chosen[:, POSITION])
    taken = max(1, int(np.searchsorted(sizes, PIECE_BYTES, side="right")))
    table = chosen[: min(taken, _rows_limit(chosen[:, RECORDS_COUNT]))].copy()
    table[:, POSITION] += HEADER_SIZE
    return Payloads(data, table, None)


def _expanded(data: Bytes, chosen: Table, scratch: Scratch) -> Payloads:
    table = chosen[: _rows_limit(chosen[:, RECORDS_COUNT])].copy()
    used = 0
    taken = 0
    view = data.data
    for position, end, attributes, count, base_offset in table[
        :, [POSITION, END, ATTRIBUTES, RECORDS_COUNT, BASE_OFFSET]
    ].tolist():
        if used >= PIECE_BYTES:
            break
        start = used
        payload = view[position + HEADER_SIZE : end]
        used = scratch.expand(attributes & COMPRESSION_MASK, payload, used, DECOMPRESSED_SIZE_MAX)
        if count > (used - start) // RECORD_SIZE_MIN:
            raise CorruptBatchError(
                f"batch at offset {base_offset} says it has {count} records in {used - start} bytes"
            )
        table[taken, POSITION] = start
        table[taken, END] = used
        taken += 1
    if used > PAYLOAD_SIZE_MAX:
        raise CorruptBatchError(f"one piece has {used} bytes, more than Arrow's columns can hold")
    return Payloads(scratch.data[:used], table[:taken], None)
