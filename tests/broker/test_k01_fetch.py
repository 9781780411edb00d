import pytest
from tests.broker.stage import (
    NOW_MS,
    Stage,
    answer_of,
    append_in_transaction,
    batch_of,
    call,
    id_of,
    over_the_wire,
    send,
    values_of,
)

from distributedlog.broker.handlers import k01_fetch
from distributedlog.broker.pending import Pending
from distributedlog.log import AppendOrigin, FileRegion
from distributedlog.records import ControlType, build_control_batch, iterate_batches
from distributedlog.wire import ErrorCode
from distributedlog.wire.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)

NEWEST = 18
#: -1 is no session, 0 begins one.
NO_SESSION, NEW_SESSION = -1, 0
READ_COMMITTED = 1


def partition_at(offset, index=0, *, max_bytes=1 << 20, epoch=-1, **fields):
    return FetchPartition(index, epoch, offset, partition_max_bytes=max_bytes, **fields)


def topic_of(*partitions, topic="orders"):
    return FetchTopic(topic, id_of(topic), list(partitions))


def request_of(*topics, wait_ms=0, min_bytes=1, max_bytes=1 << 20, session=(0, NO_SESSION), **fields):
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        session_id=session[0],
        session_epoch=session[1],
        topics=list(topics),
        **fields,
    )


def fetch(stage, *topics, version=NEWEST, **options):
    return call(stage, k01_fetch, 1, version, request_of(*topics, **options))


def begin(stage, *topics, version=NEWEST, **options):
    """A fetch that waits."""
    pending = send(stage, k01_fetch, 1, version, request_of(*topics, **{"wait_ms": 500, **options}))
    assert isinstance(pending, Pending)
    return pending


def rows_of(response):
    return [(row.partition_index, row) for topic in response.responses for row in topic.partitions]


def row_of(response):
    ((_, row),) = rows_of(response)
    return row


def append(partition, *values, **fields):
    return partition.append(batch_of(*values, **fields), now_ms=NOW_MS)


# -- the plain way ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4, NEWEST + 1))
def test_records_from_an_offset_on(stage, version):
    partition = stage.add()
    append(partition, b"a")
    append(partition, b"b")
    session = {"session": (0, NO_SESSION)} if version >= 7 else {}
    response = fetch(stage, topic_of(partition_at(1)), version=version, **session)
    row = row_of(response)
    assert (row.error_code, row.high_watermark, row.last_stable_offset) == (0, 2, 2)
    assert values_of(row.records) == [b"b"]
    assert row.aborted_transactions is None
    named = response.responses[0]
    assert named.topic_id == id_of("orders") if version >= 13 else named.topic == "orders"


def test_records_go_out_as_regions_of_the_file(stage):
    append(stage.add(), b"a")
    response = send(stage, k01_fetch, 1, NEWEST, request_of(topic_of(partition_at(0))))
    assert isinstance(response.responses[0].partitions[0].records, FileRegion)


def test_from_the_middle_of_a_batch_the_whole_batch_comes(stage):
    append(stage.add(), b"a", b"b", b"c")
    assert values_of(row_of(fetch(stage, topic_of(partition_at(1)))).records) == [b"a", b"b", b"c"]


def test_at_the_end_there_is_nothing(stage):
    append(stage.add(), b"a")
    row = row_of(fetch(stage, topic_of(partition_at(1))))
    assert (row.error_code, row.records, row.high_watermark) == (0, b"", 1)


