"""What administrators can do, on any cluster: `servers` is a fixture of the module that imports this."""

import asyncio

import pytest
from tests.client.scenarios.reading import create_topic, records_of

from distributedlog import Admin, AsyncAdmin, Producer, TopicPartition
from distributedlog.client.admin import errors
from distributedlog.client.admin.acls import Acl, AclFilter, AclOperation, AclResource
from distributedlog.client.configs import ConfigSource
from distributedlog.client.errors import ClientClosed, InvalidOption, ProducerFenced, UnsupportedByBroker

PATIENCE = 60


@pytest.fixture
def admin(servers):
    with Admin(servers, retry_backoff_ms=5) as admin:
        yield admin


def test_topics_come_grow_and_go(admin, topic):
    made = admin.create_topic(topic, partitions=2, configs={"retention.ms": "5000"})
    assert (made.name, made.partitions, made.replication_factor) == (topic, 2, 1)
    with pytest.raises(errors.TopicExists, match="Choose another name"):
        admin.create_topic(topic)
    assert topic in [each.name for each in admin.list_topics()]
    described = admin.describe_topic(topic)
    assert (described.topic_id, len(described.partitions)) == (made.topic_id, 2)
    assert all(partition.replicas == partition.isr for partition in described.partitions)
    admin.create_partitions(topic, 4)
    with pytest.raises(errors.InvalidPartitions, match="Ask for more"):
        admin.create_partitions(topic, 3)
    admin.delete_topic(topic)
    with pytest.raises(errors.TopicNotFound):
        admin.delete_topic(topic)


def test_a_dry_run_changes_nothing(admin, topic):
    admin.create_topic(topic, validate_only=True)
    with pytest.raises(errors.TopicNotFound, match="`list_topics` tells"):
        admin.describe_topic(topic)
    with pytest.raises(errors.InvalidTopicName, match="at most 249"):
        admin.create_topic("a/b", validate_only=True)
    with pytest.raises(errors.InvalidReplicas):
        admin.create_topic(topic, replication_factor=7)


def test_configurations(admin, topic):
    admin.create_topic(topic)
    before = admin.describe_config("topic", topic)
    assert before["retention.ms"].is_default
    admin.alter_config("topic", topic, {"retention.ms": "1234567", "cleanup.policy": "compact"})
    admin.alter_config("topic", topic, append={"cleanup.policy": "delete"})
    after = admin.describe_config("topic", topic, keys=["retention.ms", "cleanup.policy"])
    assert {name: entry.value for name, entry in after.items()} == {
        "cleanup.policy": "compact,delete",
        "retention.ms": "1234567",
    }
    assert after["retention.ms"].source is ConfigSource.DYNAMIC_TOPIC_CONFIG
    admin.alter_config("topic", topic, {"retention.ms": None}, subtract={"cleanup.policy": "compact"})
    assert admin.describe_config("topic", topic)["retention.ms"] == before["retention.ms"]
    with pytest.raises(errors.InvalidConfig):
        admin.alter_config("topic", topic, {"retention.ms": "soon"})
    with pytest.raises(InvalidOption, match="'table' has no configuration; there are topic"):
        admin.describe_config("table", topic)
    [broker] = admin.describe_cluster().brokers
    assert "log.retention.hours" in admin.describe_config("broker", str(broker.node_id))


def test_offsets_and_the_deletion_of_records(admin, servers, topic):
    create_topic(servers, topic)
    place = TopicPartition(topic, 0)
    with Producer(servers) as producer:
        for number in range(5):
            producer.send(topic, b"%d" % number, timestamp=1000 + number).result(PATIENCE)
    assert admin.list_offsets({place: "latest"})[place].offset == 5
    assert admin.list_offsets({place: 1003})[place].offset == 3
    assert admin.list_offsets({place: "max_timestamp"})[place].timestamp == 1004
    assert admin.delete_records({place: 2}) == {place: 2}
    assert admin.list_offsets({place: "earliest"})[place].offset == 2
    assert [record.value for record in records_of(servers, topic)] == [b"2", b"3", b"4"]
    with pytest.raises(errors.OffsetNotThere):
        admin.delete_records({place: 100})
    assert admin.delete_records({place: -1}) == {place: 5}
    with pytest.raises(InvalidOption, match="'soon' is no moment"):
        admin.list_offsets({place: "soon"})


def test_groups_and_what_they_have_committed(admin, topic):
    admin.create_topic(topic, partitions=2)
    with pytest.raises(errors.GroupNotFound, match="`list_groups` tells"):
        admin.describe_group(topic)
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    admin.alter_offsets(topic, {first: 3, second: 4})
    assert {place: each.offset for place, each in admin.committed_offsets(topic).items()} == {
        first: 3,
        second: 4,
    }
    assert admin.describe_group(topic).state == "Empty"
    assert topic in [each.group_id for each in admin.list_groups(states=["Empty"])]
    admin.delete_offsets(topic, [first])
    assert set(admin.committed_offsets(topic)) == {second}
    admin.delete_group(topic)
    with pytest.raises(errors.GroupNotFound):
        admin.delete_group(topic)


