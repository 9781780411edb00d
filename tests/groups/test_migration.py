import pytest
from tests.groups.clients import (
    NONE,
    ClassicClient,
    ConsumerClient,
    assigned_partitions,
    assignment,
    fetch,
    stable_group,
)
from tests.groups.driver import Driver, image

from distributedlog.groups import GroupConfig, MigrationPolicy
from distributedlog.groups.classic_group import ClassicGroup
from distributedlog.groups.consumer_group import ConsumerGroup
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity
from distributedlog.wire.values import ConsumerProtocolAssignment, encode_assignment
from distributedlog.wire.values.group_records import GroupMetadataKey


def driver(policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL, **settings) -> Driver:
    settings = {"group_consumer_assignment_interval_ms": 0, **settings}
    return Driver(GroupConfig(group_consumer_migration_policy=policy, **settings), image(t=4))


def classic_pair(d: Driver) -> tuple[ClassicClient, ClassicClient]:
    a, b = ClassicClient(d, "a"), ClassicClient(d, "b")
    stable_group(d, a, b, assignments={"a": assignment(t=[0, 1]), "b": assignment(t=[2, 3])})
    a.owned, b.owned = {"t": [0, 1]}, {"t": [2, 3]}
    return a, b


def follow(client: ClassicClient) -> set[tuple[str, int]]:
    """Join and sync as often as the coordinator asks for, letting go of what was taken away."""
    for _ in range(5):
        reply = client.take(client.join())
        assert reply.error_code == NONE
        synced = client.driver.reply(client.sync())
        assert synced.error_code == NONE
        partitions = assigned_partitions(synced.assignment)
        client.owned = {"t": sorted(index for _, index in partitions)} if partitions else {}
        if client.heartbeat() is NONE:
            return partitions
    raise AssertionError("the member is called to join again and again")


def upgraded(d: Driver) -> tuple[ClassicClient, ClassicClient, ConsumerClient]:
    a, b = classic_pair(d)
    c = ConsumerClient(d, "c")
    assert c.beat().error_code == NONE
    return a, b, c


def test_an_empty_classic_group_becomes_a_consumer_group_and_keeps_its_offsets():
    d = driver(MigrationPolicy.DISABLED)
    a = ClassicClient(d, "a")
    stable_group(d, a)
    a.commit("t", 0, 5)
    a.leave()
    c = ConsumerClient(d, "c")
    assert c.beat().error_code == NONE
    assert isinstance(d.groups["g"], ConsumerGroup)
    assert fetch(d, "g", "t", 0) == (5, NONE)
    d.assert_replayable()


def test_an_empty_consumer_group_becomes_a_classic_group():
    d = driver(MigrationPolicy.DISABLED)
    c = ConsumerClient(d, "c")
    c.beat()
    c.commit("t", 0, 5)
    c.leave()
    stable_group(d, ClassicClient(d, "a"))
    assert isinstance(d.groups["g"], ClassicGroup)
    assert fetch(d, "g", "t", 0) == (5, NONE)
    d.assert_replayable()


def test_the_first_member_of_the_new_protocol_upgrades_the_group():
    d = driver()
    a, b, c = upgraded(d)
    group = d.groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert set(group.members) == {a.member_id, b.member_id, "c"}
    assert (group.epoch, c.epoch, c.has()) == (2, 2, set())
    assert (a.heartbeat(), b.heartbeat()) == (ErrorCode.REBALANCE_IN_PROGRESS,) * 2
    d.assert_replayable()
    of_a, of_b = follow(a), follow(b)
    c.beat()
    assert len(of_a) + len(of_b) + len(c.has()) == 4
    assert c.has() != set()
    assert {p for _, p in of_a | of_b} | c.has() == {0, 1, 2, 3}
    d.assert_replayable()


