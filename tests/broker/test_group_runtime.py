import random

import pytest
from tests.broker.group_stage import SESSION_MS, GroupStage, commit_error
from tests.log.faults.faulty_files import FailingSync, FullDisk

from distributedlog.wire import ErrorCode
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
)
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k15_describe_groups import DescribeGroupsRequest
from distributedlog.wire.k16_list_groups import ListGroupsRequest
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest
from distributedlog.wire.k44_incremental_alter_configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)

#: By partition, of three, in the order of their names.
GROUPS = {"my-group": 0, "orders-app": 1, "group": 2, "a-group": 1}
OFFSETS = "__consumer_offsets"


@pytest.fixture
def make(tmp_path):
    stages = []

    def made(**options):
        # Files that sync nothing: power is not lost here.
        options.setdefault("files", FullDisk())
        stages.append(GroupStage(tmp_path / f"data{len(stages)}", **options))
        return stages[-1]

    yield made
    for stage in stages:
        stage.directory.abandon()


@pytest.fixture
def stage(make):
    return make()


# -- the topic ----------------------------------------------------------------------------------------------


def test_the_first_look_for_a_coordinator_makes_the_topic(make):
    stage = make(prepared=False, configs={"offsets.topic.num.partitions": "50"})
    assert OFFSETS not in stage.image.topics_by_name
    (found,) = stage.find("group")
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "broker.test", 9092)
    topic = stage.image.topics_by_name[OFFSETS]
    assert len(topic.partitions) == 50
    assert topic.configs["cleanup.policy"] == "compact"


def test_many_looks_at_once_make_one_topic(make):
    stage = make(prepared=False)
    waiting = [stage.send(10, FindCoordinatorRequest(coordinator_keys=["group"])) for _ in range(3)]
    stage.scheduler.run()
    assert [one.responses[0].coordinators[0].error_code for one in waiting] == [0, 0, 0]
    assert len(stage.image.topics_by_name[OFFSETS].partitions) == 3


def test_without_the_topic_there_is_no_coordinator_and_no_group(make):
    stage = make(prepared=False)
    assert stage.beat("group", "member") == ErrorCode.NOT_COORDINATOR
    assert stage.commit() == ErrorCode.NOT_COORDINATOR
    assert stage.fetch("group")[0].error_code == ErrorCode.NOT_COORDINATOR
    listed = stage.ask(16, ListGroupsRequest())
    assert (listed.error_code, listed.groups) == (0, [])


def test_a_group_is_written_to_the_partition_of_its_hash(stage):
    for group, index in GROUPS.items():
        before = stage.broker.partitions.get(OFFSETS, index).log.log_end_offset
        assert stage.commit(group) == 0
        assert stage.broker.partitions.get(OFFSETS, index).log.log_end_offset == before + 1


def test_a_deleted_offsets_topic_takes_its_groups_with_it(stage):
    stage.commit("group", 7)
    joining = stage.join("group2")
    stage.scheduler.run()
    joining = stage.join("group2", joining.responses[0].member_id)
    stage.delete(OFFSETS)
    stage.scheduler.run()
    assert joining.responses[0].error_code == ErrorCode.NOT_COORDINATOR
    stage.find()
    assert stage.committed("group") == -1


# -- what waits for the disk --------------------------------------------------------------------------------


def test_a_commit_is_confirmed_when_the_disk_has_it(stage):
    stage.scheduler.holds_threads = True
    waiting = stage.send_commit()
    stage.scheduler.run()
    assert not waiting.is_done
    stage.scheduler.run_threads()
    assert commit_error(waiting) == 0


def test_commits_of_many_groups_share_a_trip_to_the_disk(stage):
    runner = stage.broker.partitions.flush_runner
    rounds = runner.rounds
    waiting = [stage.send_commit(group) for group in GROUPS for _ in range(10)]
    stage.scheduler.run()
    assert {commit_error(one) for one in waiting} == {0}
    assert runner.rounds == rounds + 1


def test_with_the_policy_os_nothing_waits(make):
    stage = make(configs={"log.flush": "os"})
    stage.scheduler.holds_threads = True
    assert commit_error(stage.send_commit()) == 0


def test_what_tells_of_a_commit_waits_for_it_too(stage):
    stage.commit("group", 1)
    stage.scheduler.holds_threads = True
    commit = stage.send_commit("group", 2)
    fetch = stage.send(9, _fetch_request("group"), 9)
    stage.scheduler.run()
    assert not fetch.is_done
    stage.scheduler.run_threads()
    assert commit_error(commit) == 0
    assert fetch.responses[0].groups[0].topics[0].partitions[0].committed_offset == 2


def _fetch_request(group):
    topics = [OffsetFetchRequestGroupTopic("orders", partition_indexes=[0])]
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group, topics=topics)])


