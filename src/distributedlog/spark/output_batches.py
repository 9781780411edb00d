"""[pure] Rows in columns to finished record batches, each for one partition; no Python object for a row.

A batch is finished but for what its sender knows: producer id, epoch, sequence, and then the CRC.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from distributedlog.client import TopicPartition
from distributedlog.records import Compression
from distributedlog.records.columns import BytesColumn, RecordColumns, encode_columns
from distributedlog.records.kernels_murmur2 import NO_KEY, murmur2_partitions_of
from distributedlog.spark.errors import SparkSourceError
from distributedlog.spark.output_columns import OutputColumns

if TYPE_CHECKING:
    import numpy.typing as npt

#: Batches that differ by topic and partition are told apart by one number: topic * this + partition.
_PARTITIONS_MAX: Final = 1 << 20


class UnwritableRow(SparkSourceError, ValueError):
    """A row cannot be made into a record."""


class OutputBatch(NamedTuple):
    """One record batch in memory that may be written to until it was acknowledged."""

    partition: TopicPartition
    data: memoryview


@dataclass(frozen=True, slots=True)
class Encoding:
    batch_size: int
    compression: Compression
    request_size_max: int


def topics_of(chunk: pa.RecordBatch, columns: OutputColumns) -> list[str]:
    """The topics that the rows name themselves."""
    if columns.topic is None:
        return []
    names: list[str | None] = pc.unique(chunk.column(columns.topic)).to_pylist()
    if None in names:
        raise UnwritableRow(
            "a row has no topic: its column 'topic' is null, and the option 'topic' is not set"
        )
    return [name for name in names if name is not None]


def encode_chunk(
    chunk: pa.RecordBatch,
    columns: OutputColumns,
    partition_counts: Mapping[str, int],
    encoding: Encoding,
    *,
    default_topic: str | None,
    keyless_number: int,
    timestamp_ms: int,
) -> Iterator[OutputBatch]:
    """The chunk's rows as batches. Rows keep their order within a partition.

    `partition_counts` has every topic of the chunk; `keyless_number` says where rows without a key go, to
    be changed from chunk to chunk; `timestamp_ms` is for rows that have none.
    """
    if chunk.num_rows == 0:
        return
    topics, topic_codes = _topics(chunk, columns, default_topic)
    keys = None if columns.key is None else BytesColumn.of(chunk.column(columns.key), "key")
    partitions = _partitions(chunk, columns, topics, topic_codes, keys, partition_counts, keyless_number)
    places = partitions if topic_codes is None else topic_codes * _PARTITIONS_MAX + partitions
    has_headers = columns.headers is not None and chunk.column(columns.headers).null_count < chunk.num_rows
    records = None if has_headers else _all_records(chunk, columns, keys, timestamp_ms)
    for place, rows in _by_place(places):
        topic, partition = topics[place // _PARTITIONS_MAX], place % _PARTITIONS_MAX
        target = TopicPartition(topic, partition)
        data, positions = encode_columns(
            _picked(records, rows)
            if records is not None
            else _records_with_headers(chunk, columns, rows, timestamp_ms),
            batch_size_max=encoding.batch_size,
            compression=encoding.compression,
        )
        view = memoryview(data)
        for start, end in pairwise(positions):
            if end - start > encoding.request_size_max:
                raise UnwritableRow(
                    f"a record for {target} takes {end - start} bytes, and a request may have "
                    f"{encoding.request_size_max}: raise the option 'kafka.max.request.size' (and the "
                    "topic's max.message.bytes), or write smaller records"
                )
            yield OutputBatch(target, view[start:end])


def _topics(
    chunk: pa.RecordBatch, columns: OutputColumns, default_topic: str | None
) -> "tuple[list[str], npt.NDArray[np.int64] | None]":
    """The topics, and for each row which of them it is for; None where all are for the first."""
    if default_topic is not None or columns.topic is None:
        return [default_topic or ""], None
    encoded = pc.dictionary_encode(chunk.column(columns.topic))
    topics: list[str] = encoded.dictionary.to_pylist()
    if len(topics) == 1 and encoded.null_count == 0:
        return topics, None
    return topics, encoded.indices.cast(pa.int64()).to_numpy()


def _partitions(
    chunk: pa.RecordBatch,
    columns: OutputColumns,
    topics: list[str],
    topic_codes: "npt.NDArray[np.int64] | None",
    keys: BytesColumn | None,
    counts: Mapping[str, int],
    keyless_number: int,
) -> "npt.NDArray[np.int64]":
    partitions = np.empty(chunk.num_rows, np.int64)
    for code, topic in enumerate(topics):
        rows: Any = slice(None) if topic_codes is None else topic_codes == code
        count = counts[topic]
        if keys is None:
            partitions[rows] = keyless_number % count
            continue
        found = murmur2_partitions_of(
            np.ascontiguousarray(keys.starts[rows]),
            np.ascontiguousarray(keys.lengths[rows]),
            keys.data,
            count,
        )
        found[found == NO_KEY] = keyless_number % count
        partitions[rows] = found
    if columns.partition is None:
        return partitions
    chosen = chunk.column(columns.partition)
    if chosen.null_count < len(chosen):
        wanted = pc.fill_null(chosen.cast(pa.int64()), -1).to_numpy()
        is_chosen = chosen.is_valid().to_numpy(zero_copy_only=False)
        _check_chosen(wanted, is_chosen, topics, topic_codes, counts)
        partitions = np.where(is_chosen, wanted, partitions)
    return partitions


def _check_chosen(
    wanted: "npt.NDArray[np.int64]",
    is_chosen: "npt.NDArray[np.bool_]",
    topics: list[str],
    topic_codes: "npt.NDArray[np.int64] | None",
    counts: Mapping[str, int],
) -> None:
    row_counts = np.array([counts[topic] for topic in topics])
    limits = row_counts[0 if topic_codes is None else topic_codes]
    wrong = is_chosen & ((wanted < 0) | (wanted >= limits))
    if wrong.any():
        row = int(np.argmax(wrong))
        topic = topics[0 if topic_codes is None else int(topic_codes[row])]
        raise UnwritableRow(
            f"a row asks for partition {wanted[row]} of topic {topic!r}, which has {counts[topic]}, "
            "numbered from 0"
        )


def _by_place(places: "npt.NDArray[np.int64]") -> "Iterator[tuple[int, npt.NDArray[np.int64] | None]]":
    """Each topic and partition with its rows, in their order; None for all rows."""
    first = int(places[0])
    if (places == first).all():
        yield first, None
        return
    distinct, codes = np.unique(places, return_inverse=True)
    narrow = codes.astype(np.uint16) if len(distinct) <= 1 << 16 else codes  # 16 bits are sorted by radix
    order = np.argsort(narrow, kind="stable")
    ends = np.cumsum(np.bincount(codes)).tolist()
    for place, start, end in zip(distinct.tolist(), [0, *ends], ends, strict=False):
        yield place, order[start:end]


def _all_records(
    chunk: pa.RecordBatch, columns: OutputColumns, keys: BytesColumn | None, timestamp_ms: int
) -> RecordColumns:
    """The whole chunk as columns of records, without headers."""
    nulls = pa.nulls(chunk.num_rows, pa.binary())
    arrays = {"value": nulls}
    if columns.timestamp is not None:
        arrays["timestamp"] = chunk.column(columns.timestamp)
    records = RecordColumns.of(pa.record_batch(arrays), timestamp_ms)
    return records._replace(
        keys=keys or BytesColumn.of(nulls, "key"), values=BytesColumn.of(chunk.column(columns.value), "value")
    )


def _picked(records: RecordColumns, rows: "npt.NDArray[np.int64] | None") -> RecordColumns:
    """Some of the records in their order: only where their bytes lie is moved, not they."""
    if rows is None:
        return records
    return records._replace(
        timestamps=records.timestamps[rows],
        keys=_picked_bytes(records.keys, rows),
        values=_picked_bytes(records.values, rows),
    )


def _picked_bytes(column: BytesColumn, rows: "npt.NDArray[np.int64]") -> BytesColumn:
    return BytesColumn(column.starts[rows], column.lengths[rows], column.data)


def _records_with_headers(
    chunk: pa.RecordBatch, columns: OutputColumns, rows: "npt.NDArray[np.int64] | None", timestamp_ms: int
) -> RecordColumns:
    """Headers are lists of different lengths: Arrow brings them into order, with the rest."""
    places = {
        "key": columns.key,
        "value": columns.value,
        "headers": columns.headers,
        "timestamp": columns.timestamp,
    }
    part = pa.record_batch({name: chunk.column(place) for name, place in places.items() if place is not None})
    return RecordColumns.of(part if rows is None else part.take(pa.array(rows)), timestamp_ms)
