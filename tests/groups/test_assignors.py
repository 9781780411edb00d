import random

import pytest

from distributedlog.groups.assignment import GroupSpec, MemberSpec
from distributedlog.groups.assignor_range import assign_range
from distributedlog.groups.assignor_uniform import assign_uniform

A, B, C = (bytes([number]) * 16 for number in (1, 2, 3))


def spec(partitions, members, assigned=None) -> GroupSpec:
    return GroupSpec(
        {
            name: MemberSpec(
                frozenset(topics), {t: frozenset(p) for t, p in (assigned or {}).get(name, {}).items()}
            )
            for name, topics in members.items()
        },
        partitions,
    )


def plain(result):
    return {name: {t: sorted(p) for t, p in given.items()} for name, given in result.items()}


def owned(result):
    return {name: {(t, p) for t, ps in given.items() for p in ps} for name, given in result.items()}


@pytest.mark.parametrize("assign", [assign_range, assign_uniform])
def test_nobody_and_nothing(assign):
    assert assign(spec({}, {})) == {}
    assert assign(spec({}, {"m": []})) == {"m": {}}
    assert assign(spec({A: 0}, {"m": [A]})) == {"m": {}}


def test_range_gives_neighbours_and_the_same_numbers_of_each_topic():
    result = assign_range(spec({A: 5, B: 5}, {"m": [A, B], "n": [A, B]}))
    assert plain(result) == {"m": {A: [0, 1, 2], B: [0, 1, 2]}, "n": {A: [3, 4], B: [3, 4]}}


def test_range_looks_at_who_reads_the_topic():
    result = assign_range(spec({A: 2, B: 3}, {"m": [A, B], "n": [B], "o": [A, B]}))
    assert plain(result) == {"m": {A: [0], B: [0]}, "n": {B: [1]}, "o": {A: [1], B: [2]}}


def test_range_keeps_what_it_can_when_a_member_comes():
    before = {"m": {A: [0, 1, 2]}, "n": {A: [3, 4, 5]}}
    result = assign_range(spec({A: 6}, {"m": [A], "n": [A], "o": [A]}, before))
    assert plain(result) == {"m": {A: [0, 1]}, "n": {A: [3, 4]}, "o": {A: [2, 5]}}


def test_uniform_balances_over_all_topics_together():
    result = assign_uniform(spec({A: 1, B: 1, C: 1}, {m: [A, B, C] for m in "mno"}))
    assert [len(partitions) for partitions in owned(result).values()] == [1, 1, 1]


def test_uniform_lets_those_keep_one_more_who_have_it():
    before = {"m": {A: [0, 1]}, "n": {A: [2, 3, 4]}}
    result = assign_uniform(spec({A: 5}, {"m": [A], "n": [A]}, before))
    assert plain(result) == {"m": {A: [0, 1]}, "n": {A: [2, 3, 4]}}


def test_uniform_takes_only_what_the_newcomer_needs():
    before = {"m": {A: [0, 1, 2]}, "n": {A: [3, 4, 5]}}
    result = assign_uniform(spec({A: 6}, {"m": [A], "n": [A], "o": [A]}, before))
    assert plain(result) == {"m": {A: [0, 1]}, "n": {A: [3, 4]}, "o": {A: [2, 5]}}


def test_uniform_with_different_subscriptions_moves_to_who_has_less():
    before = {"m": {A: [0, 1], B: [0, 1]}}
    result = assign_uniform(spec({A: 2, B: 2}, {"m": [A, B], "n": [B]}, before))
    assert plain(result) == {"m": {A: [0, 1]}, "n": {B: [0, 1]}}


@pytest.mark.parametrize("seed", range(150))
@pytest.mark.parametrize("assign", [assign_range, assign_uniform])
def test_every_partition_has_one_reader_that_subscribes_to_it(assign, seed):
    chance = random.Random(seed)
    topics = {bytes([n]) * 16: chance.randint(0, 7) for n in range(chance.randint(1, 5))}
    same = chance.random() < 0.5
    everything = list(topics)
    members = {
        f"m{n}": everything if same else chance.sample(everything, chance.randint(0, len(everything)))
        for n in range(chance.randint(1, 6))
    }
    result = assign(spec(topics, members))
    for _ in range(4):
        change = chance.choice(["join", "leave", "grow", "none"])
        before = {name: dict(given) for name, given in result.items()}
        if change == "join":
            members[f"n{len(members)}"] = everything if same else chance.sample(everything, 1)
        elif change == "leave" and len(members) > 1:
            del members[chance.choice(sorted(members))]
        elif change == "grow":
            topics[chance.choice(everything)] += 1
        question = spec(topics, members, before)
        result = assign(question)
        assert assign(question) == result
        assert set(result) == set(members)
        every = [partition for partitions in owned(result).values() for partition in partitions]
        assert len(every) == len(set(every))
        assert set(every) == {
            (t, p) for t, size in topics.items() for p in range(size) if any(t in s for s in members.values())
        }
        for name, given in result.items():
            assert set(given) <= set(members[name])
        _check_balance(assign, topics, members, owned(result))
        if change == "none":
            assert owned(result) == owned(before)


def _check_balance(assign, topics, members, held):
    if assign is assign_range:
        for topic in topics:
            sizes = [sum(t == topic for t, _ in held[name]) for name in members if topic in members[name]]
            assert not sizes or max(sizes) - min(sizes) <= 1
        return
    for giver, partitions in held.items():
        for topic, _ in partitions:
            for taker in members:
                if topic in members[taker]:
                    assert len(partitions) - len(held[taker]) <= 1, (giver, taker)