def test_groups_of_other_partitions_do_not_wait(stage):
    stage.scheduler.holds_threads = True
    commit = stage.send_commit("group")
    fetch = stage.send(9, _fetch_request("my-group"), 9)
    stage.scheduler.run_soon()
    assert fetch.is_done
    assert not commit.is_done


# -- restarts -----------------------------------------------------------------------------------------------


def test_offsets_and_their_metadata_survive_a_restart(stage):
    for number, group in enumerate(GROUPS):
        stage.commit(group, number)
    stage.restart()
    assert [stage.committed(group) for group in GROUPS] == [0, 1, 2, 3]
    assert stage.fetch("group")[0].topics[0].partitions[0].metadata == "note"


def test_confirmed_offsets_survive_a_crash(stage):
    stage.commit("group", 5)
    stage.scheduler.holds_threads = True
    stage.send_commit("group", 6)
    stage.crash()
    assert stage.committed("group") in (5, 6)


def test_classic_members_go_on_heartbeating_after_a_restart_without_a_rebalance(stage):
    member_id = stage.stable_member("group")
    for bring_up in (stage.restart, stage.crash):
        bring_up()
        assert stage.beat("group", member_id) == 0
        assert stage.commit("group", 9, member_id=member_id, generation=1) == 0
        stage.scheduler.advance(SESSION_MS - 1)
        assert stage.beat("group", member_id) == 0


def test_consumer_members_go_on_heartbeating_after_a_restart_in_their_epoch(stage):
    joined = stage.consumer_beat("group", "member", 0, ["orders"])
    assert joined.error_code == 0
    assert [len(one.partitions) for one in joined.assignment.topic_partitions] == [2]
    for bring_up in (stage.restart, stage.crash):
        bring_up()
        again = stage.consumer_beat("group", "member", joined.member_epoch)
        assert (again.error_code, again.member_epoch) == (0, joined.member_epoch)
        assert stage.commit("group", 3, member_id="member", generation=joined.member_epoch) == 0


def test_a_member_that_does_not_come_back_after_a_restart_is_taken_out(stage):
    member_id = stage.stable_member("group")
    stage.restart()
    stage.scheduler.advance(SESSION_MS + 1)
    assert stage.beat("group", member_id) == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_comes_back_after_a_restart_without_a_rebalance(stage):
    waiting = stage.join("group", instance="one")
    stage.scheduler.advance(3_000)
    first = waiting.responses[0]
    stage.sync("group", first.generation_id, first.member_id, [(first.member_id, b"all")])
    stage.scheduler.run()
    stage.restart()
    waiting = stage.join("group", instance="one")
    stage.scheduler.run()
    again = waiting.responses[0]
    assert (again.error_code, again.generation_id) == (0, first.generation_id)
    assert again.member_id != first.member_id
    assert stage.beat("group", first.member_id) == ErrorCode.UNKNOWN_MEMBER_ID


