from tests.groups.clients import ConsumerClient
from tests.groups.driver import Driver, image
from tests.groups.test_consumer import settle

from distributedlog.groups import GroupConfig


def driver(**topics: int) -> Driver:
    return Driver(GroupConfig(group_consumer_assignment_interval_ms=0), image(**topics))


def test_an_expression_is_resolved_after_the_heartbeat_that_brings_it():
    d = driver(ta=2, tb=1, x=3)
    a = ConsumerClient(d, "a", topics=None, regex="t.*")
    reply = a.beat()
    assert (reply.member_epoch, a.owned) == (1, {})
    d.advance(0)
    settle(d, a)
    assert (a.has("ta"), a.has("tb"), a.has("x")) == ({0, 1}, {0}, set())
    d.assert_replayable()


def test_new_topics_are_found_but_not_more_often_than_every_ten_seconds():
    d = driver(ta=1)
    a = ConsumerClient(d, "a", topics=None, regex="t.*")
    a.beat()
    d.advance(0)
    settle(d, a)
    d.change_topics(image(2, ta=1, tb=1))
    d.advance(10_000)
    settle(d, a)
    d.advance(0)
    assert a.has("tb") == set()
    d.advance(1)
    a.beat()
    d.advance(0)
    settle(d, a)
    assert a.has("tb") == {0}


def test_another_member_with_a_known_expression_is_served_at_once():
    d = driver(ta=2)
    a = ConsumerClient(d, "a", topics=None, regex="t.*")
    a.beat()
    d.advance(0)
    settle(d, a)
    b = ConsumerClient(d, "b", topics=None, regex="t.*")
    settle(d, a, b)
    assert a.has("ta") | b.has("ta") == {0, 1}
    assert len(b.has("ta")) == 1


def test_an_expression_that_nobody_has_any_more_is_forgotten():
    d = driver(ta=2, u=1)
    a, b = ConsumerClient(d, "a", topics=None, regex="t.*"), ConsumerClient(d, "b", topics=("u",))
    a.beat()
    d.advance(0)
    settle(d, a, b)
    a.regex = "u"
    a.beat()
    assert set(d.groups["g"].resolved_regexes) == set()
    d.advance(0)
    settle(d, a, b)
    assert a.has("ta") == set()
    d.advance(20_000)
    a.beat()
    d.advance(0)
    assert set(d.groups["g"].resolved_regexes) == {"u"}
    b.beat()
    a.leave()
    assert set(d.groups["g"].resolved_regexes) == set()
    d.assert_replayable()


def test_taking_the_expression_back_takes_its_topics_away():
    d = driver(ta=2, u=1)
    a = ConsumerClient(d, "a", topics=("u",), regex="t.*")
    a.beat()
    d.advance(0)
    settle(d, a)
    assert (a.has("ta"), a.has("u")) == ({0, 1}, {0})
    a.regex = ""
    settle(d, a)
    assert (a.has("ta"), a.has("u")) == (set(), {0})
    d.assert_replayable()


def test_expressions_are_looked_at_again_in_long_intervals_without_a_cause():
    d = driver(ta=2)
    a = ConsumerClient(d, "a", topics=None, regex="t.*")
    a.beat()
    d.advance(0)
    settle(d, a)
    first = d.groups["g"].resolved_regexes["t.*"].timestamp_ms
    for _ in range(121):
        d.advance(5_000)
        a.beat()
    d.advance(0)
    assert d.groups["g"].resolved_regexes["t.*"].timestamp_ms == first + 605_000


def test_an_expression_that_comes_too_soon_after_the_last_look_is_resolved_later():
    d = driver(ta=1, u=1)
    a, b = ConsumerClient(d, "a", topics=None, regex="t.*"), ConsumerClient(d, "b", topics=None, regex="u")
    a.beat()
    d.advance(5_000)
    settle(d, a, b)
    d.advance(0)
    settle(d, a, b)
    assert b.has("u") == set()
    d.advance(5_001)
    settle(d, a, b)
    d.advance(0)
    settle(d, a, b)
    assert (a.has("ta"), b.has("u")) == ({0}, {0})
