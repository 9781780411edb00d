from tests.groups.clients import NONE, ClassicClient
from tests.groups.driver import Driver, image

from distributedlog.groups import GroupConfig
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity
from distributedlog.wire.k14_sync_group import SyncGroupRequest


def joined(*names: str, **fields) -> tuple[Driver, list[ClassicClient]]:
    """A group that has a generation and no assignments yet; the first one leads."""
    d = Driver(GroupConfig(), image(t=4))
    clients = [ClassicClient(d, name, **fields) for name in names]
    tokens = [client.enter() for client in clients]
    while d.reply(tokens[0]) is None:
        d.advance(1_000)
    for client, token in zip(clients, tokens, strict=True):
        client.take(token)
    return d, clients


def state_of(d: Driver) -> str:
    return d.groups["g"].state.value


def test_followers_wait_for_the_leader_and_each_gets_its_own():
    d, (a, b) = joined("a", "b")
    follower = b.sync()
    assert d.reply(follower) is None
    leader = a.sync(**{a.member_id: b"for a", b.member_id: b"for b"})
    assert (d.reply(leader).assignment, d.reply(follower).assignment) == (b"for a", b"for b")
    assert (d.reply(leader).protocol_type, d.reply(leader).protocol_name) == ("consumer", "range")
    assert state_of(d) == "Stable"
    d.assert_replayable()


def test_a_follower_that_syncs_late_gets_the_same():
    d, (a, b) = joined("a", "b")
    a.sync(**{b.member_id: b"for b"})
    assert state_of(d) == "Stable"
    assert d.reply(b.sync()).assignment == b"for b"


def test_members_that_the_leader_forgot_get_an_empty_assignment():
    d, (a, b) = joined("a", "b")
    follower = b.sync()
    a.sync()
    assert (d.reply(follower).error_code, d.reply(follower).assignment) == (NONE, b"")


