import pytest
from tests.groups.clients import (
    NONE,
    ClassicClient,
    ConsumerClient,
    commit_request,
    fetch,
    stable_group,
    txn_commit_request,
)
from tests.groups.driver import Driver, image, topic

from distributedlog.groups import GroupConfig
from distributedlog.wire.error_codes import ErrorCode
from distributedlog.wire.k08_offset_commit import OffsetCommitRequest
from distributedlog.wire.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestGroupTopic,
    OffsetFetchRequestTopic,
)
from distributedlog.wire.k42_delete_groups import DeleteGroupsRequest
from distributedlog.wire.k47_offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from distributedlog.wire.values import decode_offsets_key, decode_offsets_value
from distributedlog.wire.values.group_records import OffsetCommitKey, OffsetCommitValue

MISSING = (-1, NONE)
DAY_MS = 24 * 60 * 60_000


def driver(**settings) -> Driver:
    return Driver(GroupConfig(**settings), image(t=4, u=4))


def commit(d: Driver, name: str, partition: int, offset: int, version: int = 9, **fields) -> ErrorCode:
    request = commit_request("g", name, partition, offset)
    for field, value in fields.items():
        setattr(request, field, value)
    return ErrorCode(d.ask(request, version).topics[0].partitions[0].error_code)


def delete(d: Driver, name: str, *partitions: int, group: str = "g"):
    asked = [OffsetDeleteRequestPartition(index) for index in partitions]
    return d.ask(OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(name, asked)]), 0)


def test_whoever_manages_itself_commits_to_a_group_without_members():
    d = driver()
    assert fetch(d, "g", "t", 0) == MISSING
    assert commit(d, "t", 0, 42) is NONE
    assert fetch(d, "g", "t", 0) == (42, NONE)
    assert d.groups["g"].state.value == "Empty"
    d.assert_replayable()
    d.restart()
    assert fetch(d, "g", "t", 0) == (42, NONE)


def test_a_commit_with_a_generation_needs_the_group():
    d = driver()
    assert commit(d, "t", 0, 1, generation_id_or_member_epoch=3, version=8) is ErrorCode.ILLEGAL_GENERATION
    assert commit(d, "t", 0, 1, generation_id_or_member_epoch=3, version=9) is ErrorCode.GROUP_ID_NOT_FOUND


def test_members_commit_in_their_generation_only():
    d = driver()
    a = ClassicClient(d, "a")
    stable_group(d, a)
    assert a.commit("t", 0, 7) is NONE
    a.generation = 0
    assert a.commit("t", 0, 8) is ErrorCode.ILLEGAL_GENERATION
    a.generation, a.member_id = 1, "x"
    assert a.commit("t", 0, 8) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(d, "t", 0, 8) is ErrorCode.UNKNOWN_MEMBER_ID, "the group has members"
    assert fetch(d, "g", "t", 0) == (7, NONE)


def test_while_assignments_are_made_nobody_commits_and_before_that_members_may():
    d = driver()
    a = ClassicClient(d, "a")
    stable_group(d, a)
    b = ClassicClient(d, "b")
    token = b.enter()
    assert a.commit("t", 0, 7) is NONE, "the group prepares; this is the last chance to keep a position"
    a.take(a.join())
    b.take(token)
    assert a.commit("t", 0, 8) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_keeps_the_session():
    d = driver()
    a = ClassicClient(d, "a")
    stable_group(d, a)
    for offset in range(5):
        d.advance(9_000)
        assert a.commit("t", 0, offset) is NONE


def test_metadata_has_a_limit_and_comes_back():
    d = driver(offset_metadata_max_bytes=3)
    big = commit_request("g", "t", 0, 1, metadata="four")
    assert d.ask(big, 9).topics[0].partitions[0].error_code == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert fetch(d, "g", "t", 0) == MISSING
    d.ask(commit_request("g", "t", 0, 1, metadata="abc"), 9)
    answer = d.ask(OffsetFetchRequest("g", [OffsetFetchRequestTopic("t", [0])]), 7)
    assert answer.topics[0].partitions[0].metadata == "abc"


def test_unknown_topics_are_refused_by_name_and_by_id():
    d = driver()
    assert commit(d, "nope", 0, 1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(d, "nope", 0, 1, version=10) is ErrorCode.UNKNOWN_TOPIC_ID
    assert commit(d, "t", 0, 1, version=10) is NONE
    assert fetch(d, "g", "t", 0) == (1, NONE)


def test_offset_fetch_by_id_says_which_topics_are_not_there():
    d = driver()
    commit(d, "t", 0, 5)
    topics = [
        OffsetFetchRequestGroupTopic(topic_id=topic(name, 1).topic_id, partition_indexes=[0]) for name in "tx"
    ]
    answer = d.ask(OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)]), 10).groups[0]
    assert [(p.committed_offset, p.error_code) for t in answer.topics for p in t.partitions] == [
        (5, NONE),
        (-1, ErrorCode.UNKNOWN_TOPIC_ID),
    ]


