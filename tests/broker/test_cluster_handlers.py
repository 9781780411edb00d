"""ApiVersions, the cluster, pages of topics, log directories, DeleteRecords, quotas, telemetry."""

import pytest
from tests.broker.requests import (
    ALTER_CLIENT_QUOTAS,
    API_VERSIONS,
    DELETE_RECORDS,
    DESCRIBE_CLIENT_QUOTAS,
    DESCRIBE_CLUSTER,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_TOPIC_PARTITIONS,
    GET_TELEMETRY,
    PUSH_TELEMETRY,
    create,
    topic,
)

from distributedlog.broker.served_apis import ADVERTISED
from distributedlog.records import encode_single
from distributedlog.wire import ErrorCode
from distributedlog.wire.k18_api_versions import ApiVersionsRequest
from distributedlog.wire.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from distributedlog.wire.k35_describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from distributedlog.wire.k48_describe_client_quotas import DescribeClientQuotasRequest, QuotaFilterComponent
from distributedlog.wire.k49_alter_client_quotas import (
    AlterClientQuotasRequest,
    AlteredQuotaEntity,
    QuotaAlteration,
    QuotaOperation,
)
from distributedlog.wire.k50_describe_user_scram_credentials import (
    DescribedUserName,
    DescribeUserScramCredentialsRequest,
)
from distributedlog.wire.k60_describe_cluster import DescribeClusterRequest
from distributedlog.wire.k71_get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from distributedlog.wire.k72_push_telemetry import PushTelemetryRequest
from distributedlog.wire.k75_describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsTopic,
    TopicPartitionCursor,
)


def fill(stage, name, index=0, count=5):
    partition = stage.broker.partitions.get(name, index)
    for number in range(count):
        partition.append(
            bytearray(encode_single(1, b"k", b"%d" % number, ())), now_ms=stage.scheduler.now_ms()
        )
    stage.scheduler.run()
    return partition


# -- ApiVersions ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(5))
def test_api_versions_tells_what_is_served(served, version):
    response = served.ask(API_VERSIONS, ApiVersionsRequest("tests", "1.0"), version)
    assert {api.api_key: (api.min_version, api.max_version) for api in response.api_keys} == ADVERTISED
    features = {key.name: (key.min_version, key.max_version) for key in response.supported_features}
    finalized = {key.name: key.max_version_level for key in response.finalized_features}
    if version < 3:
        assert (features, finalized) == ({}, {})
    else:
        assert finalized == {"metadata.version": 25, "group.version": 1, "transaction.version": 2}
        # A feature that may be at level 0 is not told to clients that take this for an error.
        assert features.get("group.version") == ((0, 1) if version >= 4 else None)
        assert response.finalized_features_epoch == served.image.end_offset


def test_api_versions_learns_the_clients_software(served):
    served.ask(API_VERSIONS, ApiVersionsRequest("apache-kafka-java", "4.0.0"))
    client = served.context.client
    assert (client.software_name, client.software_version) == ("apache-kafka-java", "4.0.0")


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "a_b", "ä"])
def test_software_with_a_name_that_cannot_be(served, name):
    for request in (ApiVersionsRequest(name, "1"), ApiVersionsRequest("a", name)):
        assert served.ask(API_VERSIONS, request).error_code == ErrorCode.INVALID_REQUEST
        assert served.context.client.software_name == "unknown"


# -- DescribeCluster ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(served, version):
    response = served.ask(DESCRIBE_CLUSTER, DescribeClusterRequest(), version)
    assert (response.error_code, response.cluster_id) == (0, served.broker.cluster_id)
    assert response.controller_id == 1
    assert [(b.broker_id, b.host, b.port) for b in response.brokers] == [(1, "broker.test", 9092)]
    assert response.cluster_authorized_operations == -(2**31)


def test_describe_cluster_with_operations(served):
    request = DescribeClusterRequest(include_cluster_authorized_operations=True)
    assert served.ask(DESCRIBE_CLUSTER, request).cluster_authorized_operations == 0x1FA0


