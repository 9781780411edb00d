"""Columns as users have them, made into the plain arrays that the encoding kernels take.

Strings, large or dictionary-encoded values, slices, other units of time: all of it is cast here. Whatever
cannot be cast is InvalidRecordError, and offsets are looked at before a kernel trusts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from distributedlog.records.columns_schema import HEADERS_TYPE
from distributedlog.records.errors import InvalidRecordError
from distributedlog.records.header import INT64_MAX

if TYPE_CHECKING:
    from typing import TypeAlias

    import numpy.typing as npt

    Numbers: TypeAlias = npt.NDArray[np.int32]


class BytesColumn(NamedTuple):
    """A column of byte strings as kernels take it."""

    starts: Numbers
    lengths: Numbers
    data: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, array: pa.Array, name: str) -> BytesColumn:
        try:
            array = array.cast(pa.binary())
            array.validate()
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InvalidRecordError(f"column {name!r} cannot be read as binary: {error}") from None
        _, offsets_buffer, data_buffer = array.buffers()
        rows = len(array)
        if array.null_count == rows:
            return cls(np.zeros(rows, np.int32), np.full(rows, -1, np.int32), np.empty(0, np.uint8))
        offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + rows + 1]
        lengths = np.diff(offsets)
        if array.null_count:
            nulls = array.is_null().to_numpy(zero_copy_only=False)
            if (lengths[~nulls] < 0).any():
                raise InvalidRecordError(f"column {name!r} is damaged: a value has a negative length")
            lengths[nulls] = -1
        elif lengths.min() < 0:
            raise InvalidRecordError(f"column {name!r} is damaged: a value has a negative length")
        data = np.frombuffer(data_buffer if data_buffer is not None else b"", np.uint8)
        return cls(offsets[:-1], lengths, data)


class RecordColumns(NamedTuple):
    """The columns of one chunk, ready for the kernels."""

    timestamps: npt.NDArray[np.int64]
    keys: BytesColumn
    values: BytesColumn
    header_counts: Numbers
    header_keys: BytesColumn
    header_values: BytesColumn

    @classmethod
    def of(cls, chunk: pa.RecordBatch, timestamp_ms: int) -> RecordColumns:
        names = chunk.schema.names
        rows = chunk.num_rows
        no_bytes = pa.nulls(rows, pa.binary())
        counts, header_keys, header_values = _headers(
            chunk.column("headers") if "headers" in names else pa.nulls(rows, HEADERS_TYPE)
        )
        return cls(
            _timestamps(chunk.column("timestamp") if "timestamp" in names else None, rows, timestamp_ms),
            BytesColumn.of(chunk.column("key") if "key" in names else no_bytes, "key"),
            BytesColumn.of(chunk.column("value"), "value"),
            counts,
            header_keys,
            header_values,
        )


def _timestamps(array: pa.Array | None, rows: int, timestamp_ms: int) -> npt.NDArray[np.int64]:
    if array is None:
        return np.full(rows, timestamp_ms, np.int64)
    if pa.types.is_timestamp(array.type):
        array = array.cast(pa.timestamp("ms", array.type.tz), safe=False)
    elif not pa.types.is_integer(array.type):
        raise InvalidRecordError(f"column 'timestamp' is {array.type}, not a timestamp or milliseconds")
    array = array.cast(pa.int64())
    if array.null_count:
        array = pc.fill_null(array, timestamp_ms)
    timestamps: npt.NDArray[np.int64] = array.to_numpy()
    if rows and int(timestamps.max()) - int(timestamps.min()) > INT64_MAX:
        raise InvalidRecordError("timestamps lie further apart than a batch can say")
    return timestamps


def _headers(array: pa.Array) -> tuple[Numbers, BytesColumn, BytesColumn]:
    if array.null_count == len(array):
        none = BytesColumn.of(pa.nulls(0, pa.binary()), "headers")
        return np.empty(0, np.int32), none, none
    try:
        array = array.cast(HEADERS_TYPE)
        array.validate(full=True)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise InvalidRecordError(f"column 'headers' cannot be read as {HEADERS_TYPE}: {error}") from None
    counts = pc.fill_null(pc.list_value_length(array), 0).to_numpy()
    pairs = array.flatten()
    keys = pairs.field("key")
    if pairs.null_count or keys.null_count:
        raise InvalidRecordError("a header without a key cannot be written")
    return counts, BytesColumn.of(keys, "headers"), BytesColumn.of(pairs.field("value"), "headers")
