"""The sticky assignor: even, and no more moves than that takes."""

from itertools import combinations
from random import Random

import pytest

from distributedlog.client.consumer.sticky_assignor import assign_sticky, without_moves
from distributedlog.client.consumer.subscriber import Subscriber
from distributedlog.client.metadata import TopicPartition


def place(topic, *indexes):
    return tuple(TopicPartition(topic, index) for index in indexes)


def member(name, topics="t", owned=(), generation=1):
    return Subscriber(name, frozenset(topics), owned=tuple(owned), generation=generation)


def with_what_was_assigned(members, assigned, generation=2):
    return [
        Subscriber(each.member_id, each.topics, owned=tuple(assigned[each.member_id]), generation=generation)
        for each in members
        if each.member_id in assigned
    ]


def check(members, counts, assigned):
    """All that can be read is read by one who wants it, and no single or chained move evens out anything."""
    everything = [TopicPartition(topic, index) for topic, count in counts.items() for index in range(count)]
    readable = [each for each in everything if any(each.topic in one.topics for one in members)]
    given = [each for partitions in assigned.values() for each in partitions]
    assert sorted(given) == sorted(readable)
    for one in members:
        assert {each.topic for each in assigned[one.member_id]} <= one.topics
    reach = {one.member_id: {one.member_id} for one in members}
    for _ in members:  # whom a partition of each can get to, from hand to hand
        for one in members:
            topics = {each.topic for other in reach[one.member_id] for each in assigned[other]}
            reach[one.member_id] |= {other.member_id for other in members if topics & other.topics}
    for one in members:
        for other in reach[one.member_id]:
            assert len(assigned[one.member_id]) - len(assigned[other]) <= 1, (one, other)


def test_the_first_time_all_get_the_same():
    members = [member(name) for name in "abc"]
    assigned = assign_sticky(members, {"t": 7})
    assert sorted(map(len, assigned.values())) == [2, 2, 3]
    check(members, {"t": 7}, assigned)


def test_who_stays_keeps_what_it_has_when_one_leaves():
    members = [member(name) for name in "abcd"]
    before = assign_sticky(members, {"t": 13})
    left = with_what_was_assigned(members[:3], before)
    after = assign_sticky(left, {"t": 13})
    for name in "abc":
        assert set(before[name]) <= set(after[name])
    check(left, {"t": 13}, after)


def test_who_joins_takes_only_its_share():
    members = [member(name) for name in "abc"]
    before = assign_sticky(members, {"t": 12})
    all_four = [*with_what_was_assigned(members, before), member("d", generation=-1)]
    after = assign_sticky(all_four, {"t": 12})
    assert sum(len(set(before[name]) - set(after[name])) for name in "abc") == 3
    check(all_four, {"t": 12}, after)


def test_nothing_moves_when_nothing_changes():
    members = [member(name, topics) for name, topics in (("a", "tu"), ("b", "t"), ("c", "uv"), ("d", "tuv"))]
    counts = {"t": 5, "u": 3, "v": 4}
    before = assign_sticky(members, counts)
    assert assign_sticky(with_what_was_assigned(members, before), counts) == before


def test_the_younger_claim_wins_and_equal_ones_cancel_each_other():
    members = [
        member("a", owned=place("t", 0, 1), generation=3),
        member("b", owned=place("t", 1, 2), generation=4),
        member("c", owned=place("t", 2), generation=4),
    ]
    assigned = assign_sticky(members, {"t": 3})
    assert assigned["a"] == list(place("t", 0))
    assert assigned["b"] == list(place("t", 1))
    assert assigned["c"] == list(place("t", 2))


def test_what_is_gone_or_not_wanted_any_more_is_given_up():
    members = [member("a", "t", owned=(*place("t", 0, 5), *place("u", 0))), member("b", "u")]
    assert assign_sticky(members, {"t": 2, "u": 1}) == {"a": list(place("t", 0, 1)), "b": list(place("u", 0))}
    assert assign_sticky([], {"t": 2}) == {}


def test_partitions_move_along_chains():
    """b can give to a only what a reads, and c to b: two steps, where no single one evens out anything."""
    members = [
        member("a", "t", owned=place("t", 0)),
        member("b", "tu", owned=place("u", 0, 1)),
        member("c", "uv", owned=(*place("u", 2), *place("v", 0, 1))),
    ]
    members[1] = member("b", "tu", owned=(*place("t", 1), *place("u", 0)))
    counts = {"t": 2, "u": 2, "v": 2}
    members[2] = member("c", "uv", owned=(*place("u", 1), *place("v", 0, 1)))
    assigned = assign_sticky(members, counts)
    assert sorted(map(len, assigned.values())) == [2, 2, 2]
    check(members, counts, assigned)


@pytest.mark.parametrize("seed", range(40))
def test_groups_in_which_anything_happens(seed):
    chance = Random(seed)
    is_uniform = seed % 2 == 0
    counts = {topic: chance.randrange(1, 8) for topic in "tuvw"}

    def newcomer(number):
        topics = "tuvw" if is_uniform else chance.sample("tuvw", chance.randrange(1, 5))
        return member(f"m{number}", topics, generation=-1)

    members = [newcomer(number) for number in range(chance.randrange(1, 6))]
    for generation in range(12):
        assigned = assign_sticky(members, counts)
        check(members, counts, assigned)
        members = with_what_was_assigned(members, assigned, generation)
        event = chance.randrange(3)
        if event == 0:
            members.append(newcomer(100 + generation))
        elif event == 1 and len(members) > 1:
            members.remove(chance.choice(members))
        else:
            topic = chance.choice("tuvw")
            counts[topic] = chance.randrange(0, 9)


def test_cooperative_members_get_only_what_nobody_reads():
    members = [member("a", owned=place("t", 0, 1, 2, 3)), member("b", generation=-1)]
    wanted = assign_sticky(members, {"t": 4})
    first = without_moves(members, wanted)
    assert len(first["a"]) == 2
    assert first["b"] == []
    again = [member("a", owned=first["a"], generation=2), member("b", generation=2)]
    second = without_moves(again, assign_sticky(again, {"t": 4}))
    assert second["a"] == first["a"]
    assert len(second["b"]) == 2
    for one, other in combinations(second.values(), 2):
        assert not set(one) & set(other)