@pytest.mark.parametrize("version", [2, 7, 8, 9, 10])
def test_without_topics_everything_is_fetched(version):
    d = driver()
    commit(d, "t", 0, 1)
    commit(d, "u", 3, 2)
    request = OffsetFetchRequest("g", None)
    if version >= 8:
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup("g", topics=None), OffsetFetchRequestGroup("h")]
        )
    response = d.ask(request, version)
    topics = response.groups[0].topics if version >= 8 else response.topics
    assert [p.committed_offset for t in topics for p in t.partitions] == [1, 2]
    if version >= 8:
        assert response.groups[1].topics == []


def test_offsets_of_a_deleted_topic_go_and_are_not_those_of_its_successor():
    d = driver()
    commit(d, "t", 0, 9)
    commit(d, "u", 0, 9)
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    successor = topic("t", 4, generation=2)
    d.change_topics(type(d.topics)([successor, topic("u", 4)], 2))
    assert fetch(d, "g", "t", 0) == MISSING, "the tombstone is lost, but the offset is of another topic"
    d.change_topics(image(3, u=4))
    assert fetch(d, "g", "u", 0) == (9, NONE)
    d.assert_replayable()


def test_deleting_a_topic_writes_tombstones():
    d = driver()
    commit(d, "t", 0, 9)
    d.ask(txn_commit_request("g", "t", 1, 5, producer_id=7), 5)
    d.change_topics(image(2, u=4))
    assert [decode_offsets_key(key) for key, value, _ in d.log if value is None] == [
        OffsetCommitKey("g", "t", 0),
        OffsetCommitKey("g", "t", 1),
    ]
    d.end_transaction(7, True)
    assert fetch(d, "g", "t", 1) == MISSING
    d.assert_replayable()


def test_offset_delete_spares_what_the_group_reads():
    d = driver()
    a = ClassicClient(d, "a", topics=("t",))
    stable_group(d, a)
    a.commit("t", 0, 1)
    a.commit("u", 0, 2)
    assert delete(d, "t", 0).topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert [p.error_code for p in delete(d, "u", 0, 1).topics[0].partitions] == [NONE, NONE]
    assert (fetch(d, "g", "t", 0), fetch(d, "g", "u", 0)) == ((1, NONE), MISSING)
    d.assert_replayable()


def test_after_a_restart_it_is_known_what_a_classic_group_reads():
    d = driver()
    a = ClassicClient(d, "a", topics=("t",))
    stable_group(d, a)
    a.commit("t", 0, 1)
    d.restart()
    assert delete(d, "t", 0).topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    assert delete(d, "u", 0).topics[0].partitions[0].error_code == NONE


