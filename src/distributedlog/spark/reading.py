"""[io] One split, read in a worker: what batches and streams have in common."""

import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.pandas.types import to_arrow_schema

from distributedlog.client.connection_pool import ClusterAccess, shared_access
from distributedlog.client.errors import BrokerError
from distributedlog.client.offset_range import OffsetRange, RangeSettings
from distributedlog.spark.cluster import cluster_of
from distributedlog.spark.errors import DataLoss
from distributedlog.spark.read_options import ReadOptions
from distributedlog.spark.worker_memory import settle
from distributedlog.wire import ErrorCode

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

_GONE = frozenset(
    {ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
)


def read_split(
    options: ReadOptions,
    schema: "StructType",
    split: OffsetRange,
    times: tuple[int, int] | None = None,
) -> "Iterator[pyarrow.RecordBatch]":
    """The rows of one split. Records that are gone are DataLoss, or passed over with a warning."""
    # Compiled code takes a while to load, and who plans needs none of it.
    from distributedlog.spark.row_batches import record_columns, row_batches  # noqa: PLC0415

    arrow_schema = to_arrow_schema(schema, timezone="UTC")
    settings = RangeSettings(
        columns=record_columns(arrow_schema.names),
        is_read_committed=options.is_read_committed,
        fetch_bytes=options.fetch_bytes,
        patience_ms=options.patience_ms,
        times=times,
    )
    settle()
    return row_batches(_records(options, split, settings), split.partition, arrow_schema)


def _records(
    options: ReadOptions, split: OffsetRange, settings: RangeSettings
) -> "Iterator[pyarrow.RecordBatch]":
    from distributedlog.client.range_reader import RangeReader, TopicReplaced  # noqa: PLC0415

    settle()
    if options.local_data_directory is not None:
        from distributedlog.spark.local_reader import LocalRange, NotHere  # noqa: PLC0415

        local = LocalRange(options.local_data_directory, split, settings)
        try:
            yield from local
            return
        except NotHere:
            split = replace(split, start=local.position)
    client = options.client
    access = shared_access(client, lambda: ClusterAccess(client.bootstrap, client.client_settings()))
    reader = RangeReader(access, split, settings)
    try:
        yield from reader
    except TopicReplaced as error:
        lose(options, f"{error}; offsets {reader.position} to {split.end} of {split.partition} are gone")
    except BrokerError as error:
        if error.code not in _GONE:
            raise
        lose(options, f"offsets {reader.position} to {split.end} of {split.partition} are gone: {error}")
        if error.code == ErrorCode.OFFSET_OUT_OF_RANGE:
            yield from _what_is_left(options, replace(split, start=reader.position), settings)


def _what_is_left(
    options: ReadOptions, split: OffsetRange, settings: RangeSettings
) -> "Iterator[pyarrow.RecordBatch]":
    """The rest of a range whose beginning has expired since it was planned."""
    begin = cluster_of(options.client).earliest([split.partition])[split.partition]
    if split.start < begin < split.end:
        yield from _records(options, replace(split, start=begin), settings)


def lose(options: ReadOptions, what: str) -> None:
    """DataLoss, unless the user has said that it is no failure."""
    if options.fail_on_data_loss:
        raise DataLoss(f"{what}. Set the option 'failOnDataLoss' to false to go on without them")
    warnings.warn(f"data loss: {what}", RuntimeWarning, stacklevel=2)
