import pytest
from tests.broker.broker_stage import BrokerStage
from tests.broker.requests import METADATA, create, metadata, topic

from distributedlog.wire import ErrorCode
from distributedlog.wire.k03_metadata import MetadataRequest, MetadataRequestTopic
from distributedlog.wire.schema import ZERO_UUID

NOT_ASKED_FOR = -(2**31)


def codes(response):
    return {answer.name: answer.error_code for answer in response.topics}


def by_id(stage, *topic_ids, version=13, name=None):
    topics = [MetadataRequestTopic(topic_id, name) for topic_id in topic_ids]
    return stage.ask(METADATA, MetadataRequest(topics), version)


@pytest.mark.parametrize("version", range(14))
def test_every_version_names_the_broker_and_the_leaders(served, version):
    create(served, topic("orders", 2))
    response = metadata(served, "orders", version=version)
    [broker] = response.brokers
    assert (broker.node_id, broker.host, broker.port, broker.rack) == (1, "broker.test", 9092, None)
    assert response.controller_id == (1 if version >= 1 else -1)
    assert response.cluster_id == (served.broker.cluster_id if version >= 2 else None)
    [answer] = response.topics
    assert (answer.error_code, answer.name, answer.is_internal) == (0, "orders", False)
    assert [(p.partition_index, p.leader_id, p.error_code) for p in answer.partitions] == [
        (0, 1, 0),
        (1, 1, 0),
    ]
    assert {(*p.replica_nodes, *p.isr_nodes) for p in answer.partitions} == {(1, 1)}
    assert {p.leader_epoch for p in answer.partitions} == {0 if version >= 7 else -1}
    known = served.image.topics_by_name["orders"].topic_id
    assert answer.topic_id == (known if version >= 10 else ZERO_UUID)


@pytest.mark.parametrize("version", range(1, 14))
def test_null_asks_for_all_topics_and_an_empty_list_for_none(served, version):
    create(served, "a", "b")
    assert set(codes(metadata(served, version=version))) == {"a", "b"}
    assert served.ask(METADATA, MetadataRequest([]), version).topics == []


def test_in_version_0_an_empty_list_asks_for_all_topics(served):
    create(served, "a", "b")
    assert set(codes(served.ask(METADATA, MetadataRequest([]), 0))) == {"a", "b"}


def test_metadata_creates_topics_when_client_and_broker_allow_it(served):
    response = metadata(served, "orders", "orders", "more")
    assert codes(response) == {"orders": 0, "more": 0}
    assert len(response.topics) == 2
    assert [len(answer.partitions) for answer in response.topics] == [1, 1]
    assert served.broker.partitions.get("orders", 0) is not None


@pytest.mark.parametrize("version", [4, 9, 13])
def test_metadata_creates_nothing_when_the_client_does_not_want_it(served, version):
    response = metadata(served, "orders", version=version, auto_create=False)
    assert codes(response) == {"orders": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert served.image.topics_by_name == {}


def test_before_version_4_clients_cannot_say_that_they_do_not_want_it(served):
    assert codes(metadata(served, "orders", version=3)) == {"orders": 0}


def test_metadata_creates_nothing_when_the_broker_does_not_allow_it(tmp_path):
    stage = BrokerStage(tmp_path / "data", configs={"auto.create.topics.enable": "false"})
    assert codes(metadata(stage, "orders")) == {"orders": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert stage.image.topics_by_name == {}
    stage.close()


@pytest.mark.parametrize("name", ["a/b", "", ".", "..", "a" * 250, "ä", "a b"])
def test_bad_names_give_invalid_topic_exception_and_create_nothing(served, name):
    for auto_create in (True, False):
        response = metadata(served, name, "good", auto_create=auto_create)
        assert codes(response)[name] == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert list(served.image.topics_by_name) == ["good"]


def test_a_colliding_name_creates_nothing(served):
    create(served, "a.b")
    assert codes(metadata(served, "a_b")) == {"a_b": ErrorCode.INVALID_TOPIC_EXCEPTION}


def test_auto_creation_takes_the_brokers_defaults(tmp_path):
    stage = BrokerStage(tmp_path / "data", configs={"num.partitions": "4", "log.retention.ms": "9"})
    assert len(metadata(stage, "orders").topics[0].partitions) == 4
    assert stage.broker.partitions.get("orders", 3).log.config.retention_ms == 9
    stage.close()


def test_internal_topics_are_internal_and_made_as_the_coordinator_needs_them(served):
    [answer] = metadata(served, "__consumer_offsets").topics
    assert answer.is_internal
    assert len(answer.partitions) == 50
    assert served.broker.partitions.get("__consumer_offsets", 0).log.config.compact


def test_topics_by_id(served):
    create(served, "orders")
    topic_id = served.image.topics_by_name["orders"].topic_id
    response = by_id(served, topic_id, b"\1" * 16)
    assert [(a.error_code, a.name, a.topic_id) for a in response.topics] == [
        (0, "orders", topic_id),
        (ErrorCode.UNKNOWN_TOPIC_ID, None, b"\1" * 16),
    ]


@pytest.mark.parametrize("version", [10, 11])
def test_versions_that_carry_topic_ids_and_do_not_obey_them(served, version):
    create(served, "orders")
    topic_id = served.image.topics_by_name["orders"].topic_id
    assert by_id(served, topic_id, version=version, name="orders").topics[0].error_code == 42
    response = by_id(served, ZERO_UUID, version=version, name=None)
    assert response.topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_neither_name_nor_id(served):
    assert by_id(served, ZERO_UUID).topics[0].error_code == ErrorCode.INVALID_REQUEST


def test_authorized_operations_where_asked_for(served):
    create(served, "orders")
    asked = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    for version in (8, 10):
        response = metadata(served, "orders", version=version, **asked)
        assert response.cluster_authorized_operations == 0x1FA0
        assert response.topics[0].topic_authorized_operations == 0xDF8
    response = metadata(served, "orders", version=8)
    assert response.cluster_authorized_operations == NOT_ASKED_FOR
    assert response.topics[0].topic_authorized_operations == NOT_ASKED_FOR
    response = metadata(served, "orders", version=13, include_topic_authorized_operations=True)
    assert response.topics[0].topic_authorized_operations == 0xDF8
    assert response.cluster_authorized_operations == NOT_ASKED_FOR


def test_a_partition_whose_log_does_not_open_has_no_leader(served):
    create(served, topic("orders", 2))
    served.close()
    (served.path / "orders-1" / "partition.metadata").write_bytes(b"version: 0\ntopic_id: nonsense\n")
    served.start()
    [answer] = metadata(served, "orders").topics
    assert [(p.leader_id, p.error_code, p.offline_replicas) for p in answer.partitions] == [
        (1, 0, []),
        (-1, ErrorCode.LEADER_NOT_AVAILABLE, [1]),
    ]


def test_two_clients_that_want_one_new_topic(served):
    request = MetadataRequest([MetadataRequestTopic(name="orders")])
    waiting = [served.send(METADATA, request) for _ in range(3)]
    served.scheduler.run()
    assert [codes(one.responses[0]) for one in waiting] == [{"orders": 0}] * 3


def test_a_client_is_told_the_listener_by_which_it_came(served):
    served.broker.advertised = [("INSIDE", "10.0.0.1", 1), ("OUTSIDE", "example.org", 2)]
    assert served.broker.advertised_to(None)[1] == "10.0.0.1"
