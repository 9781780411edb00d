from tests.groups.clients import (
    NONE,
    ClassicClient,
    ConsumerClient,
    commit_request,
    stable_group,
    subscription,
)
from tests.groups.driver import Driver, image

from distributedlog.groups import GroupConfig
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k15_describe_groups import DescribeGroupsRequest
from distributedlog.wire.k16_list_groups import ListGroupsRequest
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest


def driver() -> Driver:
    d = Driver(GroupConfig(), image(t=4))
    stable_group(d, ClassicClient(d, "a", group="stable"), assignments={"a": b"mine"})
    ClassicClient(d, "b", group="preparing").enter()
    ConsumerClient(d, "c", group="new").beat()
    d.ask(commit_request("simple", "t", 0, 1), 9)
    return d


def listed(d: Driver, states=(), types=()) -> dict[str, tuple[str, str, str]]:
    groups = d.ask(ListGroupsRequest(list(states), list(types)), 5).groups
    return {g.group_id: (g.protocol_type, g.group_state, g.group_type) for g in groups}


def test_all_groups_are_listed_with_states_and_types():
    assert listed(driver()) == {
        "stable": ("consumer", "Stable", "classic"),
        "preparing": ("consumer", "PreparingRebalance", "classic"),
        "new": ("consumer", "Stable", "consumer"),
        "simple": ("", "Empty", "classic"),
    }


def test_filters_do_not_care_about_case_and_what_is_unknown_finds_nothing():
    d = driver()
    assert set(listed(d, states=["STABLE"])) == {"stable", "new"}
    assert set(listed(d, states=["empty", "preparingrebalance"])) == {"simple", "preparing"}
    assert set(listed(d, types=["Consumer"])) == {"new"}
    assert set(listed(d, states=["Stable"], types=["classic"])) == {"stable"}
    assert listed(d, states=["nonsense"]) == listed(d, types=["nonsense"]) == {}


def test_classic_groups_are_described():
    d = driver()
    stable, preparing, new, nope = d.ask(
        DescribeGroupsRequest(["stable", "preparing", "new", "nope"]), 6
    ).groups
    assert (stable.group_state, stable.protocol_type, stable.protocol_data) == ("Stable", "consumer", "range")
    member = stable.members[0]
    assert (member.client_id, member.client_host) == ("a", "/127.0.0.1")
    assert (member.member_metadata, member.member_assignment) == (subscription("t"), b"mine")
    assert (preparing.group_state, preparing.protocol_data) == ("PreparingRebalance", "")
    assert preparing.members[0].member_metadata == b"", "while it moves, there is nothing to show"
    for group in (new, nope):
        assert (group.error_code, group.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
        assert group.error_message


def test_before_version_6_an_unknown_group_is_a_dead_one():
    group = driver().ask(DescribeGroupsRequest(["nope"]), 5).groups[0]
    assert (group.error_code, group.group_state) == (NONE, "Dead")


def test_groups_with_members_are_not_deleted():
    d = driver()
    results = d.ask(DeleteGroupsRequest(["stable", "preparing", "new", "simple", "nope"]), 2).results
    assert {r.group_id: r.error_code for r in results} == {
        "stable": ErrorCode.NON_EMPTY_GROUP,
        "preparing": ErrorCode.NON_EMPTY_GROUP,
        "new": ErrorCode.NON_EMPTY_GROUP,
        "simple": NONE,
        "nope": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert "simple" not in d.groups
    d.assert_replayable()


def test_empty_groups_of_both_protocols_are_deleted():
    d = driver()
    ClassicClient(d, "x", group="old")
    client = ClassicClient(d, "a", group="old")
    stable_group(d, client)
    client.leave()
    member = ConsumerClient(d, "c", group="new")
    member.leave()
    results = d.ask(DeleteGroupsRequest(["old", "new"]), 2).results
    assert [r.error_code for r in results] == [NONE, NONE]
    assert {"old", "new"}.isdisjoint(d.groups)
    d.assert_replayable()


def test_a_deletion_that_cannot_be_written_is_told_for_each_group():
    d = driver()
    d.append_errors = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    results = d.ask(DeleteGroupsRequest(["simple", "nope"]), 2).results
    assert [r.error_code for r in results] == [ErrorCode.NOT_COORDINATOR, ErrorCode.GROUP_ID_NOT_FOUND]
    assert "simple" in d.groups
