import pytest
from tests.broker.stage import NOW_MS, append_in_transaction, batch_of, call

from distributedlog.broker.handlers import k02_list_offsets
from distributedlog.records import Compression, encode_batch
from distributedlog.wire import ErrorCode
from distributedlog.wire.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

NEWEST = 11
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
READ_COMMITTED = 1


def look_up(stage, timestamp, *, version=NEWEST, isolation=0, replica_id=-1, epoch=-1, topic="orders"):
    request = ListOffsetsRequest(
        replica_id,
        isolation if version >= 2 else 0,
        [ListOffsetsTopic(topic, [ListOffsetsPartition(0, epoch, timestamp)])],
    )
    return call(stage, k02_list_offsets, 2, version, request).topics[0].partitions[0]


def found(row):
    assert row.error_code == 0
    return row.timestamp, row.offset, row.leader_epoch


def append(partition, *timestamps, compression=Compression.NONE):
    records = [(timestamp, None, b"v", ()) for timestamp in timestamps]
    partition.append(encode_batch(records, compression=compression), now_ms=NOW_MS)


@pytest.mark.parametrize("version", range(1, NEWEST + 1))
def test_earliest_and_latest(stage, version):
    partition = stage.add(leader_epoch=3)
    append(partition, 10, 20, 30)
    partition.log.delete_records_before(1)
    epoch = 3 if version >= 4 else -1
    assert found(look_up(stage, EARLIEST, version=version)) == (-1, 1, epoch)
    assert found(look_up(stage, LATEST, version=version)) == (-1, 3, epoch)


def test_an_empty_log(stage):
    stage.add()
    assert found(look_up(stage, EARLIEST))[:2] == (-1, 0)
    assert found(look_up(stage, LATEST))[:2] == (-1, 0)
    assert found(look_up(stage, MAX_TIMESTAMP)) == (-1, -1, -1)
    assert found(look_up(stage, 5)) == (-1, -1, -1)


@pytest.mark.parametrize("compression", list(Compression))
def test_by_time_exact_to_the_record(stage, compression):
    partition = stage.add(leader_epoch=2)
    append(partition, 100, 110, 105, compression=compression)
    append(partition, 120, 120, compression=compression)
    for timestamp, expected in {
        0: (100, 0, 2),
        100: (100, 0, 2),
        101: (110, 1, 2),
        111: (120, 3, 2),
        120: (120, 3, 2),
        121: (-1, -1, -1),
    }.items():
        assert found(look_up(stage, timestamp)) == expected


@pytest.mark.parametrize("compression", list(Compression))
def test_the_largest_timestamp(stage, compression):
    partition = stage.add()
    append(partition, 100, 300, 200, compression=compression)
    append(partition, 250, compression=compression)
    assert found(look_up(stage, MAX_TIMESTAMP)) == (300, 1, 0)


def test_consumers_see_up_to_the_high_watermark(stage):
    partition = stage.add(flush="ack")
    stage.scheduler.holds_threads = True
    append(partition, 100)
    assert found(look_up(stage, LATEST))[1] == 0
    assert found(look_up(stage, 50))[1] == -1
    assert found(look_up(stage, MAX_TIMESTAMP))[1] == -1
    assert found(look_up(stage, LATEST, replica_id=-2))[1] == 1
    stage.scheduler.holds_threads = False
    stage.scheduler.run()
    assert found(look_up(stage, LATEST))[1] == 1


def test_read_committed_sees_up_to_the_last_stable_offset(stage):
    partition = stage.add()
    append(partition, 100)
    open_batch = batch_of(
        b"x", timestamp=200, producer_id=1, producer_epoch=0, base_sequence=0, is_transactional=True
    )
    append_in_transaction(partition, open_batch)
    assert found(look_up(stage, LATEST, isolation=READ_COMMITTED))[1] == 1
    assert found(look_up(stage, 150, isolation=READ_COMMITTED))[1] == -1
    assert found(look_up(stage, LATEST))[1] == 2
    assert found(look_up(stage, 150))[1] == 1


def test_without_tiers_local_is_all_and_nothing_is_tiered(stage):
    partition = stage.add()
    append(partition, 100, 110)
    partition.log.delete_records_before(1)
    assert found(look_up(stage, EARLIEST_LOCAL)) == (-1, 1, 0)
    assert found(look_up(stage, LATEST_TIERED)) == (-1, -1, -1)
    assert found(look_up(stage, PENDING_UPLOAD)) == (-1, -1, -1)


@pytest.mark.parametrize(
    ("timestamp", "version_min"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (PENDING_UPLOAD, 11)],
)
def test_negative_timestamps_have_a_meaning_from_a_version_on(stage, timestamp, version_min):
    stage.add()
    assert look_up(stage, timestamp, version=version_min).error_code == 0
    row = look_up(stage, timestamp, version=version_min - 1)
    assert (row.error_code, row.offset) == (ErrorCode.UNSUPPORTED_VERSION, -1)


@pytest.mark.parametrize("timestamp", [-7, -(2**63)])
def test_other_negative_timestamps_mean_nothing(stage, timestamp):
    stage.add()
    assert look_up(stage, timestamp).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_unknown_partitions(stage):
    assert look_up(stage, LATEST).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(
    ("epoch", "error"), [(4, ErrorCode.FENCED_LEADER_EPOCH), (5, 0), (6, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_leader_epochs_are_fenced(stage, epoch, error):
    stage.add(leader_epoch=5)
    assert look_up(stage, LATEST, epoch=epoch).error_code == error


def test_a_partition_named_twice_is_an_invalid_request(stage):
    stage.add(partitions=2)
    wanted = [ListOffsetsPartition(index, -1, LATEST) for index in (0, 1, 0)]
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", wanted)])
    rows = call(stage, k02_list_offsets, 2, NEWEST, request).topics[0].partitions
    assert [row.error_code for row in rows] == [ErrorCode.INVALID_REQUEST, 0, ErrorCode.INVALID_REQUEST]


def test_a_damaged_log_is_a_storage_error(stage, tmp_path):
    partition = stage.add()
    append(partition, 100)
    path = tmp_path / "data" / "orders-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[-1] ^= 0xFF
    path.write_bytes(data)
    assert look_up(stage, 50).error_code == ErrorCode.KAFKA_STORAGE_ERROR