def test_who_waits_in_a_classic_rebalance_is_sent_to_join_again():
    d = driver()
    a, b = classic_pair(d)
    waiting = a.join()
    c = ConsumerClient(d, "c")
    assert c.beat().error_code == NONE
    assert d.reply(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert follow(a)
    assert b.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_failed_upgrade_leaves_the_classic_group_as_it_was():
    d = driver()
    a, b = classic_pair(d)
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    assert ConsumerClient(d, "c").beat().error_code == ErrorCode.NOT_COORDINATOR
    assert isinstance(d.groups["g"], ClassicGroup)
    assert (a.heartbeat(), b.heartbeat()) == (NONE, NONE)
    d.advance(60_000)
    assert d.groups["g"].is_empty, "sessions are still watched"


def test_a_failed_upgrade_in_the_middle_of_a_rebalance_does_not_leave_it_without_an_end():
    d = driver()
    a = ClassicClient(d, "a", session_ms=600_000)
    b = ClassicClient(d, "b", session_ms=600_000)
    stable_group(d, a, b)
    waiting = a.join()
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    ConsumerClient(d, "c").beat()
    assert d.reply(waiting).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    again = a.join()
    d.advance(30_000)
    assert d.reply(again).generation_id == 2


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
def test_policies_that_forbid_the_upgrade(policy):
    d = driver(policy)
    classic_pair(d)
    reply = ConsumerClient(d, "c").beat()
    assert reply.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "upgrade is disabled" in reply.error_message
    assert isinstance(d.groups["g"], ClassicGroup)


def test_groups_that_cannot_be_upgraded():
    d = driver(group_consumer_max_size=2)
    foreign = encode_assignment(ConsumerProtocolAssignment([], b"user data"))
    for group, clients in {
        "connect": [ClassicClient(d, "a", group="connect", protocol_type="connect")],
        "broken": [ClassicClient(d, "a", group="broken", metadata=b"?")],
        "custom": [ClassicClient(d, "a", group="custom")],
        "large": [ClassicClient(d, name, group="large") for name in "abc"],
    }.items():
        stable_group(d, *clients, assignments={"a": foreign} if group == "custom" else None)
        assert ConsumerClient(d, "n", group=group).beat().error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert isinstance(d.groups[group], ClassicGroup)


def test_a_full_group_is_not_upgraded_for_a_newcomer():
    d = driver(group_consumer_max_size=2)
    a, b = classic_pair(d)
    assert ConsumerClient(d, "c").beat().error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert isinstance(d.groups["g"], ClassicGroup)
    assert (a.heartbeat(), b.heartbeat()) == (NONE, NONE)


def test_the_last_member_of_the_new_protocol_leaving_makes_it_classic_again():
    d = driver()
    a, b, c = upgraded(d)
    follow(a)
    follow(b)
    c.beat()
    c.leave()
    group = d.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (group.state.value, set(group.members)) == ("PreparingRebalance", {a.member_id, b.member_id})
    assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    token = a.join()
    b.take(b.join())
    assert a.take(token).generation_id == group.generation
    d.assert_replayable()
    d.restart()
    assert isinstance(d.groups["g"], ClassicGroup)


def test_a_session_that_ends_makes_it_classic_again_too_and_a_failed_append_does_not():
    d = driver()
    a, b, _ = upgraded(d)
    follow(a)
    follow(b)
    for _ in range(9):
        d.advance(4_999)
        a.heartbeat()
        b.heartbeat()
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    d.advance(100)
    assert isinstance(d.groups["g"], ConsumerGroup)
    d.assert_replayable()
    d.advance(500)
    assert isinstance(d.groups["g"], ClassicGroup)
    d.assert_replayable()


def test_policies_that_forbid_the_downgrade():
    d = driver(MigrationPolicy.UPGRADE)
    a, b, c = upgraded(d)
    c.leave()
    assert isinstance(d.groups["g"], ConsumerGroup)
    assert len(follow(a) | follow(b)) == 4


def test_classic_members_are_kept_out_where_migration_is_disabled():
    d = driver(MigrationPolicy.DISABLED)
    ConsumerClient(d, "c").beat()
    a = ClassicClient(d, "a")
    assert d.reply(a.join()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_classic_member_joins_a_consumer_group():
    d = driver()
    c = ConsumerClient(d, "c")
    c.beat()
    a = ClassicClient(d, "a")
    assert a.take(a.join()).error_code == ErrorCode.MEMBER_ID_REQUIRED
    reply = a.take(a.join())
    assert (reply.error_code, reply.protocol_type, reply.protocol_name) == (NONE, "consumer", "range")
    assert (reply.leader, reply.members) == ("", [])
    c.beat()
    c.beat()
    assert len(follow(a)) == len(c.has()) == 2
    assert a.commit("t", 0, 1) is NONE
    a.generation += 1
    assert a.commit("t", 0, 1) is ErrorCode.ILLEGAL_GENERATION
    d.assert_replayable()


def test_protocols_of_classic_members_in_a_consumer_group_must_have_one_in_common():
    d = driver()
    ConsumerClient(d, "c").beat()
    a = ClassicClient(d, "a", protocols=("range", "sticky"))
    a.take(a.enter())
    for client in (
        ClassicClient(d, "b", protocols=("other",)),
        ClassicClient(d, "b", protocol_type="connect"),
        ClassicClient(d, "b", metadata=b"?"),
    ):
        assert d.reply(client.join()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    b = ClassicClient(d, "b", protocols=("sticky",))
    assert b.take(b.enter()).error_code == NONE


def test_a_classic_member_that_is_called_and_does_not_join_is_out():
    d = driver()
    a, b, _ = upgraded(d)
    for _ in range(6):
        assert a.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
        d.advance(5_000)
        follow(b)
    assert a.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_that_joins_and_does_not_sync_is_out():
    d = driver()
    a, b, _ = upgraded(d)
    a.take(a.join())
    for _ in range(6):
        d.advance(5_000)
        follow(b)
        a.heartbeat()
    assert a.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


def test_errors_of_classic_members_in_a_consumer_group():
    d = driver()
    a, _, c = upgraded(d)
    generation = a.generation
    a.generation += 5
    assert a.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    assert d.reply(a.sync()).error_code == ErrorCode.ILLEGAL_GENERATION
    a.generation = generation
    assert d.reply(a.sync()).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    a.protocol = "other"
    assert d.reply(a.sync()).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    a.member_id = "x"
    assert a.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    a.member_id = "c"
    assert a.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID, "c does not speak the classic protocol"
    assert c.beat().error_code == NONE


def test_leave_group_takes_members_of_both_kinds_out():
    d = driver()
    a, b, c = upgraded(d)
    request = LeaveGroupRequest(
        "g",
        members=[
            MemberIdentity("c"),
            MemberIdentity("x"),
            MemberIdentity(b.member_id),
            MemberIdentity("", "i"),
        ],
    )
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert [m.error_code for m in d.ask(request, 5).members] == [NONE, unknown, NONE, unknown]
    assert isinstance(d.groups["g"], ClassicGroup)
    assert set(d.groups["g"].members) == {a.member_id}
    assert c.beat(member_epoch=2).error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_classic_static_member_takes_the_place_of_the_last_one_of_the_new_protocol():
    d = driver()
    c = ConsumerClient(d, "c", instance_id="i")
    c.beat()
    a = ClassicClient(d, "a", instance_id="i", owned={"t": [0, 1, 2, 3]})
    reply = a.take(a.join())
    assert reply.error_code == NONE
    group = d.groups["g"]
    assert isinstance(group, ClassicGroup)
    assert (group.state.value, group.generation, reply.generation_id) == ("Stable", 1, 1)
    assert len(assigned_partitions(d.reply(a.sync()).assignment)) == 4
    d.assert_replayable()
    assert d.live_keys() == [GroupMetadataKey("g")], "nothing is left of the consumer group"


def test_a_static_member_of_the_new_protocol_takes_the_place_of_a_classic_one():
    d = driver()
    a = ClassicClient(d, "a", instance_id="i")
    stable_group(d, a, assignments={"a": assignment(t=[0, 1, 2, 3])})
    c = ConsumerClient(d, "c", instance_id="i")
    c.beat()
    assert (c.has(), set(d.groups["g"].members)) == ({0, 1, 2, 3}, {"c"})
    assert a.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    d.assert_replayable()
