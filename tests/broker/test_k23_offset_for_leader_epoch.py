import pytest
from tests.broker.stage import NOW_MS, batch_of, call

from distributedlog.broker.handlers import k23_offset_for_leader_epoch
from distributedlog.wire import ErrorCode
from distributedlog.wire.k23_offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


def ask(stage, epoch, *, current=-1, version=4, index=0):
    wanted = OffsetForLeaderPartition(index, current, epoch)
    request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("orders", [wanted])])
    response = call(stage, k23_offset_for_leader_epoch, 23, version, request)
    return response.topics[0].partitions[0]


@pytest.fixture
def partition(stage):
    """Epoch 1 at the offsets 0 and 1, epoch 4 from 2 to 4."""
    made = stage.add(leader_epoch=1)
    made.append(batch_of(b"a", b"b"), now_ms=NOW_MS)
    made.leader_epoch = 4
    made.append(batch_of(b"c", b"d", b"e"), now_ms=NOW_MS)
    return made


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("epoch", "expected"), [(4, (4, 5)), (1, (1, 2)), (3, (1, 2)), (0, (0, 0)), (5, (-1, -1)), (-1, (-1, -1))]
)
def test_where_an_epoch_ended(stage, partition, epoch, expected, version):
    row = ask(stage, epoch, version=version)
    assert row.error_code == 0
    assert (row.leader_epoch, row.end_offset) == expected


@pytest.mark.parametrize(
    ("current", "error"), [(3, ErrorCode.FENCED_LEADER_EPOCH), (4, 0), (5, ErrorCode.UNKNOWN_LEADER_EPOCH)]
)
def test_the_askers_own_epoch_is_fenced(stage, partition, current, error):
    assert ask(stage, 1, current=current).error_code == error


def test_unknown_partitions(stage, partition):
    row = ask(stage, 1, index=9)
    assert (row.error_code, row.partition) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 9)
    assert (row.leader_epoch, row.end_offset) == (-1, -1)
