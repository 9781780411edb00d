from tests.groups.clients import NONE, ClassicClient, stable_group, subscription
from tests.groups.driver import Driver, image

from distributedlog.groups import GroupConfig
from distributedlog.wire.error_codes import ErrorCode

DELAY = 3_000


def driver(**settings) -> Driver:
    return Driver(GroupConfig(**settings), image(t=4, u=4))


def state_of(d: Driver, group: str = "g") -> str:
    return d.groups[group].state.value


def test_a_newcomer_is_given_an_id_and_joins_with_it():
    d = driver()
    client = ClassicClient(d, "a")
    reply = client.take(client.join())
    assert (reply.error_code, reply.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "a-1")
    token = client.join()
    assert d.reply(token) is None
    d.advance(DELAY)
    assert client.take(token).generation_id == 1


def test_before_version_4_a_newcomer_joins_with_its_first_request():
    d = driver()
    client = ClassicClient(d, "a", version=3)
    token = client.join()
    d.advance(DELAY)
    assert client.take(token).member_id == "a-1"


def test_the_first_rebalance_waits_for_more_members_as_long_as_some_come():
    d = driver()
    first = ClassicClient(d, "a").enter()
    d.advance(2_000)
    second = ClassicClient(d, "b").enter()
    d.advance(1_000)
    assert d.reply(first) is None, "somebody came, so it waits once more"
    d.advance(2_999)
    assert d.reply(first) is None
    d.advance(1)
    assert d.reply(first).generation_id == d.reply(second).generation_id == 1


def test_the_first_rebalance_does_not_wait_longer_than_the_rebalance_timeout():
    d = driver()
    first = ClassicClient(d, "a", rebalance_ms=7_000).enter()
    for index in range(4):
        d.advance(1_900)
        ClassicClient(d, f"b{index}", rebalance_ms=7_000).enter()
    assert d.reply(first).generation_id == 1, "7 seconds have passed"


def test_only_the_leader_is_told_of_the_others():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b")
    tokens = [a.enter(), b.enter()]
    d.advance(DELAY * 2)
    leader, follower = (d.reply(token) for token in tokens)
    assert leader.leader == follower.leader == a.member_id
    assert [m.member_id for m in leader.members] == [a.member_id, b.member_id]
    assert {m.metadata for m in leader.members} == {subscription("t")}
    assert follower.members == []


def test_members_vote_for_the_first_protocol_that_all_support():
    d = driver()
    clients = [
        ClassicClient(d, "a", protocols=("x", "range", "sticky")),
        ClassicClient(d, "b", protocols=("sticky", "range")),
        ClassicClient(d, "c", protocols=("sticky", "range")),
    ]
    tokens = [client.enter() for client in clients]
    d.advance(DELAY * 3)
    assert [client.take(t).protocol_name for client, t in zip(clients, tokens, strict=True)] == ["sticky"] * 3