@pytest.mark.parametrize(
    ("endpoint_type", "error"),
    [(2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_describe_cluster_of_others(served, endpoint_type, error):
    response = served.ask(DESCRIBE_CLUSTER, DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (response.error_code, response.brokers) == (error, [])


# -- DescribeTopicPartitions ----------------------------------------------------------------------------


def pages(stage, limit, names=()):
    """All pages from the first to the last, each as (topic, partition) pairs."""
    topics, cursor = [DescribeTopicPartitionsTopic(name) for name in names], None
    while True:
        request = DescribeTopicPartitionsRequest(topics, limit, cursor)
        response = stage.ask(DESCRIBE_TOPIC_PARTITIONS, request)
        yield [(t.name, p.partition_index) for t in response.topics for p in t.partitions]
        cursor = response.next_cursor
        if cursor is None:
            return


@pytest.mark.parametrize("limit", range(1, 9))
def test_pages_together_are_the_whole(served, limit):
    create(served, topic("b", 3), topic("a", 2), topic("c", 1))
    whole = [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]
    every = list(pages(served, limit))
    assert [pair for page in every for pair in page] == whole
    assert all(len(page) <= limit for page in every)
    assert len(every) == -(-len(whole) // limit)


def test_a_limit_of_nothing_is_a_limit_of_one(served):
    create(served, topic("a", 2))
    assert list(pages(served, 0)) == list(pages(served, -5)) == [[("a", 0)], [("a", 1)]]


def test_a_page_that_is_full_ends_before_a_topic_that_is_not_there(served):
    create(served, topic("a", 2))
    topics = [DescribeTopicPartitionsTopic(name) for name in ("a", "b")]
    response = served.ask(DESCRIBE_TOPIC_PARTITIONS, DescribeTopicPartitionsRequest(topics, 2))
    assert [t.name for t in response.topics] == ["a"]
    assert response.next_cursor.topic_name == "b"


def test_topics_that_are_not_there(served):
    create(served, topic("a", 1))
    topics = [DescribeTopicPartitionsTopic(name) for name in ("b", "a/", "a", "a")]
    response = served.ask(DESCRIBE_TOPIC_PARTITIONS, DescribeTopicPartitionsRequest(topics))
    assert [(t.name, t.error_code) for t in response.topics] == [
        ("a", 0),
        ("a/", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("b", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    described = response.topics[0]
    assert described.topic_id == served.image.topics_by_name["a"].topic_id
    assert described.topic_authorized_operations == 0xDF8
    assert (described.partitions[0].leader_id, described.partitions[0].leader_epoch) == (1, 0)


def test_a_cursor_between_topics(served):
    create(served, topic("a", 1), topic("c", 2))
    request = DescribeTopicPartitionsRequest([], 10, TopicPartitionCursor("b", 1))
    response = served.ask(DESCRIBE_TOPIC_PARTITIONS, request)
    assert [(t.name, len(t.partitions)) for t in response.topics] == [("c", 2)]


@pytest.mark.parametrize("cursor", [("a", -1), ("b", 0)])
def test_a_cursor_that_cannot_be(served, cursor):
    topics = [DescribeTopicPartitionsTopic("a")]
    request = DescribeTopicPartitionsRequest(topics, 10, TopicPartitionCursor(*cursor))
    response = served.ask(DESCRIBE_TOPIC_PARTITIONS, request)
    assert response.topics[0].error_code == ErrorCode.INVALID_REQUEST


# -- DescribeLogDirs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 6))
def test_describe_log_dirs(served, version):
    create(served, topic("a", 2), topic("b"))
    log = fill(served, "a", 1).log
    request = DescribeLogDirsRequest([DescribableLogDirTopic("a", [1]), DescribableLogDirTopic("x", [0])])
    [result] = served.ask(DESCRIBE_LOG_DIRS, request, version).results
    assert result.log_dir == str(served.path)
    [described] = result.topics
    assert [(p.partition_index, p.partition_size) for p in described.partitions] == [(1, log.size)]
    assert log.size > 0
    if version >= 4:
        assert 0 < result.usable_bytes <= result.total_bytes
    [result] = served.ask(DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(None), version).results
    assert {(t.name, len(t.partitions)) for t in result.topics} == {("a", 2), ("b", 1)}


def test_a_directory_whose_disk_has_failed(served):
    create(served, "a")
    served.broker.metadata_log.log.fail(OSError(5, "Input/output error"))
    [result] = served.ask(DESCRIBE_LOG_DIRS, DescribeLogDirsRequest(None)).results
    assert (result.error_code, result.topics) == (ErrorCode.KAFKA_STORAGE_ERROR, [])


# -- DeleteRecords --------------------------------------------------------------------------------------


def delete_records(stage, name, offset, index=0, version=2):
    request = DeleteRecordsRequest([DeleteRecordsTopic(name, [DeleteRecordsPartition(index, offset)])])
    [result] = stage.ask(DELETE_RECORDS, request, version).topics[0].partitions
    return ErrorCode(result.error_code), result.low_watermark


@pytest.mark.parametrize("version", range(3))
def test_delete_records(served, version):
    create(served, "a")
    log = fill(served, "a").log
    assert delete_records(served, "a", 3, version=version) == (ErrorCode.NONE, 3)
    assert log.log_start_offset == 3
    assert delete_records(served, "a", 1, version=version) == (ErrorCode.NONE, 3)
    assert delete_records(served, "a", -1, version=version) == (ErrorCode.NONE, 5)


@pytest.mark.parametrize("offset", [6, 2**62, -2, -(2**63)])
def test_offsets_that_cannot_be_deleted(served, offset):
    create(served, "a")
    fill(served, "a")
    assert delete_records(served, "a", offset) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_partitions_whose_records_cannot_be_deleted(served):
    create(served, "a", topic("table", cleanup_policy="compact"), "__consumer_offsets")
    assert delete_records(served, "a", 0, index=1) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete_records(served, "b", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete_records(served, "table", 0) == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete_records(served, "__consumer_offsets", 0) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


# -- quotas ---------------------------------------------------------------------------------------------


def alter_quota(stage, operation, version, validate_only=False):
    entity = [AlteredQuotaEntity("user", None)]
    request = AlterClientQuotasRequest([QuotaAlteration(entity, [operation])], validate_only)
    [result] = stage.ask(ALTER_CLIENT_QUOTAS, request, version).entries
    return result


@pytest.mark.parametrize("version", [0, 1])
def test_client_quotas(served, version):
    assert alter_quota(served, QuotaOperation("producer_byte_rate", 1024.0), version).error_code == 0
    bad = alter_quota(served, QuotaOperation("producer_byte_rate", -1.0), version)
    assert (bad.error_code, bad.entity[0].entity_name) == (ErrorCode.INVALID_REQUEST, None)
    request = DescribeClientQuotasRequest([QuotaFilterComponent("user", 1, None)], True)
    for again in (lambda: None, served.crash):
        again()
        response = served.ask(DESCRIBE_CLIENT_QUOTAS, request, version)
        [entry] = response.entries
        assert [(value.key, value.value) for value in entry.values] == [("producer_byte_rate", 1024.0)]
    request = DescribeClientQuotasRequest([QuotaFilterComponent("user", 9, None)])
    response = served.ask(DESCRIBE_CLIENT_QUOTAS, request, version)
    assert (response.error_code, response.entries) == (ErrorCode.INVALID_REQUEST, None)


# -- telemetry ------------------------------------------------------------------------------------------


def test_nobody_wants_a_clients_metrics(served):
    response = served.ask(GET_TELEMETRY, GetTelemetrySubscriptionsRequest())
    assert (response.error_code, response.requested_metrics, response.subscription_id) == (0, [], 0)
    mine = response.client_instance_id
    assert mine != bytes(16)
    assert served.ask(GET_TELEMETRY, GetTelemetrySubscriptionsRequest(mine)).client_instance_id == mine
    for instance, subscription, error in (
        (mine, 0, ErrorCode.NONE),
        (bytes(16), 0, ErrorCode.INVALID_REQUEST),
        (mine, 5, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
    ):
        assert served.ask(PUSH_TELEMETRY, PushTelemetryRequest(instance, subscription)).error_code == error
    large = PushTelemetryRequest(mine, 0, metrics=bytes(2**20 + 1))
    assert served.ask(PUSH_TELEMETRY, large).error_code == ErrorCode.TELEMETRY_TOO_LARGE


# -- credentials ----------------------------------------------------------------------------------------


def test_no_user_has_credentials(served):
    assert served.ask(50, DescribeUserScramCredentialsRequest(None)).results == []
    users = [DescribedUserName(name) for name in ("a", "b", "b")]
    response = served.ask(50, DescribeUserScramCredentialsRequest(users))
    assert response.error_code == 0
    assert [(result.user, result.error_code) for result in response.results] == [
        ("a", ErrorCode.RESOURCE_NOT_FOUND),
        ("b", ErrorCode.DUPLICATE_RESOURCE),
    ]
