import pytest
from tests.groups.clients import NONE, ConsumerClient, fetch
from tests.groups.driver import Driver, image, topic

from distributedlog.groups import GroupConfig
from distributedlog.groups.config import GroupOverrides
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupTopicPartitions
from distributedlog.wire.k69_consumer_group_describe import ConsumerGroupDescribeRequest

T = topic("t", 0).topic_id


def driver(**settings) -> Driver:
    """Assignments follow each other at once, if nothing else is said."""
    return Driver(GroupConfig(**{"group_consumer_assignment_interval_ms": 0, **settings}), image(t=4, u=2))


def describe(d: Driver):
    return d.ask(ConsumerGroupDescribeRequest(["g"]), 1).groups[0]


def settle(d: Driver, *clients: ConsumerClient) -> None:
    """Heartbeats until nobody moves."""
    for _ in range(10):
        before = [(client.epoch, dict(client.owned)) for client in clients]
        for client in clients:
            assert client.beat().error_code == NONE
        if before == [(client.epoch, dict(client.owned)) for client in clients]:
            assert d.groups[clients[0].group].state == "Stable"
            return
    raise AssertionError("the group does not settle")


def test_the_first_member_gets_everything_in_epoch_1():
    d = driver()
    a = ConsumerClient(d, "a")
    reply = a.beat()
    assert (reply.error_code, reply.member_id, reply.member_epoch) == (NONE, "a", 1)
    assert (reply.heartbeat_interval_ms, a.has()) == (5_000, {0, 1, 2, 3})
    d.assert_replayable()


def test_a_member_without_an_id_is_given_one_in_version_0():
    d = driver()
    a = ConsumerClient(d, "a")
    request = a.request()
    request.member_id = ""
    assert d.ask(request, 0).member_id == "1"
    assert d.ask(request, 1).error_code == ErrorCode.INVALID_REQUEST


def test_a_partition_is_given_only_when_its_owner_has_let_it_go():
    d = driver()
    a, b = ConsumerClient(d, "a", holds=True), ConsumerClient(d, "b")
    a.beat()
    b.beat()
    assert (b.epoch, b.has()) == (2, set()), "its part is still with a"
    a.beat()
    assert (a.epoch, a.has()) == (1, {0, 1, 2, 3}), "it is told, and does not do it"
    assert describe(d).group_state == "Reconciling"
    b.beat()
    assert b.has() == set()
    a.holds = False
    a.owned = {T: {0, 1}}
    a.beat()
    assert a.epoch == 2
    b.beat()
    assert (a.has(), b.has()) == ({0, 1}, {2, 3})
    assert describe(d).group_state == "Stable"
    d.assert_replayable()


def test_who_does_not_let_go_in_time_is_out():
    d = driver()
    a, b = ConsumerClient(d, "a", holds=True, rebalance_ms=20_000), ConsumerClient(d, "b")
    a.beat()
    b.beat()
    for _ in range(4):
        a.beat()
        b.beat()
        d.advance(5_000)
    assert a.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    settle(d, b)
    assert b.has() == {0, 1, 2, 3}
    settle(d, a, b)


def test_silence_ends_a_member_and_others_take_over():
    d = driver(overrides={"g": GroupOverrides(consumer_session_timeout_ms=50_000)})
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a, b)
    for _ in range(4):
        d.advance(10_000)
        b.beat()
    d.advance(9_999)
    assert a.beat().error_code == NONE
    for _ in range(5):
        d.advance(10_000)
        b.beat()
    settle(d, b)
    assert b.has() == {0, 1, 2, 3}
    d.assert_replayable()


def test_a_member_that_leaves_is_gone_at_once():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a, b)
    reply = b.leave()
    assert (reply.error_code, reply.member_id, reply.member_epoch) == (NONE, "b", -1)
    settle(d, a)
    assert a.has() == {0, 1, 2, 3}
    a.leave()
    assert describe(d).group_state == "Empty"
    d.assert_replayable()


