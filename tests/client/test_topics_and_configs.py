"""Administration, against the embedded broker."""

import pytest

from distributedlog.client import BrokerError
from distributedlog.client.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigSource,
    ResourceType,
    alter_config,
    describe_config,
)
from distributedlog.client.topics import create_partitions, create_topic, delete_topic


def test_a_topic_from_its_creation_to_its_deletion(run_with_client, topic):
    async def work(client):
        created = await create_topic(client, topic, partitions=2, configs={"retention.ms": "1000"})
        assert (created.num_partitions, created.replication_factor) == (2, 1)
        (found,) = await client.topics([topic])
        assert (found.topic_id, len(found.partitions)) == (created.topic_id, 2)
        await create_partitions(client, topic, 5)
        (found,) = await client.topics([topic])
        assert len(found.partitions) == 5
        assert topic in [each.name for each in await client.all_topics()]
        await delete_topic(client, topic)
        with pytest.raises(BrokerError, match="there is no topic of this name"):
            await client.topics([topic])

    run_with_client(work)


@pytest.mark.parametrize(
    ("error", "arguments"),
    [
        ("INVALID_TOPIC_EXCEPTION", {"name": "a/b"}),
        ("INVALID_REPLICATION_FACTOR", {"replication_factor": 3}),
        ("INVALID_CONFIG", {"configs": {"retention.mss": "1"}}),
    ],
)
def test_what_the_broker_refuses_is_raised_under_kafkas_name(run_with_client, topic, error, arguments):
    async def work(client):
        with pytest.raises(BrokerError, match=error):
            await create_topic(client, arguments.pop("name", topic), **arguments)

    run_with_client(work)


def test_validation_alone_creates_nothing(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, validate_only=True)
        assert topic not in [each.name for each in await client.all_topics()]

    run_with_client(work)


def test_a_configuration_is_changed_entry_by_entry(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic, configs={"retention.ms": "1000", "segment.ms": "500"})

        async def change(name, operation, value=None):
            await alter_config(client, ResourceType.TOPIC, topic, [ConfigChange(name, operation, value)])

        await change("cleanup.policy", ConfigOperation.APPEND, "compact")
        await change("retention.ms", ConfigOperation.DELETE)
        entries = {entry.name: entry for entry in await describe_config(client, ResourceType.TOPIC, topic)}
        assert list(entries) == sorted(entries)
        assert entries["cleanup.policy"].value == "delete,compact"
        assert entries["segment.ms"].value == "500"
        assert entries["segment.ms"].config_source == ConfigSource.DYNAMIC_TOPIC_CONFIG
        assert entries["retention.ms"].config_source == ConfigSource.DEFAULT_CONFIG
        (only,) = await describe_config(client, ResourceType.TOPIC, topic, keys=["segment.ms"])
        assert only.name == "segment.ms"

    run_with_client(work)


def test_a_bad_change_changes_nothing(run_with_client, topic):
    async def work(client):
        await create_topic(client, topic)
        good = ConfigChange("segment.ms", ConfigOperation.SET, "500")
        bad = ConfigChange("retention.ms", ConfigOperation.SET, "soon")
        with pytest.raises(BrokerError, match="INVALID_CONFIG"):
            await alter_config(client, ResourceType.TOPIC, topic, [good, bad])
        (entry,) = await describe_config(client, ResourceType.TOPIC, topic, keys=["segment.ms"])
        assert entry.config_source == ConfigSource.DEFAULT_CONFIG

    run_with_client(work)


def test_a_brokers_own_configuration(run_with_client):
    async def work(client):
        node = str(next(iter(client.metadata.brokers)))
        entries = {entry.name for entry in await describe_config(client, ResourceType.BROKER, node)}
        assert "log.retention.hours" in entries

    run_with_client(work)