def test_offset_delete_errors():
    d = driver()
    assert delete(d, "t", 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert delete(d, "t", 0, group="").error_code == ErrorCode.INVALID_GROUP_ID
    stable_group(d, ClassicClient(d, "a", protocol_type="connect"))
    assert delete(d, "t", 0).error_code == ErrorCode.NON_EMPTY_GROUP


# transactions


def test_offsets_of_a_transaction_are_pending_until_it_commits():
    d = driver()
    commit(d, "t", 0, 1)
    outcome = d.ask(txn_commit_request("g", "t", 0, 5, producer_id=7), 5)
    assert outcome.topics[0].partitions[0].error_code == NONE
    assert d.outcomes[-1].transaction == ("tx", 7, 0)
    assert fetch(d, "g", "t", 0) == (1, NONE)
    assert fetch(d, "g", "t", 0, require_stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert fetch(d, "g", "t", 1, require_stable=True) == MISSING
    d.assert_replayable()
    d.end_transaction(7, True)
    assert fetch(d, "g", "t", 0, require_stable=True) == (5, NONE)
    d.assert_replayable()


def test_offsets_of_an_aborted_transaction_are_nothing():
    d = driver()
    commit(d, "t", 0, 1)
    d.ask(txn_commit_request("g", "t", 0, 5, producer_id=7), 5)
    d.end_transaction(7, False)
    assert fetch(d, "g", "t", 0, require_stable=True) == (1, NONE)
    d.assert_replayable()


def test_a_later_commit_wins_over_the_marker_of_an_earlier_one():
    d = driver()
    d.ask(txn_commit_request("g", "t", 0, 5, producer_id=7), 5)
    commit(d, "t", 0, 6)
    d.end_transaction(7, True)
    assert fetch(d, "g", "t", 0) == (6, NONE)
    d.restart()
    assert fetch(d, "g", "t", 0) == (6, NONE)


def test_transactional_commits_are_fenced_by_generation_where_one_is_given():
    d = driver()
    a = ClassicClient(d, "a")
    stable_group(d, a)

    def commit_in_transaction(generation: int, member_id: str) -> int:
        request = txn_commit_request("g", "t", 0, 5, 7, generation, member_id)
        return d.ask(request, 5).topics[0].partitions[0].error_code

    assert commit_in_transaction(-1, "") == NONE, "clients of old say nothing"
    assert commit_in_transaction(1, a.member_id) == NONE
    assert commit_in_transaction(0, a.member_id) == ErrorCode.ILLEGAL_GENERATION
    assert commit_in_transaction(1, "x") == ErrorCode.UNKNOWN_MEMBER_ID
    missing = txn_commit_request("other", "t", 0, 5, 7, 1, "x")
    assert d.ask(missing, 5).topics[0].partitions[0].error_code == ErrorCode.ILLEGAL_GENERATION
    nameless = txn_commit_request("", "t", 0, 5, 7)
    assert d.ask(nameless, 5).topics[0].partitions[0].error_code == ErrorCode.INVALID_GROUP_ID


def test_a_transactional_commit_that_cannot_be_written_is_refused_for_every_partition():
    d = driver()
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    response = d.ask(txn_commit_request("g", "t", 0, 5, producer_id=7), 5)
    assert response.topics[0].partitions[0].error_code == ErrorCode.NOT_COORDINATOR
    d.append_errors = [ErrorCode.NOT_ENOUGH_REPLICAS]
    assert commit(d, "t", 0, 5) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert fetch(d, "g", "t", 0, require_stable=True) == MISSING
    assert d.groups == {}


# expiry


def test_offsets_of_who_manages_itself_expire_after_the_last_commit_and_the_group_with_them():
    d = driver()
    commit(d, "t", 0, 1)
    d.advance(6 * DAY_MS)
    commit(d, "t", 1, 1)
    d.advance(DAY_MS + 600_000)
    assert (fetch(d, "g", "t", 0), fetch(d, "g", "t", 1)) == (MISSING, (1, NONE))
    d.advance(6 * DAY_MS)
    assert d.groups == {}
    d.assert_replayable()


def test_offsets_of_a_group_expire_after_it_became_empty():
    d = driver()
    a = ClassicClient(d, "a", session_ms=1_800_000)
    stable_group(d, a)
    a.commit("t", 0, 1)
    for _ in range(9 * DAY_MS // 1_200_000):
        d.advance(1_200_000)
        assert a.heartbeat() is NONE
    assert fetch(d, "g", "t", 0) == (1, NONE), "members keep it"
    a.leave()
    d.advance(6 * DAY_MS)
    assert fetch(d, "g", "t", 0) == (1, NONE)
    d.advance(DAY_MS + 600_000)
    assert d.groups == {}
    d.assert_replayable()


def test_a_group_that_has_members_loses_what_it_does_not_read():
    d = driver(group_consumer_session_timeout_ms=30 * DAY_MS)
    a = ConsumerClient(d, "a")
    a.beat()
    a.commit("t", 0, 1)
    a.commit("u", 0, 1)
    d.advance(7 * DAY_MS + 600_000)
    assert (fetch(d, "g", "t", 0), fetch(d, "g", "u", 0)) == ((1, NONE), MISSING)


def test_an_offset_with_a_pending_successor_does_not_expire():
    d = driver()
    commit(d, "t", 0, 1)
    d.ask(txn_commit_request("g", "t", 0, 5, producer_id=7), 5)
    d.advance(8 * DAY_MS)
    assert fetch(d, "g", "t", 0) == (1, NONE)


def test_old_clients_say_how_long_an_offset_lives():
    d = driver(offsets_retention_check_interval_ms=1_000)
    request = commit_request("g", "t", 0, 1)
    request.retention_time_ms = 5_000
    assert isinstance(request, OffsetCommitRequest)
    d.ask(request, 4)
    key, value, _ = d.log[0]
    written = decode_offsets_value(decode_offsets_key(key), value)
    assert isinstance(written, OffsetCommitValue)
    assert (value[:2], written.expire_timestamp) == (b"\0\1", d.now_ms + 5_000)
    d.advance(4_999)
    assert fetch(d, "g", "t", 0) == (1, NONE)
    d.advance(1_000)
    assert fetch(d, "g", "t", 0) == MISSING


def test_expiry_that_could_not_be_written_is_tried_again():
    d = driver()
    commit(d, "t", 0, 1)
    d.append_errors = [ErrorCode.KAFKA_STORAGE_ERROR]
    d.advance(7 * DAY_MS + 1)
    assert d.append_errors == []
    assert fetch(d, "g", "t", 0) == (1, NONE)
    d.advance(500)
    assert d.groups == {}


def test_a_group_is_deleted_with_all_its_offsets_also_those_of_open_transactions():
    d = driver()
    commit(d, "t", 0, 1)
    d.ask(txn_commit_request("g", "u", 2, 5, producer_id=7), 5)
    assert d.ask(DeleteGroupsRequest(["g"]), 2).results[0].error_code == NONE
    d.end_transaction(7, True)
    assert d.groups == {}
    assert (fetch(d, "g", "t", 0), fetch(d, "g", "u", 2)) == (MISSING, MISSING)
    d.assert_replayable()