@pytest.mark.parametrize("offset", [-1, 3])
def test_outside_the_log_is_offset_out_of_range(stage, offset):
    append(stage.add(), b"a", b"b")
    row = row_of(fetch(stage, topic_of(partition_at(offset))))
    assert (row.error_code, row.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert row.log_start_offset == row.last_stable_offset == -1


def test_below_the_log_start_is_offset_out_of_range(stage):
    partition = stage.add()
    append(partition, b"a", b"b")
    partition.log.delete_records_before(1)
    assert row_of(fetch(stage, topic_of(partition_at(0)))).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert row_of(fetch(stage, topic_of(partition_at(1)))).log_start_offset == 1


def test_records_that_are_not_yet_safe_are_not_shown(stage):
    partition = stage.add(flush="ack")
    stage.scheduler.holds_threads = True
    append(partition, b"a")
    row = row_of(fetch(stage, topic_of(partition_at(0))))
    assert (row.high_watermark, row.records) == (0, b"")
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert values_of(row_of(fetch(stage, topic_of(partition_at(0)))).records) == [b"a"]


# -- what is not there ------------------------------------------------------------------------------------


def test_unknown_by_name(stage):
    row = row_of(fetch(stage, topic_of(partition_at(0)), version=12))
    assert (row.error_code, row.high_watermark) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)


def test_unknown_by_id(stage):
    assert row_of(fetch(stage, topic_of(partition_at(0)))).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_zero_id_is_unknown(stage):
    stage.add()
    response = fetch(stage, FetchTopic("", bytes(16), [partition_at(0)]))
    assert row_of(response).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_partition_that_the_topic_does_not_have(stage):
    stage.add()
    row = row_of(fetch(stage, topic_of(partition_at(0, index=5))))
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_made_anew_has_another_id(stage):
    stage.add("old")
    append(stage.add("orders"), b"a")
    response = fetch(stage, FetchTopic("", id_of("never"), [partition_at(0)]), topic_of(partition_at(0)))
    assert [row.error_code for _, row in rows_of(response)] == [ErrorCode.UNKNOWN_TOPIC_ID, 0]


