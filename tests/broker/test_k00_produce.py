import struct
from dataclasses import replace

import pytest
from tests.broker.stage import NOW_MS, answer_of, batch_of, call, id_of, over_the_wire, send, values_of

from distributedlog.broker.handlers import k00_produce
from distributedlog.broker.pending import CLOSE_CONNECTION, Pending
from distributedlog.log.errors import DiskFull, LogDirectoryOffline, LogError
from distributedlog.records import (
    Compression,
    ControlType,
    TimestampType,
    build_control_batch,
    decode_batch,
    encode_batch,
    parse_header,
    write_crc,
)
from distributedlog.wire import ErrorCode
from distributedlog.wire.k00_produce import PartitionProduceData, ProduceRequest, TopicProduceData

NEWEST = 13


def request_of(*batches, topic="orders", acks=-1, timeout_ms=1000):
    """One batch for each partition from 0 on."""
    data = [PartitionProduceData(index, batch) for index, batch in enumerate(batches)]
    return ProduceRequest(None, acks, timeout_ms, [TopicProduceData(topic, id_of(topic), data)])


def produce(stage, *batches, version=NEWEST, topic="orders", acks=-1, client_id="test"):
    """The partitions' rows of the answer."""
    response = call(stage, k00_produce, 0, version, request_of(*batches, topic=topic, acks=acks), client_id)
    return response.responses[0].partition_responses


def produce_one(stage, batch, **options):
    return produce(stage, batch, **options)[0]


def stored(partition):
    region = partition.log.read(partition.log.log_start_offset, 1 << 20)
    return [] if region is None else values_of(region.read())


# -- the plain way ------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(3, NEWEST + 1))
def test_batches_get_offsets_and_are_stored(stage, version):
    partition = stage.add()
    first = produce_one(stage, batch_of(b"a", b"b"), version=version)
    second = produce_one(stage, batch_of(b"c"), version=version)
    assert (first.error_code, first.base_offset) == (0, 0)
    assert (second.error_code, second.base_offset, second.log_append_time_ms) == (0, 2, -1)
    if version >= 5:
        assert second.log_start_offset == 0
    assert stored(partition) == [b"a", b"b", b"c"]