def test_epochs_are_checked():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a, b)
    assert a.epoch == 2
    assert d.ask(a_with(a, epoch=3), 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert d.ask(a_with(a, epoch=1), 1).error_code == NONE, "the answer may have been lost"
    too_much = a_with(a, epoch=1)
    too_much.topic_partitions = [ConsumerGroupTopicPartitions(T, [0, 1, 2])]
    assert d.ask(too_much, 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    silent = a_with(a, epoch=1)
    silent.topic_partitions = None
    assert d.ask(silent, 1).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    stranger = ConsumerClient(d, "x", epoch=1)
    assert stranger.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    nowhere = ConsumerClient(d, "x", group="other", epoch=1)
    assert nowhere.beat().error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert ConsumerClient(d, "x").leave().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def a_with(client: ConsumerClient, epoch: int):
    request = client.request()
    request.member_epoch = epoch
    return request


def test_a_fenced_member_joins_again_under_its_id():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a, b)
    a.epoch, a.owned = 0, {}
    reply = a.beat()
    assert (reply.member_epoch, a.has()) == (2, {0, 1})


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"instance_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"rack_id": " "}, ErrorCode.INVALID_REQUEST),
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": [ConsumerGroupTopicPartitions(T, [0])]}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
def test_requests_that_make_no_sense_are_refused_and_leave_nothing_behind(fields, error):
    d = driver()
    reply = ConsumerClient(d, "a").beat(**fields)
    assert reply.error_code == error
    assert reply.error_message
    assert d.groups == {}
    assert d.log == []


def test_a_full_group_takes_no_newcomer():
    d = driver(group_consumer_max_size=1)
    a = ConsumerClient(d, "a")
    a.beat()
    assert ConsumerClient(d, "b").beat().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert a.beat().error_code == NONE


def test_a_heartbeat_that_says_nothing_new_writes_nothing_and_is_told_nothing():
    d = driver()
    a = ConsumerClient(d, "a")
    a.beat()
    size = len(d.log)
    reply = a.beat(
        topic_partitions=None, subscribed_topic_names=None, rebalance_timeout_ms=-1, server_assignor=None
    )
    assert (reply.member_epoch, reply.assignment) == (1, None)
    assert a.beat().assignment is not None, "who says all is told all"
    assert len(d.log) == size


def test_a_change_of_topics_in_the_subscription_moves_only_what_it_must():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a, b)
    b.topics = ("t", "u")
    settle(d, a, b)
    assert a.has("t") | b.has("t") == {0, 1, 2, 3}
    assert b.has("u") == {0, 1}
    assert len(a.has("t")) == 3
    a.topics = ()
    settle(d, a, b)
    assert (a.owned, len(b.has("t"))) == ({}, 4)
    d.assert_replayable()


def test_a_subscription_to_a_topic_that_is_not_there_waits_for_it():
    d = driver()
    a = ConsumerClient(d, "a", topics=("new",))
    settle(d, a)
    assert (a.epoch, a.owned) == (1, {})
    d.change_topics(image(2, t=4, u=2, new=3))
    settle(d, a)
    assert (a.epoch, a.has("new")) == (2, {0, 1, 2})


def test_more_partitions_and_deleted_topics_are_noticed():
    d = driver()
    a = ConsumerClient(d, "a", topics=("t", "u"))
    settle(d, a)
    d.change_topics(image(2, t=6, u=2))
    settle(d, a)
    assert a.has("t") == set(range(6))
    d.change_topics(image(3, t=6))
    settle(d, a)
    assert (a.has("t"), a.has("u")) == (set(range(6)), set())
    d.assert_replayable()


def test_the_topics_are_looked_at_again_after_a_restart():
    d = driver()
    a = ConsumerClient(d, "a")
    settle(d, a)
    d.topics = image(2, t=5)
    d.restart()
    settle(d, a)
    assert a.has() == set(range(5))