def test_transactions_are_seen_and_ended(admin, servers, topic):
    create_topic(servers, topic)
    place = TopicPartition(topic, 0)
    with pytest.raises(errors.TransactionNotFound):
        admin.describe_transaction(topic)
    with (
        Producer(servers, transactional_id=topic) as producer,
        pytest.raises(ProducerFenced),
        producer.transaction(),
    ):
        producer.send(topic, b"never seen").result(PATIENCE)
        described = admin.describe_transaction(topic)
        assert (described.state, described.partitions) == ("Ongoing", (place,))
        assert [each.transactional_id for each in admin.list_transactions(states=["Ongoing"])] == [topic]
        [writer] = admin.describe_producers([place])[place]
        assert (writer.producer_id, writer.start_offset) == (described.producer_id, 0)
        assert admin.find_hanging_transactions([place], age_min_ms=0) == []
        assert admin.abort_transaction(topic).state == "Ongoing"
        with pytest.raises(errors.NoOpenTransaction):
            admin.abort_transaction(topic)
    assert records_of(servers, topic, is_committed=True) == []


def test_quotas(admin, topic):
    admin.alter_quota({"user": topic}, {"producer_byte_rate": 1e6, "consumer_byte_rate": 2e6})
    admin.alter_quota({"user": topic}, {"consumer_byte_rate": None})
    [quota] = admin.describe_quotas({"user": topic})
    assert (quota.entity, quota.values) == ({"user": topic}, {"producer_byte_rate": 1e6})
    assert quota in admin.describe_quotas({"user": "*"})
    admin.alter_quota({"user": topic}, {"producer_byte_rate": None})
    assert admin.describe_quotas({"user": topic}) == []


def test_the_cluster_and_its_disks(admin, topic):
    admin.create_topic(topic)
    described = admin.describe_cluster()
    assert described.cluster_id
    [node] = described.brokers
    assert described.controller_id == node.node_id
    sizes = {place: each for found in admin.describe_log_dirs() for place, each in found.replicas.items()}
    assert sizes[TopicPartition(topic, 0)].size_bytes >= 0
    assert {found.broker_id for found in admin.describe_log_dirs([node.node_id])} == {node.node_id}


def what_not_every_cluster_has(call, *arguments, **options):
    """The result, or None where the cluster says that it does not have this."""
    try:
        return call(*arguments, **options)
    except (UnsupportedByBroker, errors.SecurityDisabled):
        return None


def test_users_with_passwords(admin, topic):
    if what_not_every_cluster_has(admin.describe_scram_users) is None:
        return
    with pytest.raises(InvalidOption, match="there is no SCRAM mechanism"):
        admin.set_scram_password(topic, "secret", mechanism="PLAIN")
    try:
        admin.set_scram_password(topic, "secret")
    except UnsupportedByBroker:
        return
    assert [user.name for user in admin.describe_scram_users([topic])] == [topic]
    assert admin.describe_scram_users([topic])[0].iterations == {"SCRAM-SHA-512": 4096}
    with pytest.raises(errors.UnacceptableCredential):
        admin.set_scram_password(topic, "secret", iterations=5)
    admin.delete_scram_user(topic)
    assert admin.describe_scram_users([topic]) == []
    with pytest.raises(errors.UserNotFound):
        admin.delete_scram_user(topic)


def test_access_rules(admin, topic):
    rule = Acl(AclResource.TOPIC, topic, "User:ann", AclOperation.READ)
    if what_not_every_cluster_has(admin.describe_acls) is None:
        return
    admin.create_acls([rule])
    only_this = AclFilter(AclResource.TOPIC, topic)

    def are_there(expected):
        return admin.describe_acls(only_this) == expected

    until(lambda: are_there([rule]))
    assert admin.delete_acls([only_this]) == [rule]
    until(lambda: are_there([]))


def test_leaders_and_moves(admin, topic):
    admin.create_topic(topic)
    place = TopicPartition(topic, 0)
    if what_not_every_cluster_has(admin.elect_leaders, [place]) is None:
        return
    assert admin.elect_leaders([place]) == [], "it has the right one"
    assert admin.list_reassignments() == []
    with pytest.raises(errors.NotMoving):
        admin.reassign_partitions({place: None})
    with pytest.raises(errors.InvalidReplicas):
        admin.reassign_partitions({place: [77]})
    assert admin.describe_quorum().leader_id >= 0


def test_the_async_administrator_and_closing(servers, topic):
    async def main():
        async with AsyncAdmin(servers) as admin:
            await admin.create_topic(topic)
            described = await asyncio.gather(*(admin.describe_topic(topic) for _ in range(5)))
            assert len(described) == 5
        with pytest.raises(ClientClosed):
            await admin.list_topics()

    asyncio.run(main())
    admin = Admin(servers)
    admin.close()
    admin.close()
    with pytest.raises(ClientClosed):
        admin.list_topics()


def until(condition):
    """Asks again until it holds: the cluster tells its brokers what it has decided a little later."""

    async def ask():
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(condition):
                pass

    asyncio.run(ask())
