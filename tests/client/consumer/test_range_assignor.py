"""The range assignor, by example and by what must always hold."""

from hypothesis import given
from hypothesis import strategies as st

from distributedlog.client import TopicPartition
from distributedlog.client.consumer.subscriber import Subscriber
from distributedlog.client.range_assignor import assign_ranges


def indexes(assigned, topic):
    return {
        member: [p.partition for p in partitions if p.topic == topic]
        for member, partitions in assigned.items()
    }


def test_the_first_members_get_one_more_where_it_does_not_divide():
    members = [Subscriber(name, frozenset({"t"})) for name in ("c", "a", "b")]
    assert indexes(assign_ranges(members, {"t": 7}), "t") == {"a": [0, 1, 2], "b": [3, 4], "c": [5, 6]}


def test_each_topic_is_cut_for_those_who_read_it():
    members = [Subscriber("a", frozenset({"t"})), Subscriber("b", frozenset({"t", "u"}))]
    assigned = assign_ranges(members, {"t": 2, "u": 3})
    assert indexes(assigned, "t") == {"a": [0], "b": [1]}
    assert indexes(assigned, "u") == {"a": [], "b": [0, 1, 2]}


def test_static_members_come_first_and_keep_their_place_whatever_their_member_id_is():
    for ids in (("x", "y"), ("y", "x")):
        members = [
            Subscriber(ids[0], frozenset({"t"}), "instance-1"),
            Subscriber(ids[1], frozenset({"t"}), "instance-2"),
            Subscriber("a", frozenset({"t"})),
        ]
        assert indexes(assign_ranges(members, {"t": 3}), "t") == {ids[0]: [0], ids[1]: [1], "a": [2]}


def test_a_topic_that_does_not_exist_is_left_out():
    assert assign_ranges([Subscriber("a", frozenset({"gone"}))], {}) == {"a": []}


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.frozensets(st.sampled_from("tuv")), min_size=1),
    st.dictionaries(st.sampled_from("tuv"), st.integers(0, 20)),
)
def test_every_partition_has_one_reader_and_shares_differ_by_at_most_one(members, counts):
    subscribers = [Subscriber(member, topics) for member, topics in members.items()]
    assigned = assign_ranges(subscribers, counts)
    given_out = [partition for partitions in assigned.values() for partition in partitions]
    assert len(given_out) == len(set(given_out))
    for topic, count in counts.items():
        readers = [member for member, topics in members.items() if topic in topics]
        expected = {TopicPartition(topic, index) for index in range(count)} if readers else set()
        assert {partition for partition in given_out if partition.topic == topic} == expected
        shares = [len(indexes(assigned, topic)[reader]) for reader in readers]
        assert not shares or max(shares) - min(shares) <= 1
