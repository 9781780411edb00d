"""What group requests are answered in every version that there is, and where there is no coordinator."""

import pytest
from tests.broker.group_stage import GroupStage
from tests.log.faults.faulty_files import FullDisk

from distributedlog.wire import APIS, ErrorCode
from distributedlog.wire.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchRequestTopic,
)
from distributedlog.wire.k10_find_coordinator import FindCoordinatorRequest
from distributedlog.wire.k11_join_group import JoinGroupRequest, JoinGroupRequestProtocol
from distributedlog.wire.k12_heartbeat import HeartbeatRequest
from distributedlog.wire.k13_leave_group import LeaveGroupRequest, MemberIdentity
from distributedlog.wire.k14_sync_group import SyncGroupRequest
from distributedlog.wire.k15_describe_groups import DescribeGroupsRequest
from distributedlog.wire.k16_list_groups import ListGroupsRequest
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest
from distributedlog.wire.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from distributedlog.wire.k68_consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from distributedlog.wire.k69_consumer_group_describe import ConsumerGroupDescribeRequest


@pytest.fixture
def make(tmp_path):
    stages = []

    def made(**options):
        # Files that sync nothing: power is not lost here.
        stages.append(GroupStage(tmp_path / "data", files=FullDisk(), **options))
        return stages[-1]

    yield made
    for stage in stages:
        stage.directory.abandon()


@pytest.fixture
def stage(make):
    return make()


def versions_of(key):
    return range(APIS[key].first, APIS[key].last + 1)


# -- FindCoordinator ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", versions_of(10))
def test_a_groups_coordinator_is_found_in_every_version(stage, version):
    many = version >= 4
    request = FindCoordinatorRequest("" if many else "group", 0, ["group", "other"] if many else [])
    response = stage.ask(10, request, version)
    found = response.coordinators if many else [response]
    assert [(one.error_code, one.node_id, one.host, one.port) for one in found] == [
        (0, 1, "broker.test", 9092)
    ] * (2 if many else 1)
    if many:
        assert [one.key for one in found] == ["group", "other"]


@pytest.mark.parametrize("key_type", [2, 9])
def test_of_other_kinds_there_are_no_coordinators(stage, key_type):
    for version in range(1, 7):
        many = version >= 4
        request = FindCoordinatorRequest("" if many else "id", key_type, ["id"] if many else [])
        response = stage.ask(10, request, version)
        found = response.coordinators[0] if many else response
        refused = found.error_code, found.node_id, found.port
        assert refused == (ErrorCode.INVALID_REQUEST, -1, -1), version
        assert found.error_message


