"""[io] Reading a batch: splits planned on the driver, read in the workers."""

import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from distributedlog.client import TopicPartition
from distributedlog.client.offset_range import OffsetRange
from distributedlog.spark.cluster import Cluster, cluster_of
from distributedlog.spark.columns import check_schema
from distributedlog.spark.filters import Bounds, bounds_of
from distributedlog.spark.planning import resolve, subscribed_partitions
from distributedlog.spark.read_options import ReadOptions
from distributedlog.spark.reading import lose, read_split
from distributedlog.spark.splits import split_ranges

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

#: The module that Spark's process runs when it has filters to push down.
_PUSHDOWN_MODULE: Final = "pyspark.sql.worker.data_source_pushdown_filters"


def batch_reader(options: ReadOptions, schema: "StructType") -> "BatchReader":
    """A reader that takes filters where Spark is about to hand some over.

    While pushdown is off, a reader that could take filters is refused by Spark, so there are two of them.
    """
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    pushes = _PUSHDOWN_MODULE in sys.modules or getattr(spec, "name", "") == _PUSHDOWN_MODULE
    return FilteringBatchReader(options, schema) if pushes else BatchReader(options, schema)


class BatchReader(DataSourceReader):
    """Pickled to the workers, where only `read` is called."""

    def __init__(self, options: ReadOptions, schema: "StructType") -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema
        self._bounds = Bounds()

    def partitions(self) -> list[InputPartition]:
        """Without any offset to read there is one split that says so: Spark takes none for a mistake."""
        options = self._options
        cluster = cluster_of(options.client)
        topics = cluster.topics(options.subscription)
        partitions = subscribed_partitions(options.subscription, topics)
        starts = resolve(cluster, options, options.starting, partitions, is_end=False)
        ends = resolve(cluster, options, options.ending, partitions, is_end=True)
        starts, ends = self._within_log(cluster, starts, ends)
        starts, ends = narrow(cluster, options, self._bounds, starts, ends)
        ranges = [
            OffsetRange(partition, starts[partition], ends[partition], _id(topics[partition.topic].topic_id))
            for partition in partitions
            if partition in starts
        ]
        splits = split_ranges(ranges, options.min_partitions, options.max_records_per_partition)
        return [InputPartition(split) for split in splits] or [InputPartition(None)]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        split: OffsetRange | None = partition.value
        if split is None:
            return iter(())
        return read_split(self._options, self._schema, split, self._bounds.times())

    def _within_log(
        self, cluster: Cluster, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int]
    ) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
        """Offsets that the user gave may lie outside of what is there."""
        options = self._options
        if options.starting.kind == "offsets":
            for partition, first in cluster.earliest(starts).items():
                if starts[partition] < first:
                    lose(options, f"{partition} begins at offset {first}, after {starts[partition]}")
                    starts[partition] = first
        if options.ending.kind == "offsets":
            latest = cluster.latest(ends, is_read_committed=options.is_read_committed)
            for partition, last in latest.items():
                if ends[partition] > last:
                    lose(options, f"{partition} can be read up to offset {last}, before {ends[partition]}")
                    ends[partition] = last
        return starts, ends


class FilteringBatchReader(BatchReader):
    """Takes filters as bounds and leaves it to Spark to apply them."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802
        self._bounds = bounds_of(filters)
        return filters


def narrow(
    cluster: Cluster,
    options: ReadOptions,
    bounds: Bounds,
    starts: dict[TopicPartition, int],
    ends: dict[TopicPartition, int],
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """The ranges without what the bounds rule out.

    The first record that is late enough bounds the start in any case. It bounds the end only where times do
    not go back: where the broker sets them, or as far as ``timestampDisorder`` promises.
    """
    kept = [partition for partition in starts if bounds.allows(*partition)]
    starts = {partition: max(starts[partition], bounds.offset_start or 0) for partition in kept}
    ends = {partition: ends[partition] for partition in kept}
    if bounds.offset_end is not None:
        ends = {partition: min(end, bounds.offset_end) for partition, end in ends.items()}
    if bounds.timestamp_start is not None:
        moments = dict.fromkeys(kept, max(0, bounds.timestamp_start))
        found = cluster.at(moments, is_read_committed=options.is_read_committed)
        for partition, offset in found.items():
            starts[partition] = ends[partition] if offset is None else max(starts[partition], offset)
    if bounds.timestamp_end is not None:
        moments = {}
        for topic in {partition.topic for partition in kept}:
            disorder_ms = 0 if cluster.appends_in_order(topic) else options.timestamp_disorder_ms
            if disorder_ms is not None:
                moment = max(0, bounds.timestamp_end + disorder_ms)
                moments |= {partition: moment for partition in kept if partition.topic == topic}
        found = cluster.at(moments, is_read_committed=options.is_read_committed)
        for partition, offset in found.items():
            if offset is not None:
                ends[partition] = min(ends[partition], offset)
    return starts, {partition: max(end, starts[partition]) for partition, end in ends.items()}


def _id(text: str) -> bytes:
    return bytes.fromhex(text)