def test_topics_are_not_looked_at_in_every_heartbeat():
    d = driver()
    a = ConsumerClient(d, "a")
    settle(d, a)
    assert not d.groups["g"].has_stale_metadata
    d.change_topics(image(2, t=4, u=3))
    assert not d.groups["g"].has_stale_metadata, "nobody reads u"
    d.change_topics(image(3, t=5, u=3))
    assert d.groups["g"].has_stale_metadata


def test_a_member_goes_on_after_a_restart_without_a_rebalance():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a, b)
    epoch, size = a.epoch, len(d.log)
    d.restart()
    settle(d, a, b)
    assert (a.epoch, len(d.log)) == (epoch, size)
    d.advance(60_000)
    assert d.groups["g"].is_empty, "sessions are watched after a restart too"


def test_a_rebalance_timeout_is_watched_after_a_restart():
    d = driver()
    a, b = ConsumerClient(d, "a", holds=True, rebalance_ms=20_000), ConsumerClient(d, "b")
    a.beat()
    b.beat()
    a.beat()
    d.restart()
    for _ in range(4):
        d.advance(5_000)
        a.beat()
        b.beat()
    assert "a" not in d.groups["g"].members


def test_assignments_of_a_group_are_an_interval_apart():
    d = driver(group_consumer_assignment_interval_ms=1_000)
    clients = [ConsumerClient(d, name) for name in "abc"]
    for client in clients:
        client.beat()
    group = d.groups["g"]
    assert (group.epoch, group.assignment_epoch, [c.epoch for c in clients]) == (3, 1, [1, 1, 1])
    d.advance(1_000)
    settle(d, *clients)
    assert (group.assignment_epoch, sorted(len(c.has()) for c in clients)) == (3, [1, 1, 2])


def test_the_assignor_that_most_ask_for_is_taken():
    d = driver()
    a = ConsumerClient(d, "a", assignor="range")
    b, c = ConsumerClient(d, "b", assignor="uniform"), ConsumerClient(d, "c", assignor="uniform")
    a.beat()
    assert describe(d).assignor_name == "range"
    settle(d, a, b, c)
    assert describe(d).assignor_name == "uniform"
    assert ConsumerClient(d, "x", group="h").beat().error_code == NONE
    assert d.ask(ConsumerGroupDescribeRequest(["h"]), 1).groups[0].assignor_name == "uniform"


# static members


def test_a_static_member_that_left_for_a_while_has_its_partitions_back():
    d = driver()
    a, b = ConsumerClient(d, "a", instance_id="i"), ConsumerClient(d, "b")
    settle(d, a, b)
    had, epoch = a.has(), a.epoch
    assert a.leave(-2).member_epoch == -2
    settle_epoch = d.groups["g"].epoch
    b.beat()
    again = ConsumerClient(d, "a2", instance_id="i")
    reply = again.beat()
    assert (reply.member_epoch, again.has(), d.groups["g"].epoch) == (epoch, had, settle_epoch)
    assert set(d.groups["g"].members) == {"a2", "b"}
    d.assert_replayable()


def test_a_static_member_that_comes_back_with_other_topics_takes_nothing_to_its_old_id():
    d = driver()
    a, b = ConsumerClient(d, "a", instance_id="i"), ConsumerClient(d, "b")
    settle(d, a, b)
    a.leave(-2)
    again = ConsumerClient(d, "a2", instance_id="i", topics=("u",))
    settle(d, again, b)
    assert (again.has("u"), again.has("t"), b.has("t")) == ({0, 1}, set(), {0, 1, 2, 3})
    assert set(d.groups["g"].target) == {"a2", "b"}


def test_a_static_member_that_stays_away_is_gone_with_its_session():
    d = driver()
    a, b = ConsumerClient(d, "a", instance_id="i"), ConsumerClient(d, "b")
    settle(d, a, b)
    a.leave(-2)
    for _ in range(10):
        d.advance(5_000)
        b.beat()
    settle(d, b)
    assert b.has() == {0, 1, 2, 3}