def test_a_member_without_a_common_protocol_is_refused():
    d = driver()
    stable_group(d, ClassicClient(d, "a", protocols=("range",)))
    for client in (
        ClassicClient(d, "b", protocols=("sticky",)),
        ClassicClient(d, "c", protocol_type="connect"),
        ClassicClient(d, "d", protocols=()),
    ):
        assert client.take(client.join()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert state_of(d) == "Stable"


def test_session_timeouts_outside_of_the_bounds_are_refused():
    d = driver(group_min_session_timeout_ms=5_000, group_max_session_timeout_ms=20_000)
    for session_ms in (4_999, 20_001):
        client = ClassicClient(d, "a", session_ms=session_ms)
        assert client.take(client.join()).error_code == ErrorCode.INVALID_SESSION_TIMEOUT
    for session_ms in (5_000, 20_000):
        client = ClassicClient(d, "a", session_ms=session_ms)
        assert client.take(client.join()).error_code == ErrorCode.MEMBER_ID_REQUIRED


def test_an_empty_group_id_and_an_unknown_member_are_refused():
    d = driver()
    assert d.reply(ClassicClient(d, "a", group="").join()).error_code == ErrorCode.INVALID_GROUP_ID
    stranger = ClassicClient(d, "a", member_id="a-99")
    assert d.reply(stranger.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert "g" not in d.groups
    stable_group(d, ClassicClient(d, "b"))
    assert d.reply(stranger.join()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_full_group_takes_no_newcomers_but_its_members_again():
    d = driver(group_max_size=2)
    a, b, c = (ClassicClient(d, name) for name in "abc")
    stable_group(d, a, b)
    assert d.reply(c.enter()).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    token = a.join()
    b.take(b.join())
    assert a.take(token).generation_id == 2


def test_a_follower_that_joins_unchanged_is_told_the_generation_and_nothing_moves():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b")
    stable_group(d, a, b)
    reply = b.take(b.join())
    assert (reply.generation_id, reply.members, state_of(d)) == (1, [], "Stable")


def test_the_leader_joining_makes_a_rebalance_and_so_does_other_metadata():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b")
    stable_group(d, a, b)
    token = a.join()
    assert state_of(d) == "PreparingRebalance"
    assert b.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert b.take(b.join()).generation_id == a.take(token).generation_id == 2
    b.topics = ("t", "u")
    assert d.reply(b.join()) is None
    assert state_of(d) == "PreparingRebalance"


def test_a_change_while_a_rebalance_is_under_way_joins_it():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b")
    stable_group(d, a, b)
    c = ClassicClient(d, "c")
    tokens = [c.enter(), ClassicClient(d, "d").enter(), a.join(), b.join()]
    assert [d.reply(token).generation_id for token in tokens] == [2, 2, 2, 2]


def test_dynamic_members_that_do_not_come_back_are_out_after_the_rebalance_timeout():
    d = driver()
    a, b = ClassicClient(d, "a", session_ms=60_000), ClassicClient(d, "b", session_ms=60_000)
    stable_group(d, a, b)
    token = a.join()
    d.advance(29_999)
    assert d.reply(token) is None
    d.advance(1)
    reply = a.take(token)
    assert [m.member_id for m in reply.members] == [a.member_id]
    assert b.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_if_nobody_joins_again_the_group_goes_on_waiting_and_ends_empty():
    d = driver()
    a = ClassicClient(d, "a", instance_id="i", session_ms=100_000)
    b = ClassicClient(d, "b", session_ms=100_000)
    stable_group(d, a, b)
    b.leave()
    d.advance(60_000)
    assert state_of(d) == "PreparingRebalance", "a static member is waited for until its session ends"
    d.advance(60_000)
    assert state_of(d) == "Empty"
    d.assert_replayable()


def test_a_pending_member_that_never_joins_is_forgotten_with_its_session():
    d = driver()
    a = ClassicClient(d, "a")
    stable_group(d, a)
    ClassicClient(d, "b").join()
    token = a.join()
    assert d.reply(token) is None, "who has asked for an id is waited for"
    d.advance(10_000)
    assert a.take(token).generation_id == 2


def test_a_new_member_whose_join_waits_too_long_is_told_to_begin_again():
    d = driver(new_member_join_timeout_ms=20_000)
    a = ClassicClient(d, "a", session_ms=100_000, rebalance_ms=100_000)
    stable_group(d, a)
    b = ClassicClient(d, "b", rebalance_ms=100_000)
    token = b.enter()
    d.advance(20_000)
    assert d.reply(token).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_joining_again_while_a_join_waits_answers_the_first_request():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b")
    stable_group(d, a, b)
    first = a.join()
    second = a.join()
    assert d.reply(first).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    b.take(b.join())
    assert d.reply(second).error_code == NONE


def test_an_empty_group_survives_and_counts_on():
    d = driver()
    a = ClassicClient(d, "a")
    stable_group(d, a)
    a.leave()
    assert state_of(d) == "Empty"
    d.restart()
    b = ClassicClient(d, "b")
    token = b.enter()
    d.advance(DELAY)
    assert b.take(token).generation_id == 3


def test_who_comes_late_to_a_rebalance_that_nobody_joined_does_not_wait_for_ever():
    d = driver()
    a = ClassicClient(d, "a", instance_id="i")
    b = ClassicClient(d, "b", instance_id="j")
    c = ClassicClient(d, "c")
    stable_group(d, a, b, c)
    c.leave()
    for _ in range(8):
        d.advance(5_000)
        assert (a.heartbeat(), b.heartbeat()) == (ErrorCode.REBALANCE_IN_PROGRESS,) * 2
    token = b.join()
    for _ in range(6):
        d.advance(5_000)
        a.heartbeat()
    assert d.reply(token).generation_id == 2


def test_a_member_that_is_never_heard_of_again_after_a_restart_is_out():
    d = driver()
    stable_group(d, ClassicClient(d, "a"), ClassicClient(d, "b"))
    d.restart()
    d.advance(9_999)
    assert len(d.groups["g"].members) == 2
    d.advance(1)
    assert state_of(d) == "Empty"


def test_a_group_that_somebody_is_about_to_join_is_not_cleaned_up():
    d = driver(offsets_retention_check_interval_ms=4_000)
    a = ClassicClient(d, "a")
    a.take(a.join())
    d.advance(8_000)
    token = a.join()
    d.advance(DELAY)
    assert a.take(token).error_code == NONE