def test_sync_is_refused_to_strangers_wrong_generations_and_wrong_protocols():
    d, (a,) = joined("a")

    def sync(**fields) -> int:
        request = SyncGroupRequest("g", a.generation, a.member_id, None, "consumer", "range")
        for name, value in fields.items():
            setattr(request, name, value)
        return d.ask(request, 5).error_code

    assert sync(group_id="") == ErrorCode.INVALID_GROUP_ID
    assert sync(group_id="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(member_id="x") == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(group_instance_id="i") == ErrorCode.UNKNOWN_MEMBER_ID
    assert sync(generation_id=2) == ErrorCode.ILLEGAL_GENERATION
    assert sync(protocol_type="connect") == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(protocol_name="sticky") == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert sync(protocol_type=None, protocol_name=None) == NONE


def test_a_rebalance_answers_those_who_wait_for_assignments():
    d, (a, b) = joined("a", "b")
    waiting = b.sync()
    ClassicClient(d, "c").enter()
    assert d.reply(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert d.reply(a.sync()).error_code == ErrorCode.REBALANCE_IN_PROGRESS


def test_who_never_syncs_is_out_after_the_rebalance_timeout():
    d, (a, b) = joined("a", "b", session_ms=60_000)
    a.sync()
    d.advance(29_999)
    assert a.heartbeat() is NONE
    d.advance(1)
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert b.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert a.take(a.join()).generation_id == 2


def test_a_session_does_not_end_while_the_member_waits_for_its_assignment():
    d, (a, b) = joined("a", "b", session_ms=10_000)
    waiting = b.sync()
    for _ in range(5):
        d.advance(5_000)
        assert a.heartbeat() is NONE
    a.sync(**{b.member_id: b"x"})
    assert d.reply(waiting).assignment == b"x"
    assert b.heartbeat() is NONE


def test_heartbeats_keep_a_member_and_silence_ends_it():
    d, (a, b) = joined("a", "b")
    a.sync()
    b.sync()
    for _ in range(5):
        d.advance(9_999)
        assert a.heartbeat() is NONE
        assert b.heartbeat() is NONE
    d.advance(5_000)
    a.heartbeat()
    d.advance(5_000)
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(d.groups["g"].members) == [a.member_id]


def test_heartbeat_errors():
    d, (a,) = joined("a")

    def beat(**fields) -> int:
        request = HeartbeatRequest("g", a.generation, a.member_id)
        for name, value in fields.items():
            setattr(request, name, value)
        return d.ask(request, 4).error_code

    assert beat() == NONE, "CompletingRebalance is no reason to join again"
    assert beat(group_id="") == ErrorCode.INVALID_GROUP_ID
    assert beat(group_id="other") == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(member_id="x") == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(generation_id=0) == ErrorCode.ILLEGAL_GENERATION


def test_all_who_leave_in_one_request_make_one_rebalance():
    d, (a, b, c) = joined("a", "b", "c")
    for client in (b, c, a):
        client.sync()
    request = LeaveGroupRequest(
        "g", members=[MemberIdentity(b.member_id), MemberIdentity("x"), MemberIdentity(c.member_id)]
    )
    members = d.ask(request, 5).members
    assert [m.error_code for m in members] == [NONE, ErrorCode.UNKNOWN_MEMBER_ID, NONE]
    assert state_of(d) == "PreparingRebalance"
    assert a.take(a.join()).generation_id == 2


def test_before_version_3_one_member_leaves_and_the_error_is_the_response_s():
    d, (a,) = joined("a")
    assert d.ask(LeaveGroupRequest("g", member_id="x"), 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert d.ask(LeaveGroupRequest("g", member_id=a.member_id), 2).error_code == NONE
    assert state_of(d) == "Empty"
    assert d.ask(LeaveGroupRequest("", member_id="x"), 2).error_code == ErrorCode.INVALID_GROUP_ID


def test_leaving_a_group_that_is_not_there_is_an_error_per_member():
    d = Driver()
    response = d.ask(LeaveGroupRequest("g", members=[MemberIdentity("x")]), 3)
    assert (response.error_code, response.members[0].error_code) == (NONE, ErrorCode.UNKNOWN_MEMBER_ID)


def test_a_pending_member_may_leave():
    d, (a,) = joined("a")
    a.sync()
    b = ClassicClient(d, "b")
    b.take(b.join())
    token = a.join()
    assert d.reply(token) is None
    assert b.leave().members[0].error_code == NONE
    d.advance(30_000)
    assert d.reply(token).generation_id == 2


def test_if_the_assignment_cannot_be_written_all_are_told_and_join_again():
    d, (a, b) = joined("a", "b")
    follower = b.sync()
    d.append_errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
    leader = a.sync(**{a.member_id: b"x"})
    assert {d.reply(t).error_code for t in (leader, follower)} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
    assert state_of(d) == "PreparingRebalance"
    tokens = [a.join(), b.join()]
    assert {d.reply(t).generation_id for t in tokens} == {2}
    d.assert_replayable()


def test_if_a_new_group_cannot_be_written_it_is_not_there():
    d = Driver()
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR]
    for version in (9, 3):
        token = ClassicClient(d, "a", version=version).join()
        assert d.reply(token).error_code == ErrorCode.NOT_COORDINATOR
        assert d.groups == {}
    d.advance(600_000)
    d.assert_replayable()


def test_a_member_that_was_running_goes_on_after_a_restart_without_a_rebalance():
    d, (a, b) = joined("a", "b")
    b.sync()
    a.sync(**{a.member_id: b"x", b.member_id: b"y"})
    d.restart()
    assert (a.heartbeat(), b.heartbeat()) == (NONE, NONE)
    assert d.reply(b.sync()).assignment == b"y"
    assert state_of(d) == "Stable"
    d.advance(5_000)
    a.heartbeat()
    d.advance(5_000)
    assert list(d.groups["g"].members) == [a.member_id], "sessions began anew with the restart"


def test_a_restart_in_the_middle_of_a_rebalance_sends_who_waits_elsewhere():
    d, (a, b) = joined("a", "b")
    b.sync()
    a.sync()
    waiting = a.join()
    d.restart()
    assert d.reply(waiting).error_code == ErrorCode.NOT_COORDINATOR
    assert (state_of(d), b.heartbeat()) == ("Stable", NONE)


def test_a_group_that_has_grown_beyond_a_new_limit_rebalances_when_loaded():
    d, (a, b, c) = joined("a", "b", "c")
    for client in (b, c, a):
        client.sync()
    d.config = GroupConfig(group_max_size=2)
    d.restart()
    assert state_of(d) == "PreparingRebalance"
    a.join()
    b.join()
    assert d.reply(c.join()).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
