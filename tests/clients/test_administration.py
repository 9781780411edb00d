"""Topics and their settings by the administration of three libraries."""

import contextlib

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from tests.clients import confluent_client
from tests.clients.administrators import ADMINISTRATORS
from tests.clients.face import DEADLINE_SECONDS, Record


@pytest.fixture(params=ADMINISTRATORS)
def admin(request, bootstrap):
    with contextlib.closing(ADMINISTRATORS[request.param](bootstrap)) as made:
        yield made


def test_the_life_of_a_topic(admin, bootstrap, topic):
    admin.make(topic, 2, {"retention.ms": "3600000"})
    assert admin.partitions(topic) == 2
    confluent_client.produce(bootstrap, topic, [Record(b"v")], partition=1)
    admin.grow(topic, 3)
    assert admin.partitions(topic) == 3
    assert confluent_client.produce(bootstrap, topic, [Record(b"v")], partition=2) == [0]
    admin.delete(topic)
    assert admin.partitions(topic) is None


def test_settings_tell_where_their_value_comes_from(admin, topic):
    admin.make(topic, 1, {"retention.ms": "3600000"})
    assert admin.setting(topic, "retention.ms") == ("3600000", False)
    assert admin.setting(topic, "max.message.bytes") == ("1048588", True)
    admin.change(topic, "max.message.bytes", "2000000")
    assert admin.setting(topic, "max.message.bytes") == ("2000000", False)


def test_offsets_and_deleted_records_by_confluent_kafka(bootstrap, topic):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    confluent_client.produce(bootstrap, topic, [Record(b"%d" % number) for number in range(10)])
    place = TopicPartition(topic, 0)

    def offset(spec):
        return admin.list_offsets({place: spec})[place].result(DEADLINE_SECONDS).offset

    assert (offset(OffsetSpec.earliest()), offset(OffsetSpec.latest())) == (0, 10)
    assert offset(OffsetSpec.max_timestamp()) in range(10)
    deleted = admin.delete_records([TopicPartition(topic, 0, 6)])[place].result(DEADLINE_SECONDS)
    assert deleted.low_watermark == 6
    assert offset(OffsetSpec.earliest()) == 6
