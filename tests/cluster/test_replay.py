"""Records to images: nothing of an old image changes, and the snapshot of an image makes it again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cluster.support import decided, image_with, rules, wanted

from distributedlog.cluster.changes import topic_changes
from distributedlog.cluster.create_topics import create_partitions, create_topics
from distributedlog.cluster.delete_topics import delete_topics
from distributedlog.cluster.image import EMPTY_IMAGE
from distributedlog.cluster.replay import MetadataError, replay
from distributedlog.cluster.snapshot import image_records
from distributedlog.wire.k19_create_topics import CreateTopicsRequest
from distributedlog.wire.k20_delete_topics import DeleteTopicState
from distributedlog.wire.k37_create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from distributedlog.wire.values.metadata_records import (
    BrokerEndpoint,
    ClientQuotaEntity,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
    UnregisterBrokerRecord,
    decode_metadata_record,
    encode_metadata_record,
)

NAMES = ("a", "b", "c.d", "e")
name = st.sampled_from(NAMES)
value = st.sampled_from(("1", "2", "x"))
decision = st.one_of(
    st.builds(
        lambda name, count, configs: (
            lambda image: create_topics(
                image, CreateTopicsRequest([wanted(name, count, 1, **configs)]), rules()
            )
        ),
        name,
        st.integers(1, 3),
        st.dictionaries(st.sampled_from(("p", "q")), value, max_size=2),
    ),
    st.builds(lambda name: lambda image: delete_topics(image, [DeleteTopicState(name)]), name),
    st.builds(
        lambda name, count: (
            lambda image: create_partitions(
                image, CreatePartitionsRequest([CreatePartitionsTopic(name, count, None)]), [1]
            )
        ),
        name,
        st.integers(1, 6),
    ),
    st.builds(
        lambda kind, name, key, value: lambda image: (None, [ConfigRecord(kind, name, key, value)]),
        st.sampled_from((2, 4, 32)),
        name,
        st.sampled_from(("p", "q")),
        st.none() | value,
    ),
    st.builds(
        lambda parts, remove: (
            lambda image: (
                None,
                [ClientQuotaRecord([ClientQuotaEntity(*part) for part in parts], "rate", 5.0, remove)],
            )
        ),
        st.sampled_from(((("user", "u"),), (("user", None), ("client-id", "c")), (("client-id", None),))),
        st.booleans(),
    ),
    st.builds(lambda level: lambda image: (None, [FeatureLevelRecord("f", level)]), st.integers(0, 2)),
    st.builds(
        lambda count: lambda image: (None, [ProducerIdsRecord(1, -1, image.next_producer_id + count)]),
        st.integers(1, 9),
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(decision, max_size=15))
def test_a_snapshot_makes_the_same_image_and_old_images_do_not_change(decisions):
    images, kept = [EMPTY_IMAGE], [repr(EMPTY_IMAGE)]
    every = []
    for decide in decisions:
        answer, records = decide(images[-1])
        every += [decode_metadata_record(encode_metadata_record(record)) for record in records]
        image, _ = decided(images[-1], (answer, records))
        for topic in image.topics_by_name.values():
            assert image.topics_by_id[topic.topic_id] is topic
            assert [p.index for p in topic.partitions] == list(range(len(topic.partitions)))
            assert topic.configs == image.configs_of(2, topic.name)
        assert len(image.topics_by_id) == len(image.topics_by_name)
        images.append(image)
        kept.append(repr(image))
    assert [repr(image) for image in images] == kept
    last = images[-1]
    assert replay(EMPTY_IMAGE, every, last.end_offset) == last
    through_codec = [decode_metadata_record(encode_metadata_record(record)) for record in image_records(last)]
    assert replay(EMPTY_IMAGE, through_codec, last.end_offset) == last


@settings(max_examples=100, deadline=None)
@given(st.lists(decision, max_size=8), st.lists(decision, max_size=8))
def test_what_changed_between_two_images_leads_from_one_to_the_other(first, second):
    old = EMPTY_IMAGE
    for decide in first:
        old, _ = decided(old, decide(old))
    new = old
    for decide in second:
        new, _ = decided(new, decide(new))
    changes = topic_changes(old, new)
    partitions = {(topic.topic_id, p.index) for topic in old.topics_by_id.values() for p in topic.partitions}
    gone = {topic.topic_id for topic in changes.gone}
    partitions = {key for key in partitions if key[0] not in gone}
    added = [(topic.topic_id, partition.index) for topic, partition in changes.new_partitions]
    assert partitions.isdisjoint(added)
    assert partitions | set(added) == {
        (topic.topic_id, p.index) for topic in new.topics_by_id.values() for p in topic.partitions
    }
    for topic_id in old.topics_by_id.keys() & new.topics_by_id.keys():
        changed = old.topics_by_id[topic_id].configs != new.topics_by_id[topic_id].configs
        assert changed == (topic_id in {topic.topic_id for topic in changes.reconfigured})


def test_brokers_come_and_go():
    record = RegisterBrokerRecord(
        3, incarnation_id=b"i" * 16, broker_epoch=7, end_points=[BrokerEndpoint("P", "h", 9)], fenced=False
    )
    image = replay(EMPTY_IMAGE, [record], 1)
    assert image.brokers[3].endpoints[0].host == "h"
    assert replay(EMPTY_IMAGE, image_records(image), 1) == image
    assert replay(image, [UnregisterBrokerRecord(3, 7)], 2).brokers == {}


def test_a_partition_changes_its_leader_and_its_epochs():
    before = image_with(wanted("a", 2))
    topic_id = before.topics_by_name["a"].topic_id
    image = replay(before, [PartitionChangeRecord(1, topic_id, isr=[1], leader=-1)], 9)
    partition = image.topics_by_name["a"].partitions[1]
    assert (partition.leader, partition.leader_epoch, partition.partition_epoch) == (-1, 1, 1)
    image = replay(image, [PartitionChangeRecord(1, topic_id, isr=[])], 10)
    partition = image.topics_by_name["a"].partitions[1]
    assert (partition.leader_epoch, partition.partition_epoch, partition.isr) == (1, 2, ())


@pytest.mark.parametrize(
    "records",
    [
        [RemoveTopicRecord(b"x" * 16)],
        [PartitionRecord(0, b"x" * 16)],
        [PartitionChangeRecord(0, b"x" * 16)],
        [TopicRecord("a", b"x" * 16), TopicRecord("a", b"y" * 16)],
        [TopicRecord("a", b"x" * 16), PartitionRecord(1, b"x" * 16, [1], [1], leader=1)],
        [TopicRecord("a", b"x" * 16), PartitionChangeRecord(0, b"x" * 16)],
        [TopicRecord("a", b"x" * 16), RemoveTopicRecord(b"x" * 16), RemoveTopicRecord(b"x" * 16)],
    ],
)
def test_records_that_contradict_each_other(records):
    with pytest.raises(MetadataError):
        replay(EMPTY_IMAGE, records, len(records))
