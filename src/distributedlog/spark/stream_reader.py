"""[io] Reading a stream: micro-batch after micro-batch, each a range of offsets that Spark keeps.

Spark calls all methods but `read` in one process that lives as long as the query, so what is remembered
between two calls may stand in the reader; `read` runs in the workers on a pickled copy.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)

from distributedlog.client import TopicPartition
from distributedlog.client.errors import ClientError
from distributedlog.client.offset_range import OffsetRange
from distributedlog.spark.cluster import Cluster, TopicInfo, cluster_of
from distributedlog.spark.columns import check_schema
from distributedlog.spark.planning import resolve, subscribed_partitions
from distributedlog.spark.read_options import ReadOptions
from distributedlog.spark.reading import lose, read_split
from distributedlog.spark.splits import gather_small, limited, split_ranges
from distributedlog.spark.stream_offsets import StreamOffset, TopicOffsets, parse_offset, same_topic
from distributedlog.wire import ZERO_UUID

if TYPE_CHECKING:
    import pyarrow
    from pyspark.sql.types import StructType

log = logging.getLogger(__name__)

Offsets = dict[TopicPartition, int]
_PREFIX_DIGITS: Final = 8


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """With admission control, so that a query that starts late takes its backlog in bites."""

    def __init__(self, options: ReadOptions, schema: "StructType") -> None:
        check_schema(schema)
        self._options = options
        self._schema = schema
        #: What was there when a query with Trigger.AvailableNow began: it reads that and ends.
        self._target: Offsets | None = None
        self._latest: StreamOffset | None = None
        self._last_batch: float | None = None
        self._commit_failed = False
        self._has_looked = False

    # Which offsets: called on the driver.

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Where a query without a checkpoint begins. All topics that are named must be there by then."""
        cluster = self._cluster()
        topics = cluster.topics(self._options.subscription)
        partitions = subscribed_partitions(self._options.subscription, topics)
        starts = resolve(cluster, self._options, self._options.starting, partitions, is_end=False)
        return _offset(topics, starts, {}).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        options = self._options
        if options.max_offsets_per_trigger is not None:
            return ReadMaxRows(options.max_offsets_per_trigger)
        if options.min_offsets_per_trigger is not None:
            return ReadMinRows(options.min_offsets_per_trigger)
        return ReadAllAvailable()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """The end of the next batch; `start` itself while there is nothing to read."""
        before = parse_offset(start)
        cluster = self._cluster()
        topics = self._topics_now(cluster, before)
        partitions = subscribed_partitions(self._options.subscription, topics)
        latest = cluster.latest(partitions, is_read_committed=self._options.is_read_committed)
        self._latest = _offset(topics, latest, {})
        target = latest if self._target is None else self._target
        latest = {partition: end for partition, end in latest.items() if partition in target}
        starts, begins = self._starts(cluster, before, topics, latest)
        ends = {
            partition: max(starts[partition], min(end, target[partition]))
            for partition, end in latest.items()
        }
        if not isinstance(limit, ReadAllAvailable):
            if self._is_too_early(starts, ends):
                return start
            if self._options.max_offsets_per_trigger is not None:
                ends = limited(starts, ends, self._options.max_offsets_per_trigger)
        if ends == before.partitions() and not begins:
            return start
        self._last_batch = time.monotonic()
        return _offset(topics, ends, begins).to_json()

    def reportLatestOffset(self) -> dict[str, Any] | None:  # noqa: N802
        """What the cluster has, for the query's progress: the distance to it is the lag."""
        return None if self._latest is None else self._latest.to_json()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        cluster = self._cluster()
        topics = cluster.topics(self._options.subscription, missing_ok=True)
        partitions = subscribed_partitions(self._options.subscription, topics)
        self._target = cluster.latest(partitions, is_read_committed=self._options.is_read_committed)

    # Reading them.

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        """Only from what the two offsets say, but for records that have expired since."""
        before, after = parse_offset(start), parse_offset(end)
        ranges = []
        for name, topic in self._still_there(after).items():
            for index, last in topic.offsets.items():
                partition = TopicPartition(name, index)
                first = before.start_of(partition, topic.topic_id)
                if first is None or index in topic.begins:
                    first = topic.begins.get(index, 0)
                if first < last:
                    topic_id = bytes.fromhex(topic.topic_id) or ZERO_UUID
                    ranges.append(OffsetRange(partition, first, last, topic_id))
        ranges = self._without_expired(ranges)
        options = self._options
        splits = split_ranges(ranges, options.min_partitions, options.max_records_per_partition)
        tasks = [(split,) for split in splits] if options.min_partitions else gather_small(splits)
        return [InputPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> "Iterator[pyarrow.RecordBatch]":
        splits: tuple[OffsetRange, ...] = partition.value
        return chain.from_iterable(read_split(self._options, self._schema, split) for split in splits)

    def commit(self, end: dict[str, Any]) -> None:
        """Let the group's offsets follow, so that tools for lag see the job. Nothing reads them here."""
        group_id = group_of(self._options)
        if group_id is None:
            return
        try:
            self._cluster().commit(group_id, parse_offset(end).partitions())
            self._commit_failed = False
        except ClientError as error:
            if not self._commit_failed:
                log.warning("the offsets of this query are not shown in group %s: %s", group_id, error)
            self._commit_failed = True

    def stop(self) -> None:
        """The client belongs to the process, which ends with the query."""

    def __getstate__(self) -> dict[str, Any]:
        """A worker needs to know what to read and how, and nothing of what the driver remembers."""
        return {**self.__dict__, "_target": None, "_latest": None, "_last_batch": None}

    def _cluster(self) -> Cluster:
        return cluster_of(self._options.client)

    def _topics_now(self, cluster: Cluster, before: StreamOffset) -> dict[str, TopicInfo]:
        """Topics that are gone, or made anew, are data loss: what was left in them will not come."""
        topics = cluster.topics(self._options.subscription, missing_ok=True)
        self._has_looked = True
        for name, known in before.topics.items():
            self._is_there(name, known.topic_id, topics)
        return topics

    def _is_there(self, name: str, topic_id: str, topics: Mapping[str, TopicInfo]) -> bool:
        now = topics.get(name)
        if now is None:
            lose(self._options, f"topic {name!r} is gone")
            return False
        if not same_topic(topic_id, now.topic_id):
            lose(self._options, f"topic {name!r} was deleted and made anew")
            return False
        return True

    def _starts(
        self, cluster: Cluster, before: StreamOffset, topics: Mapping[str, TopicInfo], latest: Offsets
    ) -> tuple[Offsets, Offsets]:
        """Where each partition reads on, and of these the ones that begin with this batch."""
        starts: Offsets = {}
        new = []
        for partition, end in latest.items():
            known = before.start_of(partition, topics[partition.topic].topic_id)
            if known is not None and known > end:
                lose(self._options, f"{partition} ends at offset {end}; the query stands at {known}")
                known = None
            if known is None:
                new.append(partition)
            else:
                starts[partition] = known
        begins = cluster.earliest(new)
        return {**starts, **begins}, begins

    def _is_too_early(self, starts: Offsets, ends: Offsets) -> bool:
        """Whether to wait for more, as ``minOffsetsPerTrigger`` asks; not for ever."""
        minimum = self._options.min_offsets_per_trigger
        if minimum is None or self._target is not None or self._last_batch is None:
            return False
        waited_ms = (time.monotonic() - self._last_batch) * 1000
        waiting = sum(ends[partition] - starts[partition] for partition in ends)
        return waiting < minimum and waited_ms < self._options.max_trigger_delay_ms

    def _still_there(self, after: StreamOffset) -> Mapping[str, TopicOffsets]:
        """A batch that was planned before a restart may be of topics that have gone since."""
        if self._has_looked:
            return after.topics
        topics = self._cluster().topics(self._options.subscription, missing_ok=True)
        self._has_looked = True
        return {
            name: topic
            for name, topic in after.topics.items()
            if self._is_there(name, topic.topic_id, topics)
        }

    def _without_expired(self, ranges: list[OffsetRange]) -> list[OffsetRange]:
        first = self._cluster().earliest(entry.partition for entry in ranges)
        kept = []
        for entry in ranges:
            begin = first[entry.partition]
            if entry.start < begin:
                lost = f"offsets {entry.start} to {min(begin, entry.end)} of {entry.partition} have expired"
                lose(self._options, lost)
            kept.append(OffsetRange(entry.partition, max(entry.start, begin), entry.end, entry.topic_id))
        return kept


def group_of(options: ReadOptions) -> str | None:
    """The group that shows this query: as named, or the prefix and what the query reads."""
    if options.group_id is not None or options.group_id_prefix is None:
        return options.group_id
    digest = sha256(str(options.subscription).encode()).hexdigest()[:_PREFIX_DIGITS]
    return f"{options.group_id_prefix}-{digest}"


def _offset(topics: Mapping[str, TopicInfo], offsets: Offsets, begins: Offsets) -> StreamOffset:
    found: dict[str, tuple[dict[int, int], dict[int, int]]] = {}
    for partition, offset in offsets.items():
        of_topic, begins_of_topic = found.setdefault(partition.topic, ({}, {}))
        of_topic[partition.partition] = offset
        if partition in begins:
            begins_of_topic[partition.partition] = begins[partition]
    return StreamOffset({name: TopicOffsets(topics[name].topic_id, *parts) for name, parts in found.items()})
