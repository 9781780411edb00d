"""[pure] Records in Arrow as rows of Spark: the columns that were asked for, in their order and types.

Topic and partition are the same in every row of a split: their columns are made once, and each batch takes
a slice of them without a copy.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa

from distributedlog.client import TopicPartition

_RECORD_COLUMNS: Final = {
    "key": "key",
    "value": "value",
    "offset": "offset",
    "timestamp": "timestamp",
    "timestampType": "timestamp_type",
    "headers": "headers",
}
ROWS_MAX: Final = 65_536
_TIMESTAMP: Final = pa.timestamp("us", tz="UTC")


def record_columns(columns: Sequence[str]) -> list[str]:
    """What has to be decoded for these columns; never nothing, since rows have to be counted."""
    return [_RECORD_COLUMNS[name] for name in columns if name in _RECORD_COLUMNS] or ["offset"]


def row_batches(
    records: Iterable[pa.RecordBatch], partition: TopicPartition, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Batches of no more than ROWS_MAX rows, in the schema's columns."""
    constants: dict[str, pa.Array] = {}
    for batch in records:
        for start in range(0, batch.num_rows, ROWS_MAX):
            part = batch.slice(start, ROWS_MAX) if batch.num_rows > ROWS_MAX else batch
            yield pa.RecordBatch.from_arrays(
                [_column(name, part, partition, constants) for name in schema.names], schema=schema
            )


def _column(
    name: str, batch: pa.RecordBatch, partition: TopicPartition, constants: dict[str, pa.Array]
) -> pa.Array:
    if name in _RECORD_COLUMNS:
        column = batch.column(_RECORD_COLUMNS[name])
        return column.cast(_TIMESTAMP) if name == "timestamp" else column
    constant = constants.get(name)
    if constant is None or len(constant) < batch.num_rows:
        value = (
            pa.scalar(partition.topic, pa.string())
            if name == "topic"
            else pa.scalar(partition.partition, pa.int32())
        )
        constant = constants[name] = pa.repeat(value, batch.num_rows)
    return constant.slice(0, batch.num_rows)
