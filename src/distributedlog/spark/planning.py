"""[io] From the options to offsets: which partitions there are, where reading starts and where it ends."""

from collections.abc import Mapping

from distributedlog.client import TopicPartition
from distributedlog.spark.cluster import Cluster, TopicInfo, TopicMissing
from distributedlog.spark.errors import InvalidSparkOption
from distributedlog.spark.offset_specs import EARLIEST, LATEST, OffsetSpec
from distributedlog.spark.read_options import ReadOptions, Subscription


def subscribed_partitions(
    subscription: Subscription, topics: Mapping[str, TopicInfo]
) -> list[TopicPartition]:
    """All partitions of the topics, or those that are assigned; TopicMissing for one that is not there."""
    if not subscription.assigned:
        return [
            TopicPartition(name, index) for name in sorted(topics) for index in range(topics[name].partitions)
        ]
    for partition in subscription.assigned:
        topic = topics.get(partition.topic)
        if topic is not None and partition.partition >= topic.partitions:
            raise TopicMissing(
                f"there is no partition {partition}: topic {partition.topic!r} has {topic.partitions}, "
                "numbered from 0"
            )
    return [partition for partition in subscription.assigned if partition.topic in topics]


def resolve(
    cluster: Cluster,
    options: ReadOptions,
    spec: OffsetSpec,
    partitions: list[TopicPartition],
    *,
    is_end: bool,
) -> dict[TopicPartition, int]:
    """The offset that the spec means for each partition; partitions that it does not name begin anew."""
    committed = options.is_read_committed
    if spec.kind == "earliest":
        return cluster.earliest(partitions)
    if spec.kind == "latest":
        return cluster.latest(partitions, is_read_committed=committed)
    if spec.kind == "timestamp":
        moments = dict.fromkeys(partitions, spec.timestamp or 0)
        return _at_moments(cluster, options, moments, is_end=is_end)
    named = spec.by_partition or {}
    _check_named(named, partitions, is_end=is_end)
    if spec.kind == "timestamps":
        found = _at_moments(cluster, options, named, is_end=is_end)
        others = [partition for partition in partitions if partition not in named]
        return {**found, **_default(cluster, options, others, is_end=is_end)}
    first = [partition for partition, offset in named.items() if offset == EARLIEST]
    last = [partition for partition, offset in named.items() if offset == LATEST]
    others = [partition for partition in partitions if partition not in named]
    return {
        **named,
        **cluster.earliest(first),
        **cluster.latest(last, is_read_committed=committed),
        **_default(cluster, options, others, is_end=is_end),
    }


def _default(
    cluster: Cluster, options: ReadOptions, partitions: list[TopicPartition], *, is_end: bool
) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    if is_end:
        return cluster.latest(partitions, is_read_committed=options.is_read_committed)
    return cluster.earliest(partitions)


def _at_moments(
    cluster: Cluster, options: ReadOptions, moments: Mapping[TopicPartition, int], *, is_end: bool
) -> dict[TopicPartition, int]:
    committed = options.is_read_committed
    found = cluster.at(moments, is_read_committed=committed)
    late = [partition for partition, offset in found.items() if offset is None]
    if late and not is_end and not options.late_start_means_end:
        raise InvalidSparkOption(
            f"no record of {late[0]} is as late as {moments[late[0]]}; with the option "
            "startingOffsetsByTimestampStrategy = latest reading would start at the end"
        )
    ends = cluster.latest(late, is_read_committed=committed)
    return {partition: ends[partition] if offset is None else offset for partition, offset in found.items()}


def _check_named(
    named: Mapping[TopicPartition, int], partitions: list[TopicPartition], *, is_end: bool
) -> None:
    strangers = sorted(set(named) - set(partitions))
    if strangers:
        option = "endingOffsets" if is_end else "startingOffsets"
        raise InvalidSparkOption(
            f"option '{option}' names {strangers[0]}, which is not among the partitions subscribed to"
        )
    missing = sorted(set(partitions) - set(named))
    if missing:
        option = "endingOffsets" if is_end else "startingOffsets"
        raise InvalidSparkOption(
            f"option '{option}' leaves out {missing[0]}: name every partition, with -2 for its beginning "
            "and -1 for its end"
        )
