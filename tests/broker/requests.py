"""Requests of administration, short to write."""

from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.k19_create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from distributedlog.wire.k32_describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from distributedlog.wire.k44_incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)

METADATA, API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS = 3, 18, 19, 20, 21
DESCRIBE_CONFIGS, ALTER_CONFIGS, DESCRIBE_LOG_DIRS, CREATE_PARTITIONS = 32, 33, 35, 37
INCREMENTAL_ALTER_CONFIGS, DESCRIBE_CLIENT_QUOTAS, ALTER_CLIENT_QUOTAS = 44, 48, 49
DESCRIBE_CLUSTER, GET_TELEMETRY, PUSH_TELEMETRY, DESCRIBE_TOPIC_PARTITIONS = 60, 71, 72, 75
TOPIC, BROKER, GROUP = 2, 4, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


def topic(name, partitions=1, replicas=-1, **configs):
    pairs = [CreatableTopicConfig(key.replace("_", "."), str(value)) for key, value in configs.items()]
    return CreatableTopic(name, partitions, replicas, configs=pairs)


def create(stage, *topics, version=None, validate_only=False):
    """The results of CreateTopics; a name alone is a topic with one partition."""
    wanted = [topic(each) if isinstance(each, str) else each for each in topics]
    request = CreateTopicsRequest(wanted, validate_only=validate_only)
    return stage.ask(CREATE_TOPICS, request, version).topics


def delete(stage, *names):
    request = DeleteTopicsRequest([DeleteTopicState(name) for name in names])
    return stage.ask(DELETE_TOPICS, request).responses


def metadata(stage, *names, version=None, auto_create=True, **options):
    """The whole response; without names it asks for all topics."""
    topics = [MetadataRequestTopic(name=name) for name in names] if names else None
    return stage.ask(METADATA, MetadataRequest(topics, auto_create, **options), version)


def alter(stage, name, *changes, kind=TOPIC, validate_only=False):
    """The result of IncrementalAlterConfigs for one resource; changes are (key, operation, value)."""
    configs = [IncrementalAlterableConfig(*change) for change in changes]
    request = IncrementalAlterConfigsRequest(
        [IncrementalAlterConfigsResource(kind, name, configs)], validate_only
    )
    [result] = stage.ask(INCREMENTAL_ALTER_CONFIGS, request).responses
    return result


def describe(stage, name, *keys, kind=TOPIC, version=None, synonyms=True, documentation=True):
    """The entries of one resource by name."""
    request = DescribeConfigsRequest(
        [DescribeConfigsResource(kind, name, list(keys) or None)], synonyms, documentation
    )
    [result] = stage.ask(DESCRIBE_CONFIGS, request, version).results
    assert result.error_code == 0, result.error_message
    return {entry.name: entry for entry in result.configs}