def test_each_partition_has_its_own_answer(stage):
    stage.add(partitions=2)
    good, missing = produce(stage, batch_of(b"a"), batch_of(b"b"), batch_of(b"c"))[0:3:2]
    assert good.error_code == 0
    assert (missing.index, missing.error_code) == (2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert missing.base_offset == -1
    assert stored(stage.partitions.get("orders", 1)) == [b"b"]


def test_the_leader_epoch_is_written_into_the_batch(stage):
    partition = stage.add(leader_epoch=7)
    produce_one(stage, batch_of(b"a"))
    assert parse_header(partition.log.read(0, 1000).read()).partition_leader_epoch == 7


def test_an_unknown_topic_by_name(stage):
    assert produce_one(stage, batch_of(b"a"), version=12).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_an_unknown_topic_by_id(stage):
    assert produce_one(stage, batch_of(b"a"), version=13).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_known_topic_without_that_partition_by_id(stage):
    stage.add("orders")
    missing = produce(stage, batch_of(b"a"), batch_of(b"a"), version=13)[1]
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_request_for_nothing_is_answered_with_nothing(stage):
    assert call(stage, k00_produce, 0, NEWEST, ProduceRequest(acks=-1)).responses == []


# -- acks -----------------------------------------------------------------------------------------------


def test_acks_0_gets_no_response_at_all(stage):
    partition = stage.add()
    assert send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a"), acks=0)) is None
    assert stored(partition) == [b"a"]


def test_acks_0_closes_the_connection_on_an_error(stage):
    assert send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a"), acks=0)) is CLOSE_CONNECTION


@pytest.mark.parametrize("acks", [-2, 2, 1000])
def test_other_acks_are_refused(stage, acks):
    partition = stage.add()
    row = produce_one(stage, batch_of(b"a"), acks=acks)
    assert (row.error_code, row.base_offset) == (ErrorCode.INVALID_REQUIRED_ACKS, -1)
    assert stored(partition) == []


def test_acks_all_needs_min_insync_replicas(stage):
    partition = stage.add(min_insync_replicas=2)
    assert produce_one(stage, batch_of(b"a"), acks=-1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert stored(partition) == []
    assert produce_one(stage, batch_of(b"a"), acks=1).error_code == 0


# -- waiting for the disk ---------------------------------------------------------------------------------


@pytest.mark.parametrize("acks", [1, -1])
def test_flush_ack_answers_when_the_disk_has_it(stage, acks):
    partition = stage.add(flush="ack")
    stage.scheduler.holds_threads = True
    pending = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a"), acks=acks))
    assert isinstance(pending, Pending)
    stage.scheduler.run()
    assert not pending.is_done
    assert partition.log.high_watermark == 0
    stage.scheduler.run_threads()
    assert partition.log.recovery_point == partition.log.high_watermark == 1
    row = over_the_wire(0, NEWEST, answer_of(pending)).responses[0].partition_responses[0]
    assert (row.error_code, row.base_offset) == (0, 0)


@pytest.mark.parametrize("flush", ["interval", "os"])
def test_other_policies_answer_at_once(stage, flush):
    partition = stage.add(flush=flush)
    response = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a")))
    assert not isinstance(response, Pending)
    assert partition.log.high_watermark == 1


def test_acks_0_does_not_wait_for_the_disk(stage):
    stage.add(flush="ack")
    assert send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a"), acks=0)) is None


def test_requests_that_come_while_the_disk_works_share_the_next_flush(stage):
    stage.add(partitions=3, flush="ack")
    stage.scheduler.holds_threads = True
    first = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a")))
    stage.scheduler.run()
    later = [send(stage, k00_produce, 0, NEWEST, request_of(*[batch_of(b"b")] * 3)) for _ in range(20)]
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert first.is_done
    assert not any(pending.is_done for pending in later)
    stage.scheduler.run()
    stage.scheduler.run_threads()
    assert all(pending.is_done for pending in later)
    assert stage.partitions.flush_runner.rounds == 2
    assert stage.partitions.flush_runner.logs_synced == 4


def test_a_duplicate_waits_for_the_disk_too(stage):
    stage.add(flush="ack")
    stage.scheduler.holds_threads = True
    batch = batch_of(b"a", producer_id=5, producer_epoch=0, base_sequence=0)
    send(stage, k00_produce, 0, NEWEST, request_of(batch))
    again = send(stage, k00_produce, 0, NEWEST, request_of(batch))
    stage.scheduler.run()
    assert not again.is_done
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    row = answer_of(again).responses[0].partition_responses[0]
    assert (row.error_code, row.base_offset) == (0, 0)


def test_a_disk_slower_than_the_request_would_wait(stage):
    stage.add(flush="ack")
    stage.scheduler.holds_threads = True
    pending = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a"), timeout_ms=500))
    stage.scheduler.advance(499)
    assert not pending.is_done
    stage.scheduler.advance(1)
    row = answer_of(pending).responses[0].partition_responses[0]
    assert (row.error_code, row.base_offset) == (ErrorCode.REQUEST_TIMED_OUT, -1)
    stage.scheduler.run_threads()


def test_a_failed_fsync_is_told_and_nothing_is_written_any_more(stage):
    partition = stage.add(flush="ack")
    other = stage.add("other", flush="os")
    stage.scheduler.holds_threads = True
    pending = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"a")))
    stage.scheduler.run()
    _, _, failed = stage.scheduler.work.pop()
    failed(LogDirectoryOffline("data"))
    row = answer_of(pending).responses[0].partition_responses[0]
    assert row.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert partition.log.high_watermark == 0
    assert produce_one(stage, batch_of(b"b"), topic="other").error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert stored(other) == []


# -- what is refused --------------------------------------------------------------------------------------


def refused(stage, batch, code, **options):
    partition = stage.partitions.get("orders", 0) or stage.add()
    before = stored(partition)
    row = produce_one(stage, batch, **options)
    assert row.error_code == code, ErrorCode(row.error_code)
    assert row.base_offset == -1
    assert stored(partition) == before
    return row


def test_a_wrong_crc_is_a_corrupt_message(stage):
    batch = batch_of(b"abc")
    batch[-1] ^= 1
    refused(stage, batch, ErrorCode.CORRUPT_MESSAGE)


