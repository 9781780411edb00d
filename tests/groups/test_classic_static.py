from tests.groups.clients import NONE, ClassicClient, assignment, stable_group
from tests.groups.driver import Driver, image

from distributedlog.groups import GroupConfig
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity


def driver() -> Driver:
    return Driver(GroupConfig(), image(t=4))


def test_a_static_member_comes_back_without_a_rebalance_and_with_its_assignment():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b", instance_id="i")
    stable_group(d, a, b, assignments={"b": assignment(t=[2, 3])})
    old_id = b.member_id
    b.member_id = ""
    reply = b.take(b.join())
    assert (reply.error_code, reply.generation_id, reply.skip_assignment) == (NONE, 1, False)
    assert b.member_id not in ("", old_id)
    assert d.reply(b.sync()).assignment == assignment(t=[2, 3])
    assert d.groups["g"].state.value == "Stable"
    assert a.heartbeat() is NONE
    d.assert_replayable()


def test_its_old_self_is_fenced():
    d = driver()
    b = ClassicClient(d, "b", instance_id="i")
    stable_group(d, b)
    old = ClassicClient(d, "b", instance_id="i", member_id=b.member_id, generation=1, protocol="range")
    b.member_id = ""
    b.take(b.join())
    assert old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    assert d.reply(old.join()).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert d.reply(old.sync()).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert old.commit("t", 0, 1) is ErrorCode.FENCED_INSTANCE_ID
    assert old.leave().members[0].error_code == ErrorCode.FENCED_INSTANCE_ID
    assert b.heartbeat() is NONE


def test_a_static_leader_comes_back_and_need_not_share_out_again():
    d = driver()
    a, b = ClassicClient(d, "a", instance_id="i"), ClassicClient(d, "b")
    stable_group(d, a, b)
    a.member_id = ""
    reply = a.take(a.join())
    assert reply.skip_assignment
    assert reply.leader == a.member_id
    assert {m.member_id for m in reply.members} == {a.member_id, b.member_id}


def test_before_version_9_a_static_leader_is_kept_from_sharing_out_by_its_old_id():
    d = driver()
    a = ClassicClient(d, "a", instance_id="i", version=8)
    stable_group(d, a)
    old_id, a.member_id = a.member_id, ""
    reply = a.take(a.join())
    assert (reply.leader, reply.members, reply.skip_assignment) == (old_id, [], False)
    assert d.groups["g"].leader_id == a.member_id


def test_other_protocols_of_a_static_member_rebalance_if_they_change_the_choice():
    d = driver()
    a = ClassicClient(d, "a", instance_id="i", protocols=("range", "sticky"))
    stable_group(d, a)
    a.member_id, a.protocols = "", ("sticky", "range")
    reply = a.take(a.join())
    assert (reply.generation_id, reply.protocol_name) == (2, "sticky")


def test_a_static_member_that_comes_back_while_assignments_are_made_begins_another_rebalance():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b", instance_id="i")
    tokens = [a.enter(), b.enter()]
    d.advance(9_000)
    a.take(tokens[0])
    b.take(tokens[1])
    waiting = b.sync()
    b.member_id = ""
    again = b.join()
    assert d.reply(waiting).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    a.take(a.join())
    assert b.take(again).generation_id == 2


def test_a_static_member_is_gone_only_when_its_session_ends():
    d = driver()
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b", instance_id="i", session_ms=20_000)
    stable_group(d, a, b)
    for _ in range(4):
        assert a.heartbeat() is NONE
        d.advance(5_000)
    assert d.groups["g"].is_empty is False
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_an_administrator_removes_a_static_member_by_its_instance_id():
    d = driver()
    b = ClassicClient(d, "b", instance_id="i")
    stable_group(d, b)
    request = LeaveGroupRequest("g", members=[MemberIdentity("", "i"), MemberIdentity("", "j")])
    members = d.ask(request, 5).members
    assert [m.error_code for m in members] == [NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert d.groups["g"].is_empty


def test_if_the_new_id_cannot_be_written_the_old_one_stays():
    d = driver()
    b = ClassicClient(d, "b", instance_id="i")
    stable_group(d, b)
    twin = ClassicClient(d, "b", instance_id="i")
    d.append_errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert d.reply(twin.join()).error_code == ErrorCode.NOT_COORDINATOR
    assert b.heartbeat() is NONE
    d.assert_replayable()


def test_a_static_member_that_came_back_is_watched():
    d = driver()
    a = ClassicClient(d, "a", instance_id="i")
    stable_group(d, a)
    a.member_id = ""
    a.take(a.join())
    d.advance(9_999)
    assert list(d.groups["g"].members) == [a.member_id]
    d.advance(1)
    assert d.groups["g"].is_empty


def test_a_static_member_that_came_back_has_all_of_its_protocols_still():
    d = driver()
    a = ClassicClient(d, "a", protocols=("range", "sticky"))
    b = ClassicClient(d, "b", instance_id="i", protocols=("range", "sticky"))
    stable_group(d, a, b)
    b.member_id = ""
    b.take(b.join())
    c = ClassicClient(d, "c", protocols=("sticky",))
    tokens = [c.enter(), a.join(), b.join()]
    assert {d.reply(token).protocol_name for token in tokens} == {"sticky"}
