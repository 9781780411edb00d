import pytest
from tests.cluster.support import decided, image_with, rules, wanted

from distributedlog.cluster.create_topics import create_partitions, create_topics
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.wire import ErrorCode
from distributedlog.wire.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from distributedlog.wire.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)


def create(*topics, image=EMPTY_IMAGE, validate_only=False, **rule):
    request = CreateTopicsRequest(list(topics), validate_only=validate_only)
    return create_topics(image, request, rules(**rule))


def error_of(*topics, **rule):
    results, records = create(*topics, **rule)
    assert records == []
    return ErrorCode(results[0].error_code)


def by_hand(*assignments, partitions=-1, replicas=-1):
    return CreatableTopic(
        "a", partitions, replicas, [CreatableReplicaAssignment(*assignment) for assignment in assignments]
    )


def test_a_topic_with_partitions_and_configs():
    image, [result] = decided(EMPTY_IMAGE, create(wanted("a", 3, 1, retention_ms="5")))
    topic = image.topics_by_name["a"]
    assert topic is image.topics_by_id[topic.topic_id]
    assert [partition.index for partition in topic.partitions] == [0, 1, 2]
    assert {(p.leader, p.leader_epoch, p.replicas, p.isr) for p in topic.partitions} == {(1, 0, (1,), (1,))}
    assert topic.configs == {"retention.ms": "5"}
    assert (result.num_partitions, result.replication_factor, result.topic_id) == (3, 1, topic.topic_id)
    assert result.error_message is None


def test_minus_one_means_the_defaults():
    image, [result] = decided(
        EMPTY_IMAGE, create(wanted("a", -1, -1), brokers=(1, 2, 3), num_partitions=4, replication_factor=2)
    )
    assert (result.num_partitions, result.replication_factor) == (4, 2)
    assert [p.replicas for p in image.topics_by_name["a"].partitions] == [(1, 2), (2, 3), (3, 1), (1, 2)]


def test_validate_only_answers_and_records_nothing():
    results, records = create(wanted("a", 2), wanted("b/"), validate_only=True)
    assert records == []
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert results[0].num_partitions == 2


def test_what_is_refused_does_not_touch_what_is_not():
    image, results = decided(EMPTY_IMAGE, create(wanted(""), wanted("a"), wanted("b", 0)))
    assert [result.error_code for result in results] == [17, 0, 37]
    assert list(image.topics_by_name) == ["a"]


def test_a_name_that_is_taken():
    assert error_of(wanted("a"), image=image_with(wanted("a"))) is ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_name_that_collides_with_another_of_the_image_or_of_the_request():
    assert error_of(wanted("a.b"), image=image_with(wanted("a_b"))) is ErrorCode.INVALID_TOPIC_EXCEPTION
    results, _ = create(wanted("a.b"), wanted("a_b"))
    assert [result.error_code for result in results] == [0, ErrorCode.INVALID_TOPIC_EXCEPTION]


def test_a_name_that_stands_twice_is_answered_once_and_made_by_neither():
    results, records = create(wanted("a"), wanted("a", 2))
    assert [(result.name, result.error_code) for result in results] == [("a", ErrorCode.INVALID_REQUEST)]
    assert records == []


def test_the_metadata_log_is_no_topic():
    assert error_of(wanted("__cluster_metadata")) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("partitions", [0, -2, -(2**31)])
def test_partitions_that_cannot_be(partitions):
    assert error_of(wanted("a", partitions)) is ErrorCode.INVALID_PARTITIONS


@pytest.mark.parametrize("partitions", [10_001, 2**31 - 1])
def test_more_partitions_than_a_request_may_make_cost_nothing(partitions):
    assert error_of(wanted("a", partitions)) is ErrorCode.POLICY_VIOLATION


def test_the_bound_counts_all_topics_of_a_request():
    results, records = create(wanted("a", 6000), wanted("b", 6000))
    assert [result.error_code for result in results] == [0, ErrorCode.POLICY_VIOLATION]
    assert len(records) == 6001


@pytest.mark.parametrize("replicas", [0, -2, 2, 32767])
def test_replication_factors_that_cannot_be_on_one_node(replicas):
    assert error_of(wanted("a", 1, replicas)) is ErrorCode.INVALID_REPLICATION_FACTOR