def test_an_instance_id_in_use_is_not_given_away():
    d = driver()
    a = ConsumerClient(d, "a", instance_id="i")
    a.beat()
    twin = ConsumerClient(d, "b", instance_id="i")
    assert twin.beat().error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert twin.beat(member_epoch=1).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert twin.leave().error_code == ErrorCode.FENCED_INSTANCE_ID
    assert twin.leave(-2).error_code == ErrorCode.FENCED_INSTANCE_ID
    nobody = ConsumerClient(d, "c", instance_id="j", epoch=1)
    assert nobody.beat().error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert a.beat().error_code == NONE


# offsets


def test_members_commit_in_their_epoch():
    d = driver()
    a = ConsumerClient(d, "a")
    a.beat()
    assert a.commit("t", 0, 5) is NONE
    assert a.commit("t", 0, 6, version=8) is ErrorCode.UNSUPPORTED_VERSION
    a.epoch = 9
    assert a.commit("t", 0, 6) is ErrorCode.STALE_MEMBER_EPOCH
    a.member_id = "x"
    assert a.commit("t", 0, 6) is ErrorCode.UNKNOWN_MEMBER_ID
    assert fetch(d, "g", "t", 0) == (5, NONE)


def test_a_member_that_is_behind_commits_what_it_has_had_all_along_and_no_more():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    a.beat()
    settle(d, a, b)
    assert (a.has(), a.epoch) == ({0, 1}, 2)
    a.epoch = 1
    assert a.commit("t", 0, 5) is NONE
    assert a.commit("t", 3, 5) is ErrorCode.STALE_MEMBER_EPOCH, "it is b's now"
    b.epoch = 1
    assert b.commit("t", 3, 5) is ErrorCode.STALE_MEMBER_EPOCH, "it was not b's then"


def test_if_nothing_can_be_written_nothing_has_changed():
    d = driver()
    a, b = ConsumerClient(d, "a"), ConsumerClient(d, "b")
    settle(d, a)
    d.append_errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert b.beat().error_code == ErrorCode.NOT_COORDINATOR
    assert set(d.groups["g"].members) == {"a"}
    d.append_errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert a.leave().error_code == ErrorCode.NOT_COORDINATOR
    d.assert_replayable()
    d.advance(44_999)
    assert set(d.groups["g"].members) == {"a"}
    d.append_errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    d.advance(1)
    assert set(d.groups["g"].members) == {"a"}, "its session has ended, but that could not be written"
    d.advance(500)
    assert d.groups["g"].is_empty


def test_describe_tells_what_members_have_and_are_to_have():
    d = driver()
    a, b = ConsumerClient(d, "a", instance_id="i", holds=True), ConsumerClient(d, "b", topics=("t", "u"))
    a.beat(rack_id="r")
    b.beat()
    group = describe(d)
    assert (group.error_code, group.group_epoch, group.assignment_epoch) == (NONE, 2, 2)
    by_id = {member.member_id: member for member in group.members}
    assert (by_id["a"].instance_id, by_id["a"].rack_id, by_id["a"].member_type) == ("i", "r", 1)
    assert (by_id["a"].client_id, by_id["a"].client_host) == ("a", "/127.0.0.1")
    assert by_id["b"].subscribed_topic_names == ["t", "u"]
    assert [(p.topic_name, p.partitions) for p in by_id["a"].assignment.topic_partitions] == [
        ("t", [0, 1, 2, 3])
    ]
    assert len(by_id["a"].target_assignment.topic_partitions[0].partitions) == 3
    groups = d.ask(ConsumerGroupDescribeRequest(["", "nope"]), 1).groups
    assert [g.error_code for g in groups] == [ErrorCode.INVALID_GROUP_ID, ErrorCode.GROUP_ID_NOT_FOUND]