@pytest.mark.parametrize("magic", [0, 1])
def test_batches_of_magic_0_and_1_are_invalid_records(stage, magic):
    batch = batch_of(b"abc")
    batch[16] = magic
    refused(stage, batch, ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("magic", [0, 1])
def test_short_batches_of_magic_0_and_1_are_invalid_records(stage, magic):
    message = struct.pack(">qiIbb", 0, 14, 0, magic, 0) + struct.pack(">ii", -1, -1)
    refused(stage, message, ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("magic", [3, 127, 255])
def test_a_magic_that_no_format_has_is_a_corrupt_message(stage, magic):
    batch = batch_of(b"abc")
    batch[16] = magic
    refused(stage, batch, ErrorCode.CORRUPT_MESSAGE)


@pytest.mark.parametrize("batch", [None, b"", b"\x00" * 5, bytes(batch_of(b"abc"))[:-1]])
def test_no_whole_batch_is_an_invalid_record(stage, batch):
    refused(stage, batch, ErrorCode.INVALID_RECORD)


def test_two_batches_for_one_partition_are_refused(stage):
    refused(stage, batch_of(b"a") + batch_of(b"b"), ErrorCode.INVALID_RECORD)


def test_a_length_that_no_batch_has_is_a_corrupt_message(stage):
    batch = batch_of(b"a")
    struct.pack_into(">i", batch, 8, -5)
    refused(stage, batch, ErrorCode.CORRUPT_MESSAGE)


def test_a_base_offset_other_than_0_is_refused(stage):
    refused(stage, batch_of(b"a", base_offset=5), ErrorCode.INVALID_RECORD)


def test_control_batches_are_the_brokers_own(stage):
    marker = build_control_batch(ControlType.ABORT, NOW_MS, producer_id=1, producer_epoch=0)
    marker[22] &= ~0x10
    write_crc(marker)
    refused(stage, marker, ErrorCode.INVALID_RECORD)


def test_a_compression_that_does_not_exist_is_refused(stage):
    batch = batch_of(b"a")
    batch[22] |= 7
    write_crc(batch)
    refused(stage, batch, ErrorCode.INVALID_RECORD)


@pytest.mark.parametrize("count", [0, -1, 2**31 - 1])
def test_a_count_that_cannot_be_is_refused(stage, count):
    batch = batch_of(b"a")
    struct.pack_into(">i", batch, 57, count)
    struct.pack_into(">i", batch, 23, max(count - 1, 0))
    write_crc(batch)
    refused(stage, batch, ErrorCode.INVALID_RECORD)


def test_a_batch_over_max_message_bytes_is_too_large(stage):
    stage.add(max_message_bytes=200)
    row = refused(stage, batch_of(bytes(300)), ErrorCode.MESSAGE_TOO_LARGE)
    assert "200" in row.error_message
    assert produce_one(stage, batch_of(bytes(100))).error_code == 0


def test_a_batch_over_segment_bytes_is_a_list_too_large(stage):
    stage.add(segment_bytes=200)
    refused(stage, batch_of(bytes(300)), ErrorCode.RECORD_LIST_TOO_LARGE)


def test_zstd_is_refused_from_those_whose_version_does_not_know_it(stage):
    batch = batch_of(b"a", compression=Compression.ZSTD)
    refused(stage, batch, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, version=6)
    assert produce_one(stage, batch, version=7).error_code == 0


def test_a_batch_that_claims_log_append_time_is_refused(stage):
    batch = batch_of(b"a")
    batch[22] |= 0x08
    write_crc(batch)
    refused(stage, batch, ErrorCode.INVALID_TIMESTAMP)


def test_a_timestamp_too_far_in_the_future_names_the_record(stage):
    batch = encode_batch([(NOW_MS, None, b"a", ()), (NOW_MS + 3_600_001, None, b"b", ())])
    row = refused(stage, batch, ErrorCode.INVALID_TIMESTAMP)
    assert [error.batch_index for error in row.record_errors] == [1]
    assert row.log_start_offset == 0


def test_a_timestamp_too_far_in_the_past_is_found_behind_a_good_one(stage):
    stage.add(message_timestamp_before_max_ms=1000)
    batch = encode_batch([(NOW_MS, None, b"a", ()), (NOW_MS - 1001, None, b"b", ())])
    row = refused(stage, batch, ErrorCode.INVALID_TIMESTAMP)
    assert [error.batch_index for error in row.record_errors] == [1]


def test_internal_topics_are_not_for_clients(stage):
    stage.add("__consumer_offsets")
    row = produce_one(stage, batch_of(b"a"), topic="__consumer_offsets")
    assert row.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    row = produce_one(stage, batch_of(b"a"), topic="__consumer_offsets", client_id="__admin_client")
    assert row.error_code == 0


def test_a_partition_whose_log_cannot_be_opened_is_a_storage_error(stage, tmp_path):
    (tmp_path / "data" / "orders-0").write_bytes(b"in the way")
    with pytest.raises(LogError):
        stage.add()
    assert produce_one(stage, batch_of(b"a")).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_a_full_disk_is_a_storage_error(stage, monkeypatch):
    partition = stage.add()

    def full(*_, **__):
        raise DiskFull("data")

    monkeypatch.setattr(partition.log, "append_built", full, raising=True)
    refused(stage, batch_of(b"a"), ErrorCode.KAFKA_STORAGE_ERROR)
    monkeypatch.undo()
    assert produce_one(stage, batch_of(b"a")).error_code == 0


def test_a_bug_is_told_as_one_and_logged(stage, monkeypatch, caplog):
    partition = stage.add()
    monkeypatch.setattr(partition.log, "append_built", lambda *_, **__: 1 // 0)
    refused(stage, batch_of(b"a"), ErrorCode.UNKNOWN_SERVER_ERROR)
    assert "met a bug" in caplog.text


# -- compacted topics -------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", list(Compression))
def test_keyless_records_on_a_compacted_topic_are_invalid_records(stage, compression):
    partition = stage.add(cleanup_policy="compact")
    records = [(NOW_MS, key, b"v", ()) for key in (b"k", None, b"", None)]
    row = refused(stage, encode_batch(records, compression=compression), ErrorCode.INVALID_RECORD)
    assert [error.batch_index for error in row.record_errors] == [1, 3]
    assert row.error_message
    assert produce_one(stage, batch_of(b"v", key=b"", compression=compression)).error_code == 0
    assert stored(partition) == [b"v"]


def test_keyless_records_on_other_topics_are_fine(stage):
    stage.add()
    assert produce_one(stage, batch_of(b"a")).error_code == 0


# -- time and compression ---------------------------------------------------------------------------------


def test_log_append_time_is_the_brokers(stage):
    partition = stage.add(message_timestamp_type="LogAppendTime")
    row = produce_one(stage, batch_of(b"a", timestamp=5))
    assert row.log_append_time_ms == NOW_MS
    header = parse_header(partition.log.read(0, 1000).read())
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in decode_batch(partition.log.read(0, 1000).read())] == [NOW_MS]


@pytest.mark.parametrize("sent", list(Compression))
@pytest.mark.parametrize("kept", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_batches_are_stored_in_the_topics_codec(stage, sent, kept):
    partition = stage.add(compression_type=kept)
    batch = batch_of(
        b"a" * 100, b"b" * 100, compression=sent, producer_id=3, producer_epoch=1, base_sequence=0
    )
    assert produce_one(stage, batch).error_code == 0
    found = partition.log.read(0, 10_000).read()
    header = parse_header(found)
    assert header.compression.name.lower() == ("none" if kept == "uncompressed" else kept)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (3, 1, 0)
    assert values_of(found) == [b"a" * 100, b"b" * 100]


def test_batches_stay_as_they_came_where_the_producer_decides(stage):
    partition = stage.add()
    produce_one(stage, batch_of(b"a" * 100, compression=Compression.LZ4))
    assert parse_header(partition.log.read(0, 10_000).read()).compression is Compression.LZ4


def test_a_damaged_batch_is_not_recompressed_into_a_sound_one(stage):
    stage.add(compression_type="lz4")
    batch = batch_of(b"abcdefgh")
    batch[-2] ^= 1
    refused(stage, batch, ErrorCode.CORRUPT_MESSAGE)


def test_compressed_rubbish_is_a_corrupt_message(stage):
    stage.add(compression_type="uncompressed")
    batch = batch_of(b"a" * 100)
    batch[22] |= Compression.ZSTD
    write_crc(batch)
    refused(stage, batch, ErrorCode.CORRUPT_MESSAGE)


def test_large_batches_are_recompressed_in_a_thread_and_keep_their_turn(stage):
    partition = stage.add(compression_type="lz4")
    stage.scheduler.holds_threads = True
    large = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(bytes(50_000))))
    small = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"small")))
    second = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(bytes(60_000))))
    last = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(b"last"), acks=0))
    assert stored(partition) == []
    stage.scheduler.run_threads()
    assert small.is_done
    assert not second.is_done
    stage.scheduler.run_threads()
    offsets = [
        answer_of(pending).responses[0].partition_responses[0].base_offset
        for pending in (large, small, second)
    ]
    assert offsets == [0, 1, 2]
    assert answer_of(last) is None
    assert stored(partition) == [bytes(50_000), b"small", bytes(60_000), b"last"]


