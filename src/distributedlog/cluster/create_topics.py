"""CreateTopics and CreatePartitions as decisions: what is refused, what is recorded [pure]."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from distributedlog.cluster.image import ClusterImage, TopicImage
from distributedlog.cluster.placement import PARTITIONS_PER_REQUEST_MAX, placed, placed_by_hand
from distributedlog.cluster.refused import Refused
from distributedlog.cluster.snapshot import topic_records
from distributedlog.cluster.topic_names import check_collision, check_name
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k19_create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreatableTopicResultConfig,
    CreateTopicsRequest,
)
from distributedlog.wire.k37_create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from distributedlog.wire.values.metadata_records import ConfigRecord, MetadataRecord, PartitionRecord

TOPIC_RESOURCE: Final = 2
#: The metadata log itself has a topic's name and is none.
METADATA_TOPIC: Final = "__cluster_metadata"
USE_DEFAULT: Final = -1


@dataclass(frozen=True, slots=True)
class TopicRules:
    """What the controller must know of the brokers to decide about topics.

    ``check_configs`` raises `Refused` for a configuration that is not possible; ``describe`` lists all
    entries of a topic with these configs.
    """

    brokers: Sequence[int]
    num_partitions: int
    replication_factor: int
    check_configs: Callable[[Mapping[str, str]], None]
    describe: Callable[[Mapping[str, str]], list[CreatableTopicResultConfig]]
    new_topic_id: Callable[[], bytes]


def create_topics(
    image: ClusterImage, request: CreateTopicsRequest, rules: TopicRules
) -> tuple[list[CreatableTopicResult], list[MetadataRecord]]:
    """One result per name, in the order of the request."""
    counts = Counter(topic.name for topic in request.topics)
    names = dict.fromkeys(image.topics_by_name)
    results: dict[str, CreatableTopicResult] = {}
    records: list[MetadataRecord] = []
    for wanted in request.topics:
        try:
            if counts[wanted.name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names this topic more than once")
            topic = _new_topic(names, wanted, rules, PARTITIONS_PER_REQUEST_MAX - len(records))
        except Refused as refusal:
            results[wanted.name] = CreatableTopicResult(
                wanted.name, error_code=refusal.code, error_message=refusal.message
            )
            continue
        names[topic.name] = None
        if not request.validate_only:
            records.extend(topic_records(topic))
            records.extend(ConfigRecord(TOPIC_RESOURCE, topic.name, *item) for item in topic.configs.items())
        results[wanted.name] = CreatableTopicResult(
            topic.name,
            topic_id=topic.topic_id,
            error_message=None,
            num_partitions=len(topic.partitions),
            replication_factor=len(topic.partitions[0].replicas),
            configs=rules.describe(topic.configs),
        )
    return list(results.values()), records


def _new_topic(
    names: Mapping[str, None], wanted: CreatableTopic, rules: TopicRules, partitions_max: int
) -> TopicImage:
    if wanted.name == METADATA_TOPIC:
        raise Refused(ErrorCode.INVALID_REQUEST, "the metadata log is not a topic")
    check_name(wanted.name)
    if wanted.name in names:
        # In Kafka's words, which its tools show.
        raise Refused(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{wanted.name}' already exists.")
    check_collision(wanted.name, names)
    configs: dict[str, str] = {}
    for config in wanted.configs:
        if config.value is None:
            raise Refused(ErrorCode.INVALID_CONFIG, f"{config.name} has no value")
        configs[config.name] = config.value
    rules.check_configs(configs)
    if wanted.assignments:
        partitions = placed_by_hand(0, _assignments(wanted), None, rules.brokers)
    else:
        partitions = placed(
            0, _partition_count(wanted, rules), _replication_factor(wanted, rules), rules.brokers
        )
    if len(partitions) > partitions_max:
        raise Refused(ErrorCode.POLICY_VIOLATION, "the request makes more partitions than one request may")
    return TopicImage(wanted.name, rules.new_topic_id(), tuple(partitions), configs)


def _partition_count(wanted: CreatableTopic, rules: TopicRules) -> int:
    if wanted.num_partitions == USE_DEFAULT:
        return rules.num_partitions
    if wanted.num_partitions < 1:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"{wanted.num_partitions} partitions: the number is 1 or more, or -1 for the broker's default",
        )
    return wanted.num_partitions


def _replication_factor(wanted: CreatableTopic, rules: TopicRules) -> int:
    if wanted.replication_factor == USE_DEFAULT:
        return rules.replication_factor
    if wanted.replication_factor < 1:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"{wanted.replication_factor} replicas: the number is 1 or more, or -1 for the broker's default",
        )
    return wanted.replication_factor


def _assignments(wanted: CreatableTopic) -> list[list[int]]:
    """The replicas of partitions 0, 1, 2 ... as the request assigns them."""
    if wanted.replication_factor != USE_DEFAULT:
        raise Refused(ErrorCode.INVALID_REQUEST, "with an assignment the replication factor has to be -1")
    if wanted.num_partitions != USE_DEFAULT:
        raise Refused(ErrorCode.INVALID_REQUEST, "with an assignment the number of partitions has to be -1")
    by_index: dict[int, list[int]] = {}
    for assignment in wanted.assignments:
        if assignment.partition_index in by_index:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {assignment.partition_index} is assigned more than once",
            )
        by_index[assignment.partition_index] = assignment.broker_ids
    if sorted(by_index) != list(range(len(by_index))):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "the partitions assigned are not numbered from 0 without gaps",
        )
    return [by_index[index] for index in range(len(by_index))]


def create_partitions(
    image: ClusterImage, request: CreatePartitionsRequest, brokers: Sequence[int]
) -> tuple[list[CreatePartitionsTopicResult], list[MetadataRecord]]:
    """One result per name, in the order of the request."""
    counts = Counter(topic.name for topic in request.topics)
    results: dict[str, CreatePartitionsTopicResult] = {}
    records: list[MetadataRecord] = []
    for wanted in request.topics:
        try:
            if counts[wanted.name] > 1:
                raise Refused(ErrorCode.INVALID_REQUEST, "the request names this topic more than once")
            added = _added_partitions(image, wanted, brokers, PARTITIONS_PER_REQUEST_MAX - len(records))
        except Refused as refusal:
            results[wanted.name] = CreatePartitionsTopicResult(wanted.name, refusal.code, refusal.message)
            continue
        if not request.validate_only:
            records.extend(added)
        results[wanted.name] = CreatePartitionsTopicResult(wanted.name)
    return list(results.values()), records


def _added_partitions(
    image: ClusterImage, wanted: CreatePartitionsTopic, brokers: Sequence[int], partitions_max: int
) -> list[PartitionRecord]:
    topic = image.topics_by_name.get(wanted.name)
    if topic is None:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    there = len(topic.partitions)
    added = wanted.count - there
    if added == 0:
        raise Refused(ErrorCode.INVALID_PARTITIONS, f"the topic has {there} partitions already")
    if added < 0:
        raise Refused(
            ErrorCode.INVALID_PARTITIONS,
            f"the topic has {there} partitions, {wanted.count} would not be an increase",
        )
    replication_factor = len(topic.partitions[0].replicas)
    if wanted.assignments is None:
        partitions = placed(there, added, replication_factor, brokers)
    else:
        if len(wanted.assignments) != added:
            raise Refused(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{added} partitions are to be added, {len(wanted.assignments)} are assigned",
            )
        assignments = [assignment.broker_ids for assignment in wanted.assignments]
        partitions = placed_by_hand(there, assignments, replication_factor, brokers)
    if added > partitions_max:
        raise Refused(ErrorCode.POLICY_VIOLATION, "the request makes more partitions than one request may")
    grown = TopicImage(topic.name, topic.topic_id, tuple(partitions))
    return [record for record in topic_records(grown) if isinstance(record, PartitionRecord)]