def test_configs_that_cannot_be():
    assert error_of(wanted("a", bad="1")) is ErrorCode.INVALID_CONFIG
    null = CreatableTopic("a", 1, 1, configs=[CreatableTopicConfig("retention.ms", None)])
    assert error_of(null) is ErrorCode.INVALID_CONFIG


def test_an_assignment_by_hand():
    image, [result] = decided(EMPTY_IMAGE, create(by_hand((1, [2, 1]), (0, [1, 3])), brokers=(1, 2, 3)))
    partitions = image.topics_by_name["a"].partitions
    assert [(p.replicas, p.leader) for p in partitions] == [((1, 3), 1), ((2, 1), 2)]
    assert (result.num_partitions, result.replication_factor) == (2, 2)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (by_hand((0, [1]), replicas=1), ErrorCode.INVALID_REQUEST),
        (by_hand((0, [1]), partitions=1), ErrorCode.INVALID_REQUEST),
        (by_hand((0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((0, [9])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((0, [1, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((-1, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((0, [1]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((0, [1]), (2, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand((0, [1]), (1, [1, 2])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_assignments_that_cannot_be(topic, error):
    assert error_of(topic, brokers=(1, 2)) is error


# -- more partitions ------------------------------------------------------------------------------------


def grow(image, *topics, validate_only=False, brokers=(1,)):
    return create_partitions(image, CreatePartitionsRequest(list(topics), 0, validate_only), brokers)


def assigned(name, count, *replicas):
    return CreatePartitionsTopic(name, count, [CreatePartitionsAssignment(list(each)) for each in replicas])


def test_partitions_are_added_behind_those_there_are():
    before = image_with(wanted("a", 2))
    image, [result] = decided(before, grow(before, CreatePartitionsTopic("a", 5, None)))
    assert result.error_code == 0
    assert [p.index for p in image.topics_by_name["a"].partitions] == [0, 1, 2, 3, 4]
    assert image.topics_by_name["a"].partitions[:2] == before.topics_by_name["a"].partitions
    assert len(before.topics_by_name["a"].partitions) == 2


def test_each_topic_is_answered():
    before = image_with(wanted("a", 2), wanted("b", 2))
    image, results = decided(
        before,
        grow(
            before,
            CreatePartitionsTopic("a", 2, None),
            CreatePartitionsTopic("b", 3, None),
            CreatePartitionsTopic("c", 3, None),
            CreatePartitionsTopic("a/", 3, None),
        ),
    )
    assert [(result.name, result.error_code) for result in results] == [
        ("a", ErrorCode.INVALID_PARTITIONS),
        ("b", 0),
        ("c", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("a/", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert len(image.topics_by_name["b"].partitions) == 3


def test_validate_only_adds_nothing():
    results, records = grow(image_with(wanted("a")), CreatePartitionsTopic("a", 2, None), validate_only=True)
    assert (results[0].error_code, records) == (0, [])


def test_assigned_partitions():
    before = image_with(wanted("a", 1, 2), brokers=(1, 2))
    image, [result] = decided(before, grow(before, assigned("a", 3, [2, 1], [1, 2]), brokers=(1, 2)))
    assert result.error_code == 0
    assert [p.replicas for p in image.topics_by_name["a"].partitions] == [(1, 2), (2, 1), (1, 2)]


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (CreatePartitionsTopic("a", 1, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", 0, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", -1, None), ErrorCode.INVALID_PARTITIONS),
        (CreatePartitionsTopic("a", 2**31 - 1, None), ErrorCode.POLICY_VIOLATION),
        (assigned("a", 4, [1]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", 3), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", 3, [5]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (assigned("a", 3, [1, 2]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_growth_that_cannot_be(topic, error):
    results, records = grow(image_with(wanted("a", 2)), topic, brokers=(1, 2))
    assert (results[0].error_code, records) == (error, [])


def test_a_topic_that_stands_twice_does_not_grow():
    twice = [CreatePartitionsTopic("a", 2, None), CreatePartitionsTopic("a", 3, None)]
    results, records = grow(image_with(wanted("a")), *twice)
    assert [result.error_code for result in results] == [ErrorCode.INVALID_REQUEST]
    assert records == []