def test_sequences_keep_their_order_around_a_recompression(stage):
    partition = stage.add(compression_type="gzip")
    stage.scheduler.holds_threads = True
    producer = {"producer_id": 9, "producer_epoch": 0}
    waiting = [
        send(stage, k00_produce, 0, NEWEST, request_of(batch_of(value, base_sequence=number, **producer)))
        for number, value in enumerate([bytes(40_000), b"1", b"2", bytes(40_000), b"4"])
    ]
    while stage.scheduler.work:
        stage.scheduler.run_threads()
    rows = [answer_of(pending).responses[0].partition_responses[0] for pending in waiting]
    assert [(row.error_code, row.base_offset) for row in rows] == [(0, number) for number in range(5)]
    assert partition.log.log_end_offset == 5


def test_a_topic_deleted_during_a_recompression(stage):
    stage.add(compression_type="gzip")
    stage.scheduler.holds_threads = True
    pending = send(stage, k00_produce, 0, NEWEST, request_of(batch_of(bytes(40_000))))
    stage.delete("orders")
    stage.scheduler.run_threads()
    row = answer_of(pending).responses[0].partition_responses[0]
    assert row.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- idempotent producers -----------------------------------------------------------------------------------


def idempotent(value, sequence, *, epoch=0, producer_id=42):
    return batch_of(value, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def test_duplicates_are_answered_with_the_first_appends_offset(stage):
    partition = stage.add()
    produce_one(stage, batch_of(b"other"))
    batches = [idempotent(b"%d" % number, number) for number in range(5)]
    first = [produce_one(stage, batch).base_offset for batch in batches]
    again = [produce_one(stage, batch) for batch in batches]
    assert [row.base_offset for row in again] == first == [1, 2, 3, 4, 5]
    assert all(row.error_code == 0 for row in again)
    assert len(stored(partition)) == 6


def test_a_gap_in_the_sequences_is_out_of_order(stage):
    stage.add()
    produce_one(stage, idempotent(b"a", 0))
    row = refused(stage, idempotent(b"c", 2), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert row.log_start_offset == 0
    assert produce_one(stage, idempotent(b"b", 1)).error_code == 0


def test_the_sixth_batch_back_is_no_duplicate_any_more(stage):
    stage.add()
    for number in range(6):
        produce_one(stage, idempotent(b"a", number))
    refused(stage, idempotent(b"a", 0), ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)


def test_sequences_go_on_with_0_after_the_largest(stage):
    stage.add()
    assert produce_one(stage, idempotent(b"a", 2**31 - 1)).error_code == 0
    assert produce_one(stage, idempotent(b"b", 0)).error_code == 0


def test_an_old_epoch_is_fenced(stage):
    stage.add()
    produce_one(stage, idempotent(b"a", 0, epoch=1))
    refused(stage, idempotent(b"b", 1, epoch=0), ErrorCode.INVALID_PRODUCER_EPOCH)


def test_a_producer_id_without_a_sequence_is_refused(stage):
    batch = batch_of(b"a", producer_id=4, producer_epoch=0)
    refused(stage, batch, ErrorCode.INVALID_RECORD)


def test_other_replicas_may_be_demanded_at_run_time(stage):
    partition = stage.add()
    stage.partitions.configure(
        "orders", replace(partition.log.config, max_message_bytes=100), partition.flush_policy
    )
    refused(stage, batch_of(bytes(200)), ErrorCode.MESSAGE_TOO_LARGE)


def test_who_is_above_the_quota_is_told_to_wait_and_is_served_all_the_same(stage):
    partition = stage.add()
    stage.image.client_quotas = {(("client-id", "test"),): {"producer_byte_rate": 100.0}}
    response = call(stage, k00_produce, 0, NEWEST, request_of(batch_of(bytes(5000))))
    assert response.throttle_time_ms > 0
    assert response.responses[0].partition_responses[0].error_code == 0
    assert stored(partition) == [bytes(5000)]