def test_while_groups_are_loaded_clients_are_put_off_and_heartbeats_calmed(stage):
    member_id = stage.stable_member("group")
    stage.close()
    stage.scheduler.holds_threads = True
    stage.start()
    assert stage.commit("group") == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.fetch("group")[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.ask(16, ListGroupsRequest()).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert stage.beat("group", member_id) == 0
    syncing = stage.sync("group", 1, member_id)
    assert syncing.responses[0].error_code == ErrorCode.REBALANCE_IN_PROGRESS
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert stage.commit("group", 1, member_id=member_id, generation=1) == 0
    assert len(stage.ask(16, ListGroupsRequest()).groups) == 1


def test_a_damaged_partition_loses_its_own_groups_only(stage):
    stage.commit("group", 1)
    stage.commit("my-group", 2)
    path = stage.partition_of("group").log.segments.active.log.path
    stage.close()
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    stage.start()
    assert stage.committed("my-group") == 2
    assert stage.fetch("group")[0].error_code == ErrorCode.NOT_COORDINATOR


def test_who_waits_for_a_rebalance_is_sent_away_when_the_broker_stops(stage):
    waiting = stage.join("group")
    stage.scheduler.run()
    joining = stage.join("group", waiting.responses[0].member_id)
    stage.scheduler.run()
    assert not joining.is_done
    stage.close()
    assert joining.responses[0].error_code == ErrorCode.NOT_COORDINATOR


def test_a_commit_under_way_is_confirmed_when_the_broker_stops(stage):
    stage.scheduler.holds_threads = True
    waiting = stage.send_commit("group", 4)
    stage.close()
    assert commit_error(waiting) == 0
    stage.scheduler.holds_threads = False
    stage.start()
    assert stage.committed("group") == 4


# -- the disk -----------------------------------------------------------------------------------------------


def test_a_full_disk_refuses_commits_and_takes_them_again_when_there_is_room(make):
    files = FullDisk()
    stage = make(files=files)
    member_id = stage.stable_member("group")
    files.full_from = files.count
    refused = stage.commit("group", 5, member_id=member_id, generation=1)
    assert refused == ErrorCode.NOT_COORDINATOR
    assert stage.beat("group", member_id) == 0
    assert stage.committed("group") == -1
    files.heal()
    assert stage.commit("group", 6, member_id=member_id, generation=1) == 0
    assert stage.committed("group") == 6


def test_a_group_that_cannot_be_written_is_not_there(make):
    files = FullDisk()
    stage = make(files=files)
    files.full_from = files.count
    joining = stage.join("group")
    stage.scheduler.advance(SESSION_MS)
    assert joining.responses[0].error_code == ErrorCode.NOT_COORDINATOR
    assert stage.ask(16, ListGroupsRequest()).groups == []
    files.heal()
    assert stage.stable_member("group")


def test_an_assignment_that_cannot_be_written_makes_the_group_join_again(make):
    files = FullDisk()
    stage = make(files=files)
    waiting = stage.join("group")
    stage.scheduler.run()
    member_id = waiting.responses[0].member_id
    stage.join("group", member_id)
    stage.scheduler.advance(3_000)
    files.full_from = files.count
    syncing = stage.sync("group", 1, member_id, [(member_id, b"all")])
    stage.scheduler.run()
    assert syncing.responses[0].error_code == ErrorCode.NOT_COORDINATOR
    files.heal()
    assert stage.beat("group", member_id) == ErrorCode.REBALANCE_IN_PROGRESS


def test_when_the_disk_fails_commits_are_not_confirmed_and_the_coordinator_is_gone(make):
    files = FailingSync()
    stage = make(files=files)
    stage.scheduler.holds_threads = True
    waiting = stage.send_commit("group", 5)
    beside = stage.send(9, _fetch_request("group"), 9)
    stage.scheduler.run()
    files.failures = 1
    stage.scheduler.run_threads()
    assert commit_error(waiting) == ErrorCode.NOT_COORDINATOR
    assert beside.is_done
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert stage.fetch("group")[0].error_code == ErrorCode.NOT_COORDINATOR


def test_a_group_too_large_for_a_batch_is_refused_and_the_coordinator_goes_on(stage):
    stage.scheduler.run()
    alter(stage, 2, OFFSETS, **{"max.message.bytes": "100"})
    assert stage.commit("group", 1) == ErrorCode.UNKNOWN_SERVER_ERROR
    alter(stage, 2, OFFSETS, **{"max.message.bytes": "100000"})
    assert stage.commit("group", 2) == 0


def alter(stage, resource_type, name, **configs):
    request = IncrementalAlterConfigsRequest(
        [
            IncrementalAlterConfigsResource(
                resource_type,
                name,
                [IncrementalAlterableConfig(key, 0, value) for key, value in configs.items()],
            )
        ]
    )
    assert [one.error_code for one in stage.ask(44, request).responses] == [0]


def test_a_record_that_cannot_be_replayed_makes_the_coordinator_read_its_log_again(stage, monkeypatch):
    stage.commit("group", 1)
    shard = stage.broker.groups._shards[GROUPS["group"]]

    def broken(*_):
        raise KeyError("a bug")

    monkeypatch.setattr(type(shard.coordinator), "applied", broken)
    assert stage.commit("group", 2) == ErrorCode.UNKNOWN_SERVER_ERROR
    monkeypatch.undo()
    assert stage.commit("group", 3) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    stage.scheduler.advance(1_000)
    assert stage.committed("group") == 2


# -- topics come and go -------------------------------------------------------------------------------------


def test_offsets_of_a_deleted_topic_go_with_it(stage):
    stage.create("other")
    stage.commit("group", 1)
    stage.commit("group", 2, topic="other")
    stage.commit("my-group", 3, topic="other")
    stage.delete("other")
    assert sorted(stage.broker.groups.committed_offsets()) == [("group", "orders", 0, 1)]
    stage.restart()
    assert sorted(stage.broker.groups.committed_offsets()) == [("group", "orders", 0, 1)]


def test_a_topic_made_again_has_no_offsets_of_the_old_one(stage):
    stage.commit("group", 5)
    stage.delete("orders")
    stage.create("orders")
    assert stage.committed("group") == -1


def test_a_commit_to_a_topic_that_was_just_made_is_taken(stage):
    assert stage.commit("group", 1, topic="new") == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    stage.create("new")
    assert stage.commit("group", 1, topic="new") == 0


def test_offsets_are_forgotten_when_nobody_came_for_so_long(make):
    minute_ms = 60_000
    stage = make(configs={"offsets.retention.minutes": "10", "offsets.retention.check.interval.ms": "60000"})
    stage.commit("group", 1)
    stage.scheduler.advance(9 * minute_ms)
    assert stage.committed("group") == 1
    stage.scheduler.advance(2 * minute_ms)
    assert stage.committed("group") == -1
    assert stage.ask(16, ListGroupsRequest()).groups == []


# -- several groups in one request --------------------------------------------------------------------------


def test_groups_of_several_coordinators_are_answered_in_the_order_of_the_request(stage):
    order = ["a-group", "group", "orders-app", "my-group", "group"]
    for number, group in enumerate(GROUPS):
        stage.commit(group, number)
    fetched = stage.fetch(*order)
    assert [group.group_id for group in fetched] == order
    offsets = [group.topics[0].partitions[0].committed_offset for group in fetched]
    assert offsets == [list(GROUPS).index(group) for group in order]


def test_no_groups_are_no_answers(stage):
    assert stage.fetch() == []
    assert stage.ask(15, DescribeGroupsRequest([])).groups == []
    assert stage.ask(42, DeleteGroupsRequest([])).results == []


def test_a_member_is_shown_with_where_it_comes_from(stage):
    member_id = stage.stable_member("group")
    request = DescribeGroupsRequest(["group", "nobody"], include_authorized_operations=True)
    known, unknown = stage.ask(15, request).groups
    (member,) = known.members
    assert (known.group_state, known.protocol_data) == ("Stable", "range")
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "test", "/127.0.0.1")
    assert known.authorized_operations == 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
    assert (unknown.error_code, unknown.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert unknown.authorized_operations == -(2**31)


def test_groups_are_deleted_each_on_its_own(stage):
    stage.stable_member("group")
    stage.commit("my-group", 1)
    results = stage.ask(42, DeleteGroupsRequest(["my-group", "group", "nobody"])).results
    assert [(result.group_id, result.error_code) for result in results] == [
        ("my-group", 0),
        ("group", ErrorCode.NON_EMPTY_GROUP),
        ("nobody", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    stage.restart()
    assert [group.group_id for group in stage.ask(16, ListGroupsRequest()).groups] == ["group"]


def test_groups_of_all_coordinators_are_listed(stage):
    for group in GROUPS:
        stage.commit(group)
    listed = stage.ask(16, ListGroupsRequest())
    assert {group.group_id for group in listed.groups} == set(GROUPS)


# -- configuration ------------------------------------------------------------------------------------------


def test_a_changed_heartbeat_interval_reaches_the_members(stage):
    assert stage.consumer_beat("group", "member", 0, ["orders"]).heartbeat_interval_ms == 5_000
    alter(stage, 4, "", **{"group.consumer.heartbeat.interval.ms": "7000"})
    assert stage.consumer_beat("group", "member", 1).heartbeat_interval_ms == 7_000


def test_a_group_may_have_its_own_interval(stage):
    alter(stage, 32, "group", **{"consumer.heartbeat.interval.ms": "9000"})
    assert stage.consumer_beat("group", "member", 0, ["orders"]).heartbeat_interval_ms == 9_000
    assert stage.consumer_beat("other", "member", 0, ["orders"]).heartbeat_interval_ms == 5_000
    stage.restart()
    assert stage.consumer_beat("group", "member", 1).heartbeat_interval_ms == 9_000


# -- trouble at any time ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_confirmed_offsets_are_never_lost_and_never_go_back(make, seed):
    chance = random.Random(seed)
    stage = make(chance=chance)
    confirmed = dict.fromkeys(GROUPS, -1)
    sent = dict.fromkeys(GROUPS, -1)
    waiting = []
    for _ in range(150):
        group = chance.choice(list(GROUPS))
        match chance.choice(["commit"] * 6 + ["turn", "threads", "run", "crash", "restart"]):
            case "commit":
                sent[group] += 1
                waiting.append((group, sent[group], stage.send_commit(group, sent[group])))
            case "turn":
                stage.scheduler.run_soon()
            case "threads":
                stage.scheduler.run_threads()
            case "run":
                stage.scheduler.run()
            case "crash" | "restart" as how:
                for who, offset, request in waiting:
                    if request.is_done and commit_error(request) == 0:
                        confirmed[who] = max(confirmed[who], offset)
                getattr(stage, how)()
                found = {who: stage.committed(who) for who in GROUPS}
                assert all(confirmed[who] <= found[who] <= sent[who] for who in GROUPS), (confirmed, found)
                confirmed = found


# -- much of everything -------------------------------------------------------------------------------------


def test_two_hundred_groups_are_rebuilt(stage):
    waiting = [stage.send_commit(f"group-{number}", number) for number in range(200)]
    stage.scheduler.run()
    assert {commit_error(one) for one in waiting} == {0}
    stage.crash()
    committed = {group: offset for group, _, _, offset in stage.broker.groups.committed_offsets()}
    assert committed == {f"group-{number}": number for number in range(200)}