@pytest.mark.parametrize(
    ("epoch", "error"), [(4, ErrorCode.FENCED_LEADER_EPOCH), (5, 0), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_leader_epochs_are_fenced(stage, epoch, error):
    stage.add(leader_epoch=5)
    assert row_of(fetch(stage, topic_of(partition_at(0, epoch=epoch)))).error_code == error


@pytest.mark.parametrize(
    ("version", "fields"), [(14, {"replica_id": 2}), (15, {"replica_state": ReplicaState(2)})]
)
def test_followers_are_none_of_ours(stage, version, fields):
    stage.add()
    row = row_of(fetch(stage, topic_of(partition_at(0)), version=version, **fields))
    assert row.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_zstd_topics_are_refused_to_those_who_cannot_read_it(stage):
    stage.add(compression_type="zstd")
    for version, error in ((9, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (10, 0)):
        assert row_of(fetch(stage, topic_of(partition_at(0)), version=version)).error_code == error


def test_diverging_logs(stage):
    partition = stage.add(leader_epoch=1)
    append(partition, b"a", b"b")
    partition.leader_epoch = 4
    append(partition, b"c")
    row = row_of(fetch(stage, topic_of(partition_at(3, last_fetched_epoch=2)), wait_ms=500))
    assert (row.diverging_epoch.epoch, row.diverging_epoch.end_offset) == (1, 2)
    assert row.records == b""
    row = row_of(fetch(stage, topic_of(partition_at(2, last_fetched_epoch=4))))
    assert row.diverging_epoch.epoch == -1
    assert values_of(row.records) == [b"c"]


# -- limits -----------------------------------------------------------------------------------------------


def test_a_first_batch_larger_than_all_limits_comes_whole(stage):
    append(stage.add(), bytes(5000))
    row = row_of(fetch(stage, topic_of(partition_at(0, max_bytes=10)), max_bytes=20))
    assert values_of(row.records) == [bytes(5000)]


def test_only_the_first_batch_of_the_response_may_be_too_large(stage):
    stage.add(partitions=3)
    for index in range(3):
        append(stage.partitions.get("orders", index), bytes(5000))
    response = fetch(stage, topic_of(*(partition_at(0, index, max_bytes=10) for index in (2, 0, 1))))
    sizes = {index: len(row.records) for index, row in rows_of(response)}
    assert list(sizes) == [2, 0, 1]
    assert sizes[2] > 5000
    assert sizes[0] == sizes[1] == 0


def test_partition_max_bytes(stage):
    partition = stage.add()
    for _ in range(10):
        append(partition, bytes(1000))
    row = row_of(fetch(stage, topic_of(partition_at(0, max_bytes=3500))))
    assert len(row.records) <= 3500
    assert len(list(iterate_batches(row.records))) == 3


def test_max_bytes_is_for_all_partitions_together(stage):
    stage.add(partitions=3)
    for index in range(3):
        for _ in range(3):
            append(stage.partitions.get("orders", index), bytes(1000))
    response = fetch(stage, topic_of(*(partition_at(0, index) for index in range(3))), max_bytes=5000)
    sizes = [len(row.records) for _, row in rows_of(response)]
    assert sum(sizes) <= 5000
    assert sizes[0] > 3000
    assert sizes[2] == 0
    assert all(row.error_code == 0 and row.high_watermark == 3 for _, row in rows_of(response))


def test_the_brokers_own_limit_counts_too(tmp_path):
    stage = Stage(tmp_path, config={"fetch.max.bytes": "2500"})
    partition = stage.add()
    for _ in range(10):
        append(partition, bytes(1000))
    assert len(row_of(fetch(stage, topic_of(partition_at(0)))).records) <= 2500
    stage.directory.abandon()


# -- waiting ----------------------------------------------------------------------------------------------


def test_a_fetch_waits_for_records(stage):
    partition = stage.add()
    pending = begin(stage, topic_of(partition_at(0)))
    stage.scheduler.advance(100)
    assert not pending.is_done
    append(partition, b"a")
    stage.scheduler.run()
    assert values_of(row_of(over_the_wire(1, NEWEST, answer_of(pending))).records) == [b"a"]
    assert stage.scheduler.live_timers == len(stage.waiting_fetches) == len(partition.watchers) == 0


def test_a_fetch_waits_no_longer_than_it_says(stage):
    partition = stage.add()
    pending = begin(stage, topic_of(partition_at(0)), wait_ms=500)
    stage.scheduler.advance(499)
    assert not pending.is_done
    stage.scheduler.advance(1)
    row = row_of(over_the_wire(1, NEWEST, answer_of(pending)))
    assert (row.error_code, row.records) == (0, b"")
    assert not partition.watchers


def test_a_fetch_waits_for_min_bytes(stage):
    partition = stage.add()
    size = len(batch_of(bytes(100)))
    append(partition, bytes(100))
    pending = begin(stage, topic_of(partition_at(0)), min_bytes=3 * size)
    append(partition, bytes(100))
    stage.scheduler.run()
    assert not pending.is_done
    append(partition, bytes(100))
    stage.scheduler.run()
    assert len(row_of(over_the_wire(1, NEWEST, answer_of(pending))).records) == 3 * size


def test_min_bytes_are_of_all_partitions_together(stage):
    stage.add(partitions=2)
    size = len(batch_of(bytes(100)))
    pending = begin(stage, topic_of(partition_at(0, 0), partition_at(0, 1)), min_bytes=2 * size)
    append(stage.partitions.get("orders", 0), bytes(100))
    stage.scheduler.run()
    assert not pending.is_done
    append(stage.partitions.get("orders", 1), bytes(100))
    stage.scheduler.run()
    assert pending.is_done


def test_min_bytes_above_max_bytes_are_cut_down(stage):
    partition = stage.add()
    append(partition, bytes(100))
    response = fetch(stage, topic_of(partition_at(0)), wait_ms=500, min_bytes=1 << 30, max_bytes=100)
    assert values_of(row_of(response).records) == [bytes(100)]


def test_min_bytes_0_does_not_wait(stage):
    stage.add()
    assert row_of(fetch(stage, topic_of(partition_at(0)), wait_ms=500, min_bytes=0)).records == b""


def test_only_appends_to_its_partitions_wake_a_fetch(stage):
    partition = stage.add(partitions=2)
    pending = begin(stage, topic_of(partition_at(0, 1)))
    append(partition, b"a")
    stage.scheduler.run()
    assert not pending.is_done


def test_a_fetch_is_woken_when_the_disk_has_the_records(stage):
    partition = stage.add(flush="ack")
    pending = begin(stage, topic_of(partition_at(0)))
    stage.scheduler.holds_threads = True
    append(partition, b"a")
    stage.scheduler.run()
    assert not pending.is_done
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert values_of(row_of(over_the_wire(1, NEWEST, answer_of(pending))).records) == [b"a"]


def test_a_fetch_between_the_high_watermark_and_the_end_waits_for_its_offset(stage):
    partition = stage.add(flush="ack")
    stage.scheduler.holds_threads = True
    append(partition, b"a")
    pending = begin(stage, topic_of(partition_at(1)))
    stage.scheduler.run()
    stage.scheduler.run_threads()
    stage.scheduler.run()
    assert partition.log.high_watermark == 1
    assert not pending.is_done
    append(partition, b"b")
    stage.scheduler.run()
    stage.scheduler.run_threads()
    stage.scheduler.run()
    assert values_of(row_of(over_the_wire(1, NEWEST, answer_of(pending))).records) == [b"b"]


def test_appends_of_one_turn_come_in_one_response(stage):
    partition = stage.add()
    pending = begin(stage, topic_of(partition_at(0)))
    append(partition, b"a")
    append(partition, b"b")
    stage.scheduler.run()
    assert values_of(row_of(over_the_wire(1, NEWEST, answer_of(pending))).records) == [b"a", b"b"]


def test_an_error_is_told_at_once(stage):
    stage.add(partitions=2)
    response = fetch(stage, topic_of(partition_at(0), partition_at(99, 1)), wait_ms=500)
    assert [row.error_code for _, row in rows_of(response)] == [0, ErrorCode.OFFSET_OUT_OF_RANGE]


def test_nothing_but_unknown_partitions_is_told_at_once(stage):
    response = fetch(stage, topic_of(partition_at(0)), wait_ms=500)
    assert row_of(response).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_unknown_partition_among_others_waits_with_them(stage):
    stage.add()
    pending = begin(stage, topic_of(partition_at(0), partition_at(0, 7)))
    stage.scheduler.advance(500)
    response = over_the_wire(1, NEWEST, answer_of(pending))
    assert [row.error_code for _, row in rows_of(response)] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_deleting_a_topic_wakes_its_readers(stage):
    stage.add()
    pending = begin(stage, topic_of(partition_at(0)))
    stage.delete("orders")
    stage.scheduler.run()
    row = row_of(over_the_wire(1, NEWEST, answer_of(pending)))
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_client_that_is_gone_leaves_nothing_behind(stage):
    partition = stage.add()
    begin(stage, topic_of(partition_at(0))).abandon()
    assert len(stage.waiting_fetches) == len(partition.watchers) == stage.scheduler.live_timers == 0
    append(partition, b"a")
    stage.scheduler.run()


def test_the_end_of_the_broker_answers_who_waits(stage):
    stage.add()
    pending = begin(stage, topic_of(partition_at(0)))
    stage.waiting_fetches.close()
    assert row_of(over_the_wire(1, NEWEST, answer_of(pending))).records == b""


def test_a_bug_in_the_answer_is_answered(stage, monkeypatch, caplog):
    partition = stage.add()
    pending = begin(stage, topic_of(partition_at(0)))
    monkeypatch.setattr(partition.log, "read", lambda *_, **__: 1 // 0)
    append(partition, b"a")
    stage.scheduler.run()
    assert over_the_wire(1, NEWEST, answer_of(pending)).error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    assert "could not be answered" in caplog.text


# -- transactions -----------------------------------------------------------------------------------------


def transactional(partition, value, sequence, producer_id=7):
    fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": sequence}
    append_in_transaction(partition, batch_of(value, is_transactional=True, **fields))


def end_transaction(partition, control_type, producer_id=7):
    marker = build_control_batch(control_type, NOW_MS, producer_id=producer_id, producer_epoch=0)
    partition.append(marker, now_ms=NOW_MS, origin=AppendOrigin.COORDINATOR)


def test_read_committed_stops_at_the_last_stable_offset(stage):
    partition = stage.add()
    append(partition, b"plain")
    transactional(partition, b"open", 0)
    append(partition, b"behind")
    row = row_of(fetch(stage, topic_of(partition_at(0)), isolation_level=READ_COMMITTED))
    assert (row.high_watermark, row.last_stable_offset) == (3, 1)
    assert values_of(row.records) == [b"plain"]
    assert row.aborted_transactions == []
    row = row_of(fetch(stage, topic_of(partition_at(0))))
    assert values_of(row.records) == [b"plain", b"open", b"behind"]


def test_aborted_transactions_are_named(stage):
    partition = stage.add()
    transactional(partition, b"a", 0)
    end_transaction(partition, ControlType.ABORT)
    transactional(partition, b"b", 1)
    end_transaction(partition, ControlType.COMMIT)
    append(partition, b"c")
    row = row_of(fetch(stage, topic_of(partition_at(0)), isolation_level=READ_COMMITTED))
    assert [(one.producer_id, one.first_offset) for one in row.aborted_transactions] == [(7, 0)]
    assert row.last_stable_offset == 5
    row = row_of(fetch(stage, topic_of(partition_at(2)), isolation_level=READ_COMMITTED))
    assert row.aborted_transactions == []


def test_aborted_transactions_behind_what_is_sent_are_not_named(stage):
    partition = stage.add()
    append(partition, bytes(1000))
    transactional(partition, b"a", 0)
    end_transaction(partition, ControlType.ABORT)
    topic = topic_of(partition_at(0, max_bytes=1070))
    row = row_of(fetch(stage, topic, isolation_level=READ_COMMITTED))
    assert values_of(row.records) == [bytes(1000)]
    assert row.aborted_transactions == []


def test_the_end_of_a_transaction_wakes_readers_of_committed_records(stage):
    partition = stage.add()
    pending = begin(stage, topic_of(partition_at(0)), isolation_level=READ_COMMITTED)
    transactional(partition, b"a", 0)
    append(partition, b"b")
    stage.scheduler.run()
    assert not pending.is_done
    end_transaction(partition, ControlType.COMMIT)
    stage.scheduler.run()
    assert values_of(row_of(over_the_wire(1, NEWEST, answer_of(pending))).records) == [b"a", b"b"]


def test_readers_of_committed_records_count_what_a_transaction_held_back(stage):
    partition = stage.add()
    pending = begin(stage, topic_of(partition_at(0)), isolation_level=READ_COMMITTED, min_bytes=1000)
    transactional(partition, bytes(1200), 0)
    stage.scheduler.run()
    assert not pending.is_done
    end_transaction(partition, ControlType.COMMIT)
    stage.scheduler.run()
    assert pending.is_done


# -- sessions -----------------------------------------------------------------------------------------------


def open_session(stage, *topics, **options):
    response = fetch(stage, *topics, session=(0, NEW_SESSION), **options)
    assert response.session_id > 0
    return response


def test_a_session_sends_only_what_is_new(stage):
    stage.add(partitions=3)
    first = open_session(stage, topic_of(*(partition_at(0, index) for index in range(3))))
    assert [index for index, _ in rows_of(first)] == [0, 1, 2]
    assert fetch(stage, session=(first.session_id, 1)).responses == []
    append(stage.partitions.get("orders", 1), b"a")
    second = fetch(stage, session=(first.session_id, 2))
    assert second.session_id == first.session_id
    assert [index for index, _ in rows_of(second)] == [1]
    third = fetch(stage, topic_of(partition_at(1, 1)), session=(first.session_id, 3))
    assert third.responses == []


def test_a_session_forgets_and_adds_partitions(stage):
    stage.add(partitions=3)
    session_id = open_session(stage, topic_of(partition_at(0, 0), partition_at(0, 1))).session_id
    forgotten = [ForgottenTopic("orders", id_of("orders"), [0])]
    response = fetch(
        stage, topic_of(partition_at(0, 2)), session=(session_id, 1), forgotten_topics_data=forgotten
    )
    assert [index for index, _ in rows_of(response)] == [2]
    for index in range(3):
        append(stage.partitions.get("orders", index), b"a")
    response = fetch(stage, session=(session_id, 2))
    assert sorted(index for index, _ in rows_of(response)) == [1, 2]


def test_partitions_that_had_records_go_to_the_end_of_the_line(stage):
    stage.add(partitions=3)
    session_id = open_session(stage, topic_of(*(partition_at(0, index) for index in range(3)))).session_id
    for index in range(3):
        for _ in range(3):
            append(stage.partitions.get("orders", index), bytes(1000))
    served = []
    for epoch in range(1, 4):
        response = fetch(stage, session=(session_id, epoch), max_bytes=1100)
        served.append(next(index for index, row in rows_of(response) if row.records))
    assert served == [0, 1, 2]


def test_an_unknown_session(stage):
    stage.add()
    response = fetch(stage, session=(12345, 1))
    assert (response.error_code, response.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
    assert response.responses == []


@pytest.mark.parametrize("epoch", [2, 7])
def test_an_epoch_that_is_not_the_next(stage, epoch):
    stage.add()
    session_id = open_session(stage, topic_of(partition_at(0))).session_id
    response = fetch(stage, session=(session_id, epoch))
    assert response.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert fetch(stage, session=(session_id, 1)).error_code == 0
    assert fetch(stage, session=(session_id, 1)).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH


def test_a_session_of_names_does_not_go_on_with_ids(stage):
    stage.add()
    session_id = open_session(stage, topic_of(partition_at(0)), version=12).session_id
    response = fetch(stage, session=(session_id, 1), version=13)
    assert response.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_full_request_ends_the_session_that_it_names(stage):
    stage.add()
    old = open_session(stage, topic_of(partition_at(0))).session_id
    new = fetch(stage, topic_of(partition_at(0)), session=(old, NEW_SESSION)).session_id
    assert new not in (0, old)
    assert fetch(stage, session=(old, 1)).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert fetch(stage, topic_of(partition_at(0)), session=(new, NO_SESSION)).session_id == 0
    assert len(stage.fetch_sessions) == 0


def test_a_session_without_partitions_is_closed(stage):
    stage.add()
    session_id = open_session(stage, topic_of(partition_at(0))).session_id
    forgotten = [ForgottenTopic("orders", id_of("orders"), [0])]
    response = fetch(stage, session=(session_id, 1), forgotten_topics_data=forgotten, wait_ms=500)
    assert (response.session_id, response.responses) == (0, [])
    assert len(stage.fetch_sessions) == 0


def test_a_waiting_session_fetch_is_answered_with_what_is_new(stage):
    stage.add(partitions=2)
    session_id = open_session(stage, topic_of(partition_at(0, 0), partition_at(0, 1))).session_id
    pending = begin(stage, session=(session_id, 1))
    append(stage.partitions.get("orders", 1), b"a")
    stage.scheduler.run()
    response = over_the_wire(1, NEWEST, answer_of(pending))
    assert [index for index, _ in rows_of(response)] == [1]
    pending = begin(stage, topic_of(partition_at(1, 1)), session=(session_id, 2))
    stage.scheduler.advance(500)
    assert over_the_wire(1, NEWEST, answer_of(pending)).responses == []


def test_a_fetch_that_was_overtaken_in_its_session_is_told_so(stage):
    stage.add()
    session_id = open_session(stage, topic_of(partition_at(0))).session_id
    first = begin(stage, session=(session_id, 1))
    second = begin(stage, session=(session_id, 2))
    stage.scheduler.advance(500)
    assert answer_of(first).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert answer_of(second).error_code == 0


def test_an_error_is_told_in_every_answer_of_a_session_and_its_end_too(stage):
    partition = stage.add()
    append(partition, b"a")
    session_id = open_session(stage, topic_of(partition_at(9))).session_id
    for epoch in (1, 2):
        row = row_of(fetch(stage, session=(session_id, epoch)))
        assert row.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    row = row_of(fetch(stage, topic_of(partition_at(1)), session=(session_id, 3)))
    assert (row.error_code, row.high_watermark, row.records) == (0, 1, b"")


def test_a_new_log_start_is_news(stage):
    partition = stage.add()
    append(partition, b"a", b"b")
    session_id = open_session(stage, topic_of(partition_at(2))).session_id
    assert fetch(stage, session=(session_id, 1)).responses == []
    partition.log.delete_records_before(1)
    assert row_of(fetch(stage, session=(session_id, 2))).log_start_offset == 1


def test_versions_before_sessions_have_none(stage):
    stage.add()
    response = call(stage, k01_fetch, 1, 6, request_of(topic_of(partition_at(0)), session=(0, -1)))
    assert response.session_id == 0
    assert len(stage.fetch_sessions) == 0


# -- quotas -------------------------------------------------------------------------------------------------


def test_who_is_above_the_quota_waits_and_then_gets_his_records(stage):
    stage.image.client_quotas = {(("client-id", "test"),): {"consumer_byte_rate": 1000.0}}
    partition = stage.add()
    for _ in range(4):
        append(partition, bytes(5000))
    first = fetch(stage, topic_of(partition_at(0, max_bytes=6000)), wait_ms=500)
    assert (first.throttle_time_ms, len(values_of(row_of(first).records))) == (0, 1)
    throttled = fetch(stage, topic_of(partition_at(1, max_bytes=6000)), session=(0, NEW_SESSION))
    assert throttled.throttle_time_ms > 0
    assert (throttled.responses, throttled.session_id, throttled.error_code) == ([], 0, 0)
    stage.scheduler.advance(throttled.throttle_time_ms + 10_000)
    later = fetch(stage, topic_of(partition_at(1, max_bytes=6000)))
    assert (later.throttle_time_ms, len(values_of(row_of(later).records))) == (0, 1)


def test_no_response_is_larger_than_a_quota_allows_at_all(stage):
    stage.image.client_quotas = {(("client-id", "test"),): {"consumer_byte_rate": 100.0}}
    partition = stage.add()
    for _ in range(10):
        append(partition, bytes(300))
    response = fetch(stage, topic_of(partition_at(0)))
    assert response.throttle_time_ms == 0
    assert 0 < len(row_of(response).records) <= 1000


def test_a_throttled_session_goes_on(stage):
    partition = stage.add()
    session_id = open_session(stage, topic_of(partition_at(0))).session_id
    append(partition, bytes(5000))
    stage.image.client_quotas = {(("client-id", "test"),): {"consumer_byte_rate": 100.0}}
    throttled = fetch(stage, session=(session_id, 1))
    assert throttled.throttle_time_ms > 0
    assert (throttled.session_id, throttled.error_code, throttled.responses) == (session_id, 0, [])
    stage.image.client_quotas = {}
    assert values_of(row_of(fetch(stage, session=(session_id, 2))).records) == [bytes(5000)]