def test_a_broker_that_nobody_can_connect_to_coordinates_nothing(stage):
    stage.broker.advertised.clear()
    assert stage.find("group")[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_topic_that_cannot_be_made_leaves_groups_without_a_coordinator(make):
    stage = make(prepared=False)
    stage.files.full_from = stage.files.count
    assert stage.find("group")[0].error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    stage.files.heal()
    assert stage.find("group")[0].error_code == 0


# -- every API in every version -----------------------------------------------------------------------------

_PARTITION = OffsetCommitRequestPartition(0, 5)


def request_of(key, version, topic_id):
    match key:
        case 8:
            by_id = version >= 10
            topic = OffsetCommitRequestTopic("" if by_id else "orders", topic_id, [_PARTITION])
            return OffsetCommitRequest("group", topics=[topic])
        case 9 if version < 8:
            return OffsetFetchRequest("group", [OffsetFetchRequestTopic("orders", [0])])
        case 9:
            by_id = version >= 10
            topic = OffsetFetchRequestGroupTopic("" if by_id else "orders", topic_id, [0])
            return OffsetFetchRequest(groups=[OffsetFetchRequestGroup("group", topics=[topic])])
        case 11:
            return JoinGroupRequest("group", 10_000, member_id="nobody")
        case 12:
            return HeartbeatRequest("group", 1, "nobody")
        case 13 if version < 3:
            return LeaveGroupRequest("group", "nobody")
        case 13:
            return LeaveGroupRequest("group", members=[MemberIdentity("nobody")])
        case 14:
            return SyncGroupRequest("group", 1, "nobody")
        case 15:
            return DescribeGroupsRequest(["group"])
        case 16:
            return ListGroupsRequest()
        case 42:
            return DeleteGroupsRequest(["group"])
        case 47:
            topics = [OffsetDeleteRequestTopic("orders", [OffsetDeleteRequestPartition(0)])]
            return OffsetDeleteRequest("group", topics)
        case 68:
            return ConsumerGroupHeartbeatRequest("group", "nobody", 3)
        case 69:
            return ConsumerGroupDescribeRequest(["group"])


def error_of(key, version, response):
    """The error code, from where this API and version have it."""
    match key:
        case 8:
            return response.topics[0].partitions[0].error_code
        case 9 if version < 2:
            return response.topics[0].partitions[0].error_code
        case 9 if version < 8:
            return response.error_code
        case 9 | 15 | 69:
            return response.groups[0].error_code
        case 42:
            return response.results[0].error_code
        case _:
            return response.error_code


KEYS = (8, 9, 11, 12, 13, 14, 15, 42, 47, 68, 69)


def test_without_a_coordinator_every_version_is_told_so(make):
    stage = make(prepared=False)
    topic_id = stage.image.topics_by_name["orders"].topic_id
    for key in KEYS:
        for version in versions_of(key):
            response = stage.ask(key, request_of(key, version, topic_id), version)
            assert error_of(key, version, response) == ErrorCode.NOT_COORDINATOR, (key, version)


def test_the_coordinator_answers_every_version(stage):
    topic_id = stage.image.topics_by_name["orders"].topic_id
    answers = {}
    for key in (*KEYS, 16):
        for version in versions_of(key):
            response = stage.ask(key, request_of(key, version, topic_id), version)
            answers.setdefault(key, []).append(error_of(key, version, response))
    nobody = ErrorCode.UNKNOWN_MEMBER_ID
    classic = answers[15].pop()
    assert classic == 0
    assert answers == {
        8: [0] * 9,
        9: [0] * 10,
        11: [ErrorCode.INCONSISTENT_GROUP_PROTOCOL] * 10,
        12: [nobody] * 5,
        13: [nobody] * 3 + [0] * 3,
        14: [nobody] * 6,
        15: [0] * 6,
        16: [0] * 6,
        42: [0] + [ErrorCode.GROUP_ID_NOT_FOUND] * 2,
        47: [ErrorCode.GROUP_ID_NOT_FOUND],
        68: [ErrorCode.GROUP_ID_NOT_FOUND] * 2,
        69: [ErrorCode.GROUP_ID_NOT_FOUND] * 2,
    }


# -- what has gone wrong for others -------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "is_told"), [(3, False), (4, True), (9, True)])
def test_a_first_join_is_given_a_member_id_from_version_4_on(stage, version, is_told):
    protocols = [JoinGroupRequestProtocol("range", b"")]
    request = JoinGroupRequest("group", 10_000, 10_000, protocol_type="consumer", protocols=protocols)
    waiting = stage.send(11, request, version)
    stage.scheduler.run()
    assert waiting.is_done is is_told
    if is_told:
        assert waiting.responses[0].error_code == ErrorCode.MEMBER_ID_REQUIRED
    else:
        stage.scheduler.advance(3_000)
        assert waiting.responses[0].error_code == 0
    assert waiting.responses[0].member_id.startswith("test-")


def test_the_metadata_of_a_commit_comes_back(stage):
    stage.commit("group", 3)
    (partition,) = stage.fetch("group")[0].topics[0].partitions
    assert (partition.committed_offset, partition.metadata) == (3, "note")


def test_two_newcomers_make_one_rebalance(stage):
    first = stage.stable_member("group")
    newcomers = [stage.join("group") for _ in range(2)]
    stage.scheduler.run()
    ids = [waiting.responses[0].member_id for waiting in newcomers]
    joins = [stage.join("group", member_id) for member_id in ids]
    stage.scheduler.run()
    assert stage.beat("group", first) == ErrorCode.REBALANCE_IN_PROGRESS
    joins.append(stage.join("group", first))
    stage.scheduler.run()
    assert [waiting.responses[0].generation_id for waiting in joins] == [2, 2, 2]
